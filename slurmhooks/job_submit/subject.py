# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose request it is: decides which mode of a handler applies to the request (slurmhooks/rollout.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.model import owner_of

if TYPE_CHECKING:
    from slurmhooks.job_submit.model import Job
    from slurmhooks.slurmctld.source import Asking, Struct, Views


class Subject:
    """User, account and partitions of a request, including what handlers have written so far.

    If a request lacks a value, that of the job to be changed counts, or slurmctld's default. Both need a build with
    Slurm's sources; without one the value is unknown, and meets no condition.
    """

    def __init__(self, job: Job, views: Views, asking: Asking, record: Struct | None) -> None:
        """Store the request.

        Args:
            job: the view of the request.
            views: classes of records.
            asking: asks slurmctld.
            record: the job that an update changes; None for submissions.
        """
        self._job: Any = job
        self._views = views
        self._asking = asking
        self._record = record

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
    def account(self) -> str | None:
        """The account that is charged."""
        account: str | None = self._job.account or self._recorded("account")
        return account or getattr(self._job, "default_account", None)

    @property
    def partitions(self) -> list[str]:
        """The partitions in which the job may run; may ask slurmctld for the default partition."""
        names: str | None = self._job.partition or self._recorded("partition")
        if names is None and self._record is None and self._views.private:
            table: Any = self._views.table("partitions", self._asking)
            return [partition.name for partition in table.where(flag_default=True)]
        return names.split(",") if names else []

    def _recorded(self, name: str) -> Any:
        return None if self._record is None else getattr(self._views.record(self._record), name)
