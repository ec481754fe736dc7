# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.values import Unlimited

class AssociationFields:
    """An association, ``slurmdb_assoc_rec_t``: an account, or a user in an account, in one partition or in all.

    Its limits include inherited limits; limits and usage of a group cover an account and everything below it.
    Read-only.
    """
    @property
    def account(self) -> str | None:
        """The account."""
    @property
    def cluster(self) -> str | None:
        """The cluster."""
    @property
    def comment(self) -> str | None:
        """Comment. Since Slurm 23.02."""
    @property
    def default_qos(self) -> str | None:
        """QOS of jobs that name none."""
    @property
    def id(self) -> int | None:
        """Its number in the database."""
    @property
    def is_default(self) -> bool | None:
        """For a user's: whether jobs that name no account are charged to it."""
    @property
    def lineage(self) -> str | None:
        """Its place in the tree, as /account/account/0-user/. Since Slurm 23.11."""
    @property
    def min_prio_thresh(self) -> int | Unlimited | None:
        """Minimum priority of jobs for which resources are reserved."""
    @property
    def parent_account(self) -> str | None:
        """For an account's: the account above it; None for a user's."""
    @property
    def parent_id(self) -> int | None:
        """Number of the parent association."""
    @property
    def partition(self) -> str | None:
        """The partition; None for all."""
    @property
    def priority(self) -> int | Unlimited | None:
        """Added to the priority of its jobs."""
    @property
    def qos(self) -> list[str]:
        """QOS that a user's jobs may have; empty for an account's."""
    @property
    def shares_raw(self) -> int | None:
        """Its shares; 0x7fffffff means those of the account above."""
    @property
    def user(self) -> str | None:
        """The user's name; None for an account's."""
    @property
    def user_id(self) -> int | None:
        """The user's number; None for an account's."""
    @property
    def grp_jobs(self) -> int | Unlimited | None:
        """Maximum number of running jobs of the group."""
    @property
    def grp_jobs_accrue(self) -> int | Unlimited | None:
        """Maximum number of jobs of the group that gain priority by age."""
    @property
    def grp_submit_jobs(self) -> int | Unlimited | None:
        """Maximum number of pending and running jobs of the group."""
    @property
    def grp_tres(self) -> str | None:
        """Maximum TRES of the group's running jobs."""
    @property
    def grp_tres_mins(self) -> str | None:
        """Maximum TRES minutes of the group."""
    @property
    def grp_tres_run_mins(self) -> str | None:
        """Maximum TRES minutes that running jobs of the group have left."""
    @property
    def grp_wall(self) -> int | Unlimited | None:
        """Maximum total run time of the group's jobs. In minutes."""
    @property
    def max_jobs(self) -> int | Unlimited | None:
        """Maximum number of running jobs."""
    @property
    def max_jobs_accrue(self) -> int | Unlimited | None:
        """Maximum number of jobs that gain priority by age."""
    @property
    def max_submit_jobs(self) -> int | Unlimited | None:
        """Maximum number of pending and running jobs."""
    @property
    def max_tres_mins_pj(self) -> str | None:
        """Maximum TRES minutes of a job."""
    @property
    def max_tres_pj(self) -> str | None:
        """Maximum TRES of a job."""
    @property
    def max_tres_pn(self) -> str | None:
        """Maximum TRES of a job on each node."""
    @property
    def max_wall_pj(self) -> int | Unlimited | None:
        """Maximum time limit of a job. In minutes."""
    @property
    def accrue_cnt(self) -> int | None:
        """Jobs that gain priority by age."""
    @property
    def fs_factor(self) -> float | Unlimited | None:
        """Fair-share factor, 0 to 1."""
    @property
    def grp_used_tres(self) -> str | None:
        """TRES of the group's running jobs."""
    @property
    def grp_used_wall(self) -> float | Unlimited | None:
        """Total run time of the group's jobs, decayed. In seconds."""
    @property
    def shares_norm(self) -> float | Unlimited | None:
        """Its fraction of the cluster by shares, 0 to 1."""
    @property
    def usage_efctv(self) -> float | Unlimited | None:
        """Its fraction of all usage, as fair share counts it, 0 to 1."""
    @property
    def usage_norm(self) -> float | Unlimited | None:
        """Its fraction of all usage, 0 to 1."""
    @property
    def usage_raw(self) -> float | Unlimited | None:
        """Usage, decayed. In billing TRES seconds."""
    @property
    def used_jobs(self) -> int | None:
        """Running jobs of the group."""
    @property
    def used_submit_jobs(self) -> int | None:
        """Pending and running jobs of the group."""
