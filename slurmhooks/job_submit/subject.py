# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose request it is: decides which mode of a handler applies to the request (slurmhooks/rollout.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        """The accounts that are charged; may ask slurmctld for the default account."""
        return self._named("account")

    @property
    def partitions(self) -> list[str]:
        """The partitions in which the job may run; may ask slurmctld for the default partition."""
        return [name for names in self._named("partition") for name in split_names(names)]

    def _named(self, field: str) -> list[str]:
        """Return the values of a field in the request and in the job that it changes, or the default."""
        record = self._job._record
        names = [getattr(self._job, field), None if record is None else getattr(record, field)]
        return [name for name in names if name] or [
            name for name in (getattr(self._job, f"default_{field}", None),) if name
        ]
