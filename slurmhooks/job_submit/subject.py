# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose request it is: decides which mode of a handler applies to the request (slurmhooks/hooks/rollout.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.job_submit.model import owner_of
from slurmhooks.job_submit.users import split_names

if TYPE_CHECKING:
    from slurmhooks.job_submit.model import Job


class Subject:
    """User, accounts and partitions of a request, including what handlers have written so far.

    What a submission does not name is what Slurm will choose. An update concerns what the job has, and what it will
    have. Both need a build with Slurm's sources. Without one, what a submission does not name meets no condition, and
    what an update does not name is not known.
    """

    def __init__(self, job: Job, *, ahead: bool = False) -> None:
        """Store the view of the request; with ``ahead``, an update concerns only what the job will have."""
        self._job: Any = job
        self._ahead = ahead

    @property
    def user_id(self) -> int | None:
        """The owner of the job."""
        return owner_of(self._job)

    @property
    def user_name(self) -> str | None:
        """The owner's name; may ask the name service."""
        name: str | None = self._job.user_name
        return name

    @property
    def accounts(self) -> list[str] | None:
        """The accounts that are charged; may ask slurmctld."""
        job, record = self._job, self._job._record
        if job._modify and record is None and not (self._ahead and job.account):
            return None
        charged = getattr(job, "charged_account", job.account) or getattr(job, "default_account", None)
        return [name for name in (charged, record and not self._ahead and record.account) if name]

    @property
    def partitions(self) -> list[str] | None:
        """The partitions in which the job may run; may ask slurmctld for the default partition."""
        job, record = self._job, self._job._record
        if job._modify and record is None and not (self._ahead and job.partition):
            return None
        reader = Reader(job, record, modify=job._modify)
        asked, present = list(split_names(job.partition)), split_names(record and record.partition)
        if not (asked or present) or reader.leaves_partition:
            asked += split_names(getattr(job, "default_partition", None))
        if job._cluster is not None and reader.assigns_partition:
            asked = job._cluster.accepting(asked)
        return asked if asked and self._ahead else [*asked, *present]
