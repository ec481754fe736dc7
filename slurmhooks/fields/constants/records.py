# SPDX-License-Identifier: GPL-2.0-or-later
"""Constants of slurmctld's records: jobs, partitions, reservations, nodes and QOS."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from slurmhooks.fields.constants.release import OfRelease


class JobState(IntEnum, metaclass=OfRelease):
    """State of a job, without its flags (record.job_state)."""

    JOB_PENDING = 0
    JOB_RUNNING = 1
    JOB_SUSPENDED = 2
    JOB_COMPLETE = 3
    JOB_CANCELLED = 4
    JOB_FAILED = 5
    JOB_TIMEOUT = 6
    JOB_NODE_FAIL = 7
    JOB_PREEMPTED = 8
    JOB_BOOT_FAIL = 9
    JOB_DEADLINE = 10
    JOB_OOM = 11


class JobStateFlag(IntFlag, metaclass=OfRelease):
    """Flags of the state of a job (record.job_state_flags)."""

    JOB_LAUNCH_FAILED = 1 << 8
    JOB_GETENV_FAILED = 1 << 9
    JOB_REQUEUE = 1 << 10
    JOB_REQUEUE_HOLD = 1 << 11
    JOB_SPECIAL_EXIT = 1 << 12
    JOB_RESIZING = 1 << 13
    JOB_CONFIGURING = 1 << 14
    JOB_COMPLETING = 1 << 15
    JOB_STOPPED = 1 << 16
    JOB_RECONFIG_FAIL = 1 << 17
    JOB_POWER_UP_NODE = 1 << 18
    JOB_REVOKED = 1 << 19
    JOB_REQUEUE_FED = 1 << 20
    JOB_RESV_DEL_HOLD = 1 << 21
    JOB_SIGNALING = 1 << 22
    JOB_STAGE_OUT = 1 << 23
    JOB_EXPEDITING = 1 << 24


class NodeState(IntEnum, metaclass=OfRelease):
    """State of a node (state). ALLOCATED also covers what scontrol shows as MIXED."""

    NODE_STATE_UNKNOWN = 0
    NODE_STATE_DOWN = 1
    NODE_STATE_IDLE = 2
    NODE_STATE_ALLOCATED = 3
    NODE_STATE_ERROR = 4
    NODE_STATE_MIXED = 5
    NODE_STATE_FUTURE = 6


class NodeStateFlag(IntFlag, metaclass=OfRelease):
    """Flags of the state of a node (state_flags)."""

    NODE_STATE_EXTERNAL = 1 << 4
    NODE_STATE_RES = 1 << 5
    NODE_STATE_UNDRAIN = 1 << 6
    NODE_STATE_CLOUD = 1 << 7
    NODE_RESUME = 1 << 8
    NODE_STATE_DRAIN = 1 << 9
    NODE_STATE_COMPLETING = 1 << 10
    NODE_STATE_NO_RESPOND = 1 << 11
    NODE_STATE_POWERED_DOWN = 1 << 12
    NODE_STATE_FAIL = 1 << 13
    NODE_STATE_POWERING_UP = 1 << 14
    NODE_STATE_MAINT = 1 << 15
    NODE_STATE_REBOOT_REQUESTED = 1 << 16
    NODE_STATE_REBOOT_CANCEL = 1 << 17
    NODE_STATE_POWERING_DOWN = 1 << 18
    NODE_STATE_DYNAMIC_FUTURE = 1 << 19
    NODE_STATE_REBOOT_ISSUED = 1 << 20
    NODE_STATE_PLANNED = 1 << 21
    NODE_STATE_INVALID_REG = 1 << 22
    NODE_STATE_POWER_DOWN = 1 << 23
    NODE_STATE_POWER_UP = 1 << 24
    NODE_STATE_POWER_DRAIN = 1 << 25
    NODE_STATE_DYNAMIC_NORM = 1 << 26
    NODE_STATE_BLOCKED = 1 << 27


class PartitionFlag(IntFlag, metaclass=OfRelease):
    """Properties of a partition (partition.flags)."""

    PART_FLAG_DEFAULT = 1 << 0
    PART_FLAG_HIDDEN = 1 << 1
    PART_FLAG_NO_ROOT = 1 << 2
    PART_FLAG_ROOT_ONLY = 1 << 3
    PART_FLAG_REQ_RESV = 1 << 4
    PART_FLAG_LLN = 1 << 5
    PART_FLAG_EXCLUSIVE_USER = 1 << 6
    PART_FLAG_PDOI = 1 << 7
    PART_FLAG_EXCLUSIVE_TOPO = 1 << 16
    PART_FLAG_SCHED_FAILED = 1 << 18
    PART_FLAG_SCHED_CLEARED = 1 << 19


class PartitionState(IntEnum, metaclass=OfRelease):
    """Whether a partition accepts and starts jobs (partition.state_up)."""

    PARTITION_DOWN = 1
    PARTITION_UP = 3
    PARTITION_DRAIN = 2
    PARTITION_INACTIVE = 0


class PreemptMode(IntFlag, metaclass=OfRelease):
    """What happens to preempted jobs (preempt_mode)."""

    PREEMPT_MODE_OFF = 0
    PREEMPT_MODE_SUSPEND = 1 << 0
    PREEMPT_MODE_REQUEUE = 1 << 1
    PREEMPT_MODE_CANCEL = 1 << 3
    PREEMPT_MODE_COND_OFF = 1 << 4
    PREEMPT_MODE_PRIORITY = 1 << 13
    PREEMPT_MODE_WITHIN = 1 << 14
    PREEMPT_MODE_GANG = 1 << 15


class QosFlag(IntFlag, metaclass=OfRelease):
    """Properties of a QOS (flags)."""

    QOS_FLAG_PART_MIN_NODE = 1 << 0
    QOS_FLAG_PART_MAX_NODE = 1 << 1
    QOS_FLAG_PART_TIME_LIMIT = 1 << 2
    QOS_FLAG_ENFORCE_USAGE_THRES = 1 << 3
    QOS_FLAG_NO_RESERVE = 1 << 4
    QOS_FLAG_REQ_RESV = 1 << 5
    QOS_FLAG_DENY_LIMIT = 1 << 6
    QOS_FLAG_OVER_PART_QOS = 1 << 7
    QOS_FLAG_NO_DECAY = 1 << 8
    QOS_FLAG_USAGE_FACTOR_SAFE = 1 << 9
    QOS_FLAG_RELATIVE = 1 << 10
    QOS_FLAG_RELATIVE_SET = 1 << 11
    QOS_FLAG_PART_QOS = 1 << 12
    QOS_FLAG_DELETED = 1 << 13


class ReservationFlag(IntFlag, metaclass=OfRelease):
    """Properties of a reservation (reservation.flags)."""

    RESERVE_FLAG_MAINT = 1 << 0
    RESERVE_FLAG_NO_MAINT = 1 << 1
    RESERVE_FLAG_DAILY = 1 << 2
    RESERVE_FLAG_NO_DAILY = 1 << 3
    RESERVE_FLAG_WEEKLY = 1 << 4
    RESERVE_FLAG_NO_WEEKLY = 1 << 5
    RESERVE_FLAG_IGN_JOBS = 1 << 6
    RESERVE_FLAG_NO_IGN_JOB = 1 << 7
    RESERVE_FLAG_ANY_NODES = 1 << 8
    RESERVE_FLAG_NO_ANY_NODES = 1 << 9
    RESERVE_FLAG_STATIC = 1 << 10
    RESERVE_FLAG_NO_STATIC = 1 << 11
    RESERVE_FLAG_PART_NODES = 1 << 12
    RESERVE_FLAG_NO_PART_NODES = 1 << 13
    RESERVE_FLAG_OVERLAP = 1 << 14
    RESERVE_FLAG_SPEC_NODES = 1 << 15
    RESERVE_FLAG_TIME_FLOAT = 1 << 17
    RESERVE_FLAG_REPLACE = 1 << 18
    RESERVE_FLAG_ALL_NODES = 1 << 19
    RESERVE_FLAG_PURGE_COMP = 1 << 20
    RESERVE_FLAG_WEEKDAY = 1 << 21
    RESERVE_FLAG_NO_WEEKDAY = 1 << 22
    RESERVE_FLAG_WEEKEND = 1 << 23
    RESERVE_FLAG_NO_WEEKEND = 1 << 24
    RESERVE_FLAG_FLEX = 1 << 25
    RESERVE_FLAG_NO_FLEX = 1 << 26
    RESERVE_FLAG_DUR_PLUS = 1 << 27
    RESERVE_FLAG_DUR_MINUS = 1 << 28
    RESERVE_FLAG_NO_HOLD_JOBS = 1 << 29
    RESERVE_FLAG_REPLACE_DOWN = 1 << 30
    RESERVE_FLAG_NO_PURGE_COMP = 1 << 31
    RESERVE_FLAG_MAGNETIC = 1 << 32
    RESERVE_FLAG_NO_MAGNETIC = 1 << 33
    RESERVE_FLAG_SKIP = 1 << 34
    RESERVE_FLAG_HOURLY = 1 << 35
    RESERVE_FLAG_NO_HOURLY = 1 << 36
    RESERVE_FLAG_GRES_REQ = 1 << 37
    RESERVE_TRES_PER_NODE = 1 << 38
    RESERVE_FLAG_USER_DEL = 1 << 39
    RESERVE_FLAG_NO_USER_DEL = 1 << 40
    RESERVE_FLAG_SCHED_FAILED = 1 << 41
    RESERVE_FLAG_FORCE_START = 1 << 42


class StateReason(IntEnum, metaclass=OfRelease):
    """Reason why a job does not run, or ended (record.state_reason). Outside of workers only common reasons exist."""

    WAIT_NO_REASON = 0
    WAIT_PRIORITY = 1
    WAIT_DEPENDENCY = 2
    WAIT_RESOURCES = 3
    WAIT_HELD = 8
    WAIT_TIME = 9
    WAIT_LICENSES = 10
    WAIT_RESERVATION = 14
    WAIT_HELD_USER = 16
    WAIT_QOS_JOB_LIMIT = 30
