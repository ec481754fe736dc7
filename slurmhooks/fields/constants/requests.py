# SPDX-License-Identifier: GPL-2.0-or-later
"""Constants of requests: the fields of ``job``."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from slurmhooks.fields.constants.release import OfRelease


class AllocHold(IntEnum, metaclass=OfRelease):
    """Who holds a job, in an update that sets its priority to 0 (alloc_sid)."""

    ALLOC_SID_ADMIN_HOLD = 1
    ALLOC_SID_USER_HOLD = 2


class CpuBind(IntFlag, metaclass=OfRelease):
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


class CpuFreq(IntEnum, metaclass=OfRelease):
    """Named CPU frequencies, and governors (cpu_freq_min, cpu_freq_max, cpu_freq_gov); other values are kHz."""

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


class JobFlag(IntFlag, metaclass=OfRelease):
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


class MailType(IntFlag, metaclass=OfRelease):
    """Events on which Slurm sends mail (mail_type)."""

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


class MemBind(IntFlag, metaclass=OfRelease):
    """How tasks are bound to memory (mem_bind_type)."""

    MEM_BIND_VERBOSE = 1 << 0
    MEM_BIND_NONE = 1 << 1
    MEM_BIND_RANK = 1 << 2
    MEM_BIND_MAP = 1 << 3
    MEM_BIND_MASK = 1 << 4
    MEM_BIND_LOCAL = 1 << 5
    MEM_BIND_SORT = 1 << 6
    MEM_BIND_PREFER = 1 << 7


class OpenMode(IntEnum, metaclass=OfRelease):
    """What happens to an existing output file (open_mode); 0: the default of the site."""

    OPEN_MODE_APPEND = 1
    OPEN_MODE_TRUNCATE = 2


class PowerFlag(IntFlag, metaclass=OfRelease):
    """Power management (power_flags); until 23.11."""

    SLURM_POWER_FLAGS_LEVEL = 1 << 0


class Profile(IntFlag, metaclass=OfRelease):
    """What is profiled (profile)."""

    ACCT_GATHER_PROFILE_NOT_SET = 0
    ACCT_GATHER_PROFILE_NONE = 1 << 0
    ACCT_GATHER_PROFILE_ENERGY = 1 << 1
    ACCT_GATHER_PROFILE_TASK = 1 << 2
    ACCT_GATHER_PROFILE_LUSTRE = 1 << 3
    ACCT_GATHER_PROFILE_NETWORK = 1 << 4
    ACCT_GATHER_PROFILE_ALL = 0xFFFFFFFF


class Shared(IntEnum, metaclass=OfRelease):
    """With whom a job shares its nodes (shared)."""

    JOB_SHARED_NONE = 0
    JOB_SHARED_OK = 1
    JOB_SHARED_USER = 2
    JOB_SHARED_MCS = 3
    JOB_SHARED_TOPO = 4
    SHARED_FORCE = 32768


class TaskDist(IntEnum, metaclass=OfRelease):
    """Distribution of tasks over nodes, sockets and cores (task_dist)."""

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


class TaskDistFlag(IntFlag, metaclass=OfRelease):
    """Whether tasks fill nodes up (task_dist_flags)."""

    SLURM_DIST_PACK_NODES = 1 << 23
    SLURM_DIST_NO_PACK_NODES = 1 << 22


class WarnFlag(IntFlag, metaclass=OfRelease):
    """Who gets the signal before the end of a job, and other flags (warn_flags)."""

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


class X11Flag(IntFlag, metaclass=OfRelease):
    """Which nodes get X11 forwarding (x11)."""

    X11_FORWARD_ALL = 1 << 0
    X11_FORWARD_BATCH = 1 << 1
    X11_FORWARD_FIRST = 1 << 2
    X11_FORWARD_LAST = 1 << 3
