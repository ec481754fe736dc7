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
    have. Both need a build with Slurm's sources; without one the value is unknown, and meets no condition.
    """

    def __init__(self, job: Job) -> None:
        """Store the view of the request."""
        self._job: Any = job

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
    def accounts(self) -> list[str]:
        """The accounts that are charged; may ask slurmctld."""
        job, record = self._job, self._job._record
        charged = getattr(job, "charged_account", job.account) or getattr(job, "default_account", None)
        return [name for name in (charged, record and record.account) if name]

    @property
    def partitions(self) -> list[str]:
        """The partitions in which the job may run; may ask slurmctld for the default partition."""
        job, record = self._job, self._job._record
        named = [*split_names(job.partition), *split_names(record and record.partition)]
        if not named or Reader(job, record, modify=job._modify).leaves_partition:
            named += split_names(getattr(job, "default_partition", None))
        return named
