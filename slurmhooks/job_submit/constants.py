# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's constants and error codes, by the names that they have in slurm.h and slurm_errno.h.

In a worker of slurmctld's names and numbers are those of the running release: the build read them from its headers, so
one that is new in a release needs no row here. Elsewhere (a laptop, a test) they are what stands below, of
the newest release that slurmhooks was written against, and error codes are their own names, which ``Reject`` takes.

Each constant is also an attribute of the module: ``constants.MAIL_JOB_END``, ``constants.ESLURM_INVALID_QOS``.
"""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag
from typing import Any, Protocol, TypeVar

from slurmhooks.codes import unknown
from slurmhooks.wire.tables import installed

Kind = TypeVar("Kind", bound=type[Enum])


def _groups() -> dict[str, dict[str, int]]:
    """Return the numbers of the release that this worker serves, by group; none elsewhere."""
    tables = installed()
    return {} if tables is None else {name: dict(values) for name, values in tables.constants.items()}


_GROUPS = _groups()


def of_release(kind: Kind) -> Kind:
    """Return an enumeration with the names and numbers of the release at hand; the given one if there is none."""
    if kind.__name__ not in _GROUPS:
        return kind
    base: Any = kind.__bases__[0]
    made: Kind = base(kind.__name__, _GROUPS[kind.__name__], module=__name__)
    made.__doc__ = kind.__doc__
    return made


class _Codes(Protocol):
    """Error codes by name: numbers where a release is at hand, else the names themselves."""

    def __getattr__(self, name: str) -> int | str: ...


class _CodeNames:
    """Answers the name of every error code with that name."""

    def __getattr__(self, name: str) -> str:
        similar = unknown(name)
        if similar is not None:
            raise AttributeError(f"no error code of Slurm is called {name!r}{similar}")
        return name


ESLURM: _Codes = IntEnum("ESLURM", _GROUPS["ESLURM"]) if _GROUPS else _CodeNames()  # type: ignore[assignment]
"""Every error code of slurm_errno.h; for ``Reject(text, code=ESLURM.ESLURM_INVALID_ACCOUNT)``."""


@of_release
class AllocHold(IntEnum):
    """Who holds a job whose priority is set to 0 (alloc_sid of an update)."""

    ALLOC_SID_ADMIN_HOLD = 1
    ALLOC_SID_USER_HOLD = 2


@of_release
class CpuBind(IntFlag):
    """How tasks are bound to CPUs (cpu_bind_type)."""

    CPU_BIND_VERBOSE = 1 << 0
    CPU_BIND_TO_THREADS = 1 << 1
    CPU_BIND_TO_CORES = 1 << 2
    CPU_BIND_TO_SOCKETS = 1 << 3
    CPU_BIND_TO_LDOMS = 1 << 4
    CPU_BIND_NONE = 1 << 5
    CPU_BIND_MAP = 1 << 7
    CPU_BIND_MASK = 1 << 8
    CPU_BIND_LDRANK = 1 << 9
    CPU_BIND_LDMAP = 1 << 10
    CPU_BIND_LDMASK = 1 << 11
    CPU_BIND_ONE_THREAD_PER_CORE = 1 << 13
    CPU_AUTO_BIND_TO_THREADS = 1 << 14
    CPU_AUTO_BIND_TO_CORES = 1 << 16
    CPU_AUTO_BIND_TO_SOCKETS = 1 << 17
    SLURMD_OFF_SPEC = 1 << 18
    CPU_BIND_OFF = 1 << 19
    OOM_KILL_STEP = 1 << 20
    SLURMD_SPEC_OVERRIDE = 1 << 21


@of_release
class CpuFreq(IntEnum):
    """Words for CPU frequencies and governors; other values are kHz (cpu_freq_min, cpu_freq_max, cpu_freq_gov)."""

    CPU_FREQ_LOW = 0x80000001
    CPU_FREQ_MEDIUM = 0x80000002
    CPU_FREQ_HIGH = 0x80000003
    CPU_FREQ_HIGHM1 = 0x80000004
    CPU_FREQ_CONSERVATIVE = 0x88000000
    CPU_FREQ_ONDEMAND = 0x84000000
    CPU_FREQ_PERFORMANCE = 0x82000000
    CPU_FREQ_POWERSAVE = 0x81000000
    CPU_FREQ_USERSPACE = 0x80800000
    CPU_FREQ_SCHEDUTIL = 0x80400000


@of_release
class JobFlag(IntFlag):
    """Properties of a job (bitflags)."""

    KILL_INV_DEP = 1 << 0
    NO_KILL_INV_DEP = 1 << 1
    HAS_STATE_DIR = 1 << 2
    BACKFILL_TEST = 1 << 3
    GRES_ENFORCE_BIND = 1 << 4
    TEST_NOW_ONLY = 1 << 5
    JOB_SEND_ENV = 1 << 6
    GRACE_PREEMPT = 1 << 7
    SPREAD_JOB = 1 << 8
    USE_MIN_NODES = 1 << 9
    JOB_KILL_HURRY = 1 << 10
    TRES_STR_CALC = 1 << 11
    SIB_JOB_FLUSH = 1 << 12
    HET_JOB_FLAG = 1 << 13
    JOB_NTASKS_SET = 1 << 14
    JOB_CPUS_SET = 1 << 15
    BF_WHOLE_NODE_TEST = 1 << 16
    TOP_PRIO_TMP = 1 << 17
    JOB_ACCRUE_OVER = 1 << 18
    GRES_DISABLE_BIND = 1 << 19
    JOB_WAS_RUNNING = 1 << 20
    RESET_ACCRUE_TIME = 1 << 21
    CRON_JOB = 1 << 22
    JOB_MEM_SET = 1 << 23
    EXTERNAL_JOB = 1 << 24
    USE_DEFAULT_ACCT = 1 << 25
    USE_DEFAULT_PART = 1 << 26
    USE_DEFAULT_QOS = 1 << 27
    USE_DEFAULT_WCKEY = 1 << 28
    JOB_DEPENDENT = 1 << 29
    JOB_MAGNETIC = 1 << 30
    JOB_PART_ASSIGNED = 1 << 31
    BACKFILL_SCHED = 1 << 32
    BACKFILL_LAST = 1 << 33
    TASKS_CHANGED = 1 << 34
    JOB_SEND_SCRIPT = 1 << 35
    RESET_LIC_TASK = 1 << 36
    RESET_LIC_JOB = 1 << 37
    GRES_ONE_TASK_PER_SHARING = 1 << 38
    GRES_MULT_TASKS_PER_SHARING = 1 << 39
    GRES_ALLOW_TASK_SHARING = 1 << 40
    STEPMGR_ENABLED = 1 << 41
    HETJOB_PURGE = 1 << 42
    SPREAD_SEGMENTS = 1 << 43
    CONSOLIDATE_SEGMENTS = 1 << 44
    EXPEDITED_REQUEUE = 1 << 45
    NEED_MORE_FEATURES = 1 << 46
    JOB_IMPLICIT_MAX_NODES = 1 << 47
    BF_CURRENT_JOB_NOT_UPDATED = 1 << 51


@of_release
class JobState(IntEnum):
    """What a job does, without its flags (record.job_state)."""

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


@of_release
class JobStateFlag(IntFlag):
    """What else is going on with a job (record.job_state_flags)."""

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


@of_release
class MailType(IntFlag):
    """Which events send mail (mail_type)."""

    MAIL_JOB_BEGIN = 1 << 0
    MAIL_JOB_END = 1 << 1
    MAIL_JOB_FAIL = 1 << 2
    MAIL_JOB_REQUEUE = 1 << 3
    MAIL_JOB_TIME100 = 1 << 4
    MAIL_JOB_TIME90 = 1 << 5
    MAIL_JOB_TIME80 = 1 << 6
    MAIL_JOB_TIME50 = 1 << 7
    MAIL_JOB_STAGE_OUT = 1 << 8
    MAIL_ARRAY_TASKS = 1 << 9
    MAIL_INVALID_DEPEND = 1 << 10


@of_release
class MemBind(IntFlag):
    """How tasks are bound to memory (mem_bind_type)."""

    MEM_BIND_VERBOSE = 1 << 0
    MEM_BIND_NONE = 1 << 1
    MEM_BIND_RANK = 1 << 2
    MEM_BIND_MAP = 1 << 3
    MEM_BIND_MASK = 1 << 4
    MEM_BIND_LOCAL = 1 << 5
    MEM_BIND_SORT = 1 << 6
    MEM_BIND_PREFER = 1 << 7


@of_release
class NodeState(IntEnum):
    """What a node does (state). slurmctld has ALLOCATED also for what scontrol shows as MIXED."""

    NODE_STATE_UNKNOWN = 0
    NODE_STATE_DOWN = 1
    NODE_STATE_IDLE = 2
    NODE_STATE_ALLOCATED = 3
    NODE_STATE_ERROR = 4
    NODE_STATE_MIXED = 5
    NODE_STATE_FUTURE = 6


@of_release
class NodeStateFlag(IntFlag):
    """What else is going on with a node (state_flags)."""

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


@of_release
class OpenMode(IntEnum):
    """What happens to an output file that exists (open_mode); 0 is the site's default."""

    OPEN_MODE_APPEND = 1
    OPEN_MODE_TRUNCATE = 2


