# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import PreemptMode, QosFlag
from slurmhooks.values import Unlimited

class QosFields:
    """A QOS, ``slurmdb_qos_rec_t``; read-only."""
    @property
    def description(self) -> str | None:
        """Its description."""
    @property
    def flags(self) -> QosFlag | None:
        """Its properties."""
    @property
    def grace_time(self) -> int | Unlimited | None:
        """Time that preempted jobs have to end. In seconds."""
    @property
    def id(self) -> int | None:
        """Its number in the database."""
    @property
    def limit_factor(self) -> float | Unlimited | None:
        """Factor for the limits of associations."""
    @property
    def min_prio_thresh(self) -> int | Unlimited | None:
        """Minimum priority of jobs for which resources are reserved."""
    @property
    def name(self) -> str | None:
        """Its name."""
    @property
    def preempt(self) -> list[str]:
        """QOS whose jobs it preempts."""
    @property
    def preempt_exempt_time(self) -> int | Unlimited | None:
        """How long its jobs run before they can be preempted. In seconds."""
    @property
    def preempt_mode(self) -> PreemptMode | None:
        """What happens to its preempted jobs; 0: as in the cluster."""
    @property
    def priority(self) -> int | Unlimited | None:
        """Added to the priority of its jobs."""
    @property
    def usage_factor(self) -> float | Unlimited | None:
        """Factor for the usage of its jobs."""
    @property
    def usage_thres(self) -> float | Unlimited | None:
        """Minimum remaining share of usage that jobs need."""
    @property
    def max_jobs_accrue_pa(self) -> int | Unlimited | None:
        """Maximum number of jobs of an account that gain priority by age."""
    @property
    def max_jobs_accrue_pu(self) -> int | Unlimited | None:
        """Maximum number of jobs of a user that gain priority by age."""
    @property
    def max_jobs_pa(self) -> int | Unlimited | None:
        """Maximum number of running jobs of an account."""
    @property
    def max_jobs_pu(self) -> int | Unlimited | None:
        """Maximum number of running jobs of a user."""
    @property
    def max_submit_jobs_pa(self) -> int | Unlimited | None:
        """Maximum number of pending and running jobs of an account."""
    @property
    def max_submit_jobs_pu(self) -> int | Unlimited | None:
        """Maximum number of pending and running jobs of a user."""
    @property
    def max_tres_mins_pj(self) -> str | None:
        """Maximum TRES minutes of a job."""
    @property
    def max_tres_pa(self) -> str | None:
        """Maximum TRES of an account's running jobs."""
    @property
    def max_tres_pj(self) -> str | None:
        """Maximum TRES of a job."""
    @property
    def max_tres_pn(self) -> str | None:
        """Maximum TRES of a job on each node."""
    @property
    def max_tres_pu(self) -> str | None:
        """Maximum TRES of a user's running jobs."""
    @property
    def max_tres_run_mins_pa(self) -> str | None:
        """Maximum TRES minutes that an account's running jobs have left."""
    @property
    def max_tres_run_mins_pu(self) -> str | None:
        """Maximum TRES minutes that a user's running jobs have left."""
    @property
    def max_wall_pj(self) -> int | Unlimited | None:
        """Maximum time limit of a job. In minutes."""
    @property
    def min_tres_pj(self) -> str | None:
        """Minimum TRES of a job."""
    @property
    def grp_jobs(self) -> int | Unlimited | None:
        """Maximum number of running jobs."""
    @property
    def grp_jobs_accrue(self) -> int | Unlimited | None:
        """Maximum number of jobs that gain priority by age."""
    @property
    def grp_submit_jobs(self) -> int | Unlimited | None:
        """Maximum number of pending and running jobs."""
    @property
    def grp_tres(self) -> str | None:
        """Maximum TRES of running jobs."""
    @property
    def grp_tres_mins(self) -> str | None:
        """Maximum TRES minutes."""
    @property
    def grp_tres_run_mins(self) -> str | None:
        """Maximum TRES minutes that running jobs have left."""
    @property
    def grp_wall(self) -> int | Unlimited | None:
        """Maximum total run time. In minutes."""
    @property
    def accrue_cnt(self) -> int | None:
        """Jobs that gain priority by age."""
    @property
    def grp_used_jobs(self) -> int | None:
        """Running jobs."""
    @property
    def grp_used_submit_jobs(self) -> int | None:
        """Pending and running jobs."""
    @property
    def grp_used_tres(self) -> str | None:
        """TRES of running jobs."""
    @property
    def grp_used_wall(self) -> float | Unlimited | None:
        """Total run time, decayed. In seconds."""
    @property
    def usage_raw(self) -> float | Unlimited | None:
        """Usage, decayed. In billing TRES seconds."""
