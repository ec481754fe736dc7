# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tests/typing/stubs.py.
from slurmhooks.slurmctld.constants import PreemptMode, QosFlag
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
        """Time to end in when preempted. In seconds."""
    @property
    def id(self) -> int | None:
        """Its number in the database."""
    @property
    def limit_factor(self) -> float | Unlimited | None:
        """What limits of associations are multiplied by."""
    @property
    def min_prio_thresh(self) -> int | Unlimited | None:
        """Lowest priority of jobs that resources are reserved for."""
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
        """What happens to its preempted jobs; 0 is the cluster's."""
    @property
    def priority(self) -> int | Unlimited | None:
        """What it adds to its jobs' priority."""
    @property
    def usage_factor(self) -> float | Unlimited | None:
        """What the usage of its jobs is multiplied by."""
    @property
    def usage_thres(self) -> float | Unlimited | None:
        """Least share of usage left that jobs need."""
    @property
    def max_jobs_accrue_pa(self) -> int | Unlimited | None:
        """Most jobs of an account that gain priority by age."""
    @property
    def max_jobs_accrue_pu(self) -> int | Unlimited | None:
        """Most jobs of a user that gain priority by age."""
    @property
    def max_jobs_pa(self) -> int | Unlimited | None:
        """Most running jobs of an account."""
    @property
    def max_jobs_pu(self) -> int | Unlimited | None:
        """Most running jobs of a user."""
    @property
    def max_submit_jobs_pa(self) -> int | Unlimited | None:
        """Most pending and running jobs of an account."""
    @property
    def max_submit_jobs_pu(self) -> int | Unlimited | None:
        """Most pending and running jobs of a user."""
    @property
    def max_tres_mins_pj(self) -> str | None:
        """Most TRES minutes of a job."""
    @property
    def max_tres_pa(self) -> str | None:
        """Most TRES of an account's running jobs."""
    @property
    def max_tres_pj(self) -> str | None:
        """Most TRES of a job."""
    @property
    def max_tres_pn(self) -> str | None:
        """Most TRES of a job on each node."""
    @property
    def max_tres_pu(self) -> str | None:
        """Most TRES of a user's running jobs."""
    @property
    def max_tres_run_mins_pa(self) -> str | None:
        """Most TRES minutes that an account's running jobs have left."""
    @property
    def max_tres_run_mins_pu(self) -> str | None:
        """Most TRES minutes that a user's running jobs have left."""
    @property
    def max_wall_pj(self) -> int | Unlimited | None:
        """Longest time limit of a job. In minutes."""
    @property
    def min_tres_pj(self) -> str | None:
        """Fewest TRES of a job."""
    @property
    def grp_jobs(self) -> int | Unlimited | None:
        """Most running jobs."""
    @property
    def grp_jobs_accrue(self) -> int | Unlimited | None:
        """Most jobs that gain priority by age."""
    @property
    def grp_submit_jobs(self) -> int | Unlimited | None:
        """Most pending and running jobs."""
    @property
    def grp_tres(self) -> str | None:
        """Most TRES of running jobs."""
    @property
    def grp_tres_mins(self) -> str | None:
        """Most TRES minutes."""
    @property
    def grp_tres_run_mins(self) -> str | None:
        """Most TRES minutes that running jobs have left."""
    @property
    def grp_wall(self) -> int | Unlimited | None:
        """Longest run time of all. In minutes."""
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
        """Run time of all, decayed. In seconds."""
    @property
    def usage_raw(self) -> float | Unlimited | None:
        """Usage, decayed. In billing TRES seconds."""