@of_release
class PartitionFlag(IntFlag):
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


@of_release
class PartitionState(IntEnum):
    """Whether a partition takes jobs and starts them (partition.state_up)."""

    PARTITION_DOWN = 1
    PARTITION_UP = 3
    PARTITION_DRAIN = 2
    PARTITION_INACTIVE = 0


@of_release
class PowerFlag(IntFlag):
    """Power management (power_flags); until 23.11."""

    SLURM_POWER_FLAGS_LEVEL = 1 << 0


@of_release
class PreemptMode(IntFlag):
    """What happens to preempted jobs (preempt_mode)."""

    PREEMPT_MODE_OFF = 0
    PREEMPT_MODE_SUSPEND = 1 << 0
    PREEMPT_MODE_REQUEUE = 1 << 1
    PREEMPT_MODE_CANCEL = 1 << 3
    PREEMPT_MODE_COND_OFF = 1 << 4
    PREEMPT_MODE_PRIORITY = 1 << 13
    PREEMPT_MODE_WITHIN = 1 << 14
    PREEMPT_MODE_GANG = 1 << 15


@of_release
class Profile(IntFlag):
    """What is profiled (profile)."""

    ACCT_GATHER_PROFILE_NOT_SET = 0
    ACCT_GATHER_PROFILE_NONE = 1 << 0
    ACCT_GATHER_PROFILE_ENERGY = 1 << 1
    ACCT_GATHER_PROFILE_TASK = 1 << 2
    ACCT_GATHER_PROFILE_LUSTRE = 1 << 3
    ACCT_GATHER_PROFILE_NETWORK = 1 << 4
    ACCT_GATHER_PROFILE_ALL = 0xFFFFFFFF


@of_release
class QosFlag(IntFlag):
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


@of_release
class ReservationFlag(IntFlag):
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


@of_release
class Shared(IntEnum):
    """Whom a job shares its nodes with (shared)."""

    JOB_SHARED_NONE = 0
    JOB_SHARED_OK = 1
    JOB_SHARED_USER = 2
    JOB_SHARED_MCS = 3
    JOB_SHARED_TOPO = 4
    SHARED_FORCE = 32768


@of_release
class StateReason(IntEnum):
    """Why a job is not running, or ended (record.state_reason). Outside slurmctld only the commonest are known."""

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


@of_release
class TaskDist(IntEnum):
    """How tasks are spread over nodes, sockets and cores (task_dist)."""

    SLURM_DIST_CYCLIC = 0x1
    SLURM_DIST_BLOCK = 0x2
    SLURM_DIST_ARBITRARY = 0x3
    SLURM_DIST_PLANE = 0x4
    SLURM_DIST_CYCLIC_CYCLIC = 0x11
    SLURM_DIST_CYCLIC_BLOCK = 0x21
    SLURM_DIST_CYCLIC_CFULL = 0x31
    SLURM_DIST_BLOCK_CYCLIC = 0x12
    SLURM_DIST_BLOCK_BLOCK = 0x22
    SLURM_DIST_BLOCK_CFULL = 0x32
    SLURM_DIST_CYCLIC_CYCLIC_CYCLIC = 0x111
    SLURM_DIST_CYCLIC_CYCLIC_BLOCK = 0x211
    SLURM_DIST_CYCLIC_CYCLIC_CFULL = 0x311
    SLURM_DIST_CYCLIC_BLOCK_CYCLIC = 0x121
    SLURM_DIST_CYCLIC_BLOCK_BLOCK = 0x221
    SLURM_DIST_CYCLIC_BLOCK_CFULL = 0x321
    SLURM_DIST_CYCLIC_CFULL_CYCLIC = 0x131
    SLURM_DIST_CYCLIC_CFULL_BLOCK = 0x231
    SLURM_DIST_CYCLIC_CFULL_CFULL = 0x331
    SLURM_DIST_BLOCK_CYCLIC_CYCLIC = 0x112
    SLURM_DIST_BLOCK_CYCLIC_BLOCK = 0x212
    SLURM_DIST_BLOCK_CYCLIC_CFULL = 0x312
    SLURM_DIST_BLOCK_BLOCK_CYCLIC = 0x122
    SLURM_DIST_BLOCK_BLOCK_BLOCK = 0x222
    SLURM_DIST_BLOCK_BLOCK_CFULL = 0x322
    SLURM_DIST_BLOCK_CFULL_CYCLIC = 0x132
    SLURM_DIST_BLOCK_CFULL_BLOCK = 0x232
    SLURM_DIST_BLOCK_CFULL_CFULL = 0x332
    SLURM_DIST_NODECYCLIC = 0x1
    SLURM_DIST_NODEBLOCK = 0x2
    SLURM_DIST_SOCKCYCLIC = 0x10
    SLURM_DIST_SOCKBLOCK = 0x20
    SLURM_DIST_SOCKCFULL = 0x30
    SLURM_DIST_CORECYCLIC = 0x100
    SLURM_DIST_COREBLOCK = 0x200
    SLURM_DIST_CORECFULL = 0x300
    SLURM_DIST_UNKNOWN = 0x2000


@of_release
class TaskDistFlag(IntFlag):
    """Whether tasks fill nodes up (task_dist_flags)."""

    SLURM_DIST_PACK_NODES = 1 << 23
    SLURM_DIST_NO_PACK_NODES = 1 << 22


@of_release
class WarnFlag(IntFlag):
    """Who gets the signal before the end of the job, and more (warn_flags)."""

    KILL_JOB_BATCH = 1 << 0
    KILL_ARRAY_TASK = 1 << 1
    KILL_STEPS_ONLY = 1 << 2
    KILL_FULL_JOB = 1 << 3
    KILL_FED_REQUEUE = 1 << 4
    KILL_HURRY = 1 << 5
    KILL_OOM = 1 << 6
    KILL_NO_SIBS = 1 << 7
    KILL_JOB_RESV = 1 << 8
    KILL_NO_SIG_FAIL = 1 << 10
    KILL_JOBS_VERBOSE = 1 << 11
    KILL_CRON = 1 << 12
    KILL_FAIL_JOB = 1 << 13
    WARN_SENT = 1 << 15


@of_release
class X11Flag(IntFlag):
    """Which nodes get X11 forwarding (x11)."""

    X11_FORWARD_ALL = 1 << 0
    X11_FORWARD_BATCH = 1 << 1
    X11_FORWARD_FIRST = 1 << 2
    X11_FORWARD_LAST = 1 << 3


KINDS: dict[str, type[Enum]] = {
    name: kind
    for name, kind in vars().items()
    if isinstance(kind, type) and issubclass(kind, (IntEnum, IntFlag)) and kind.__module__ == __name__
}
"""The enumerations above, by name."""

NUMBERS = {
    "CORE_SPEC_THREAD": 1 << 15,
    "MEM_PER_CPU": 1 << 63,
    "NICE_OFFSET": 1 << 31,
    **{f"NO_VAL{width}": (1 << bits) - 2 for width, bits in (("8", 8), ("16", 16), ("", 32), ("64", 64))},
    **{f"INFINITE{width}": (1 << bits) - 1 for width, bits in (("8", 8), ("16", 16), ("", 32), ("64", 64))},
}
"""Numbers of slurm.h that mean something to slurmhooks; handlers see None and UNLIMITED in their place."""


def __getattr__(name: str) -> Any:
    """Return a constant by its name alone."""
    for kind in KINDS.values():
        if name in kind.__members__:
            return kind[name]
    if name in NUMBERS:
        return NUMBERS[name]
    if not name.startswith("_"):
        try:
            return getattr(ESLURM, name)
        except AttributeError:
            pass
    raise AttributeError(f"no constant of Slurm is called {name!r}")
