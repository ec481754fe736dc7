# SPDX-License-Identifier: GPL-2.0-or-later
"""The view of rules of a submission or an update: the job as it would be, and who asks for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.bounds.asked import Reader
from slurmhooks.job_submit.model import owner_of
from slurmhooks.job_submit.origin import FROM_SIBLINGS
from slurmhooks.job_submit.users import name_and_groups, split_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.job_submit.model import Job, Record


class Site:
    """What rules know about the cluster.

    Attributes:
        admins: user ids that are exempt from rules: root and SlurmUser.
        default_partition: the partition of jobs that name none; None: ask slurmctld.
    """

    def __init__(self, admins: Iterable[int] = (0,), default_partition: str | None = None) -> None:
        """Store the facts; see the class."""
        self.admins = frozenset(admins)
        self.default_partition = default_partition
        self._job: object = None
        self._facts: dict[str, Any] = {}

    def once(self, job: object, name: str, ask: Callable[[], Any]) -> Any:
        """Return a value that an earlier rule has asked for about this job, or ask for it."""
        if self._job is not job:
            self._job, self._facts = job, {}
        if name not in self._facts:
            self._facts[name] = ask()
        return self._facts[name]


class Request:
    """A submission, or an update with the job that it changes.

    Attributes:
        job: the request; rules write to it.
        record: for an update, the job as it is now; None for a submission, or if slurmctld cannot send it.
        modify: it is an update.
        uid: user id of the sender.
        site: see Site.
        tables: tables of slurmctld that the rule asked for, by name.
    """

    def __init__(
        self,
        job: Job,
        uid: int,
        site: Site,
        *,
        modify: bool = False,
        record: Record | None = None,
        tables: Mapping[str, Any] | None = None,
        present: bool = False,
    ) -> None:
        """Store the request; see the class."""
        self.job = job
        self.record = record
        self.modify = modify
        self.uid = uid
        self.site = site
        self.tables = tables or {}
        self._present = present
        self._reader = Reader(job, record, modify=modify, present=present)

    def before(self) -> Request:
        """Return the job of an update as it is now, as if the request changed nothing."""
        return Request(self.job, self.uid, self.site, modify=True, record=self.record, tables=self.tables, present=True)

    def get(self, name: str) -> Any:
        """Return a field of the job as it would be; None if it is unset, or the update clears it."""
        return self._reader.get(name)

    def number(self, name: str) -> int:
        """Return a number; 0 if it is unset or has no limit."""
        value = self.get(name)
        return value if isinstance(value, int) else 0

    def sets(self, names: Iterable[str]) -> bool:
        """Tell whether the request itself sets at least one of the given fields."""
        return self._reader.sets(names)

    @property
    def is_admin(self) -> bool:
        """Whether root or SlurmUser asks."""
        return self.sender in self.site.admins

    @property
    def sender(self) -> int | None:
        """User id of who asks; a cluster of a federation sends jobs of users as root."""
        return self.job.user_id if self.job.origin in FROM_SIBLINGS else self.uid

    @cached_property
    def others(self) -> tuple[frozenset[str], frozenset[str]]:
        """The name and the groups of who asks, if that is another user than the job's, such as an operator."""
        if self.sender is None or self.sender == owner_of(self.job):
            return frozenset(), frozenset()
        name, groups = name_and_groups(self.sender)
        return frozenset(filter(None, (name,))), groups

    @property
    def interactive(self) -> bool:
        """Whether the job comes from srun or salloc."""
        return bool(self.job.interactive)

    @property
    def groups(self) -> frozenset[str]:
        """The names of all Unix groups of the job's user."""
        names: frozenset[str] = self.site.once(self.job, "groups", lambda: frozenset(self.job.groups or ()))
        return names

    @cached_property
    def user(self) -> str | None:
        """Name of the job's user; None if the name service does not know them."""
        return self.job.user_name

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The partitions that the job may run in; empty if it names none and the default is not known."""
        chosen = self._default_partition() if self._reader.leaves_partition else None
        names = dict.fromkeys((*split_names(self.get("partition")), *split_names(chosen)))
        cluster = self.job._cluster if self._reader.assigns_partition else None
        return tuple(names if cluster is None else cluster.accepting(names))

    def _default_partition(self) -> str | None:
        """Return the partition that Slurm chooses: that of the reservation, or the default one."""
        reservation = self.get("reservation")
        if self.site.default_partition is not None and reservation is None:
            return self.site.default_partition
        name: str | None = self.site.once(
            self.job, f"partition {reservation}", lambda: getattr(self.job, "default_partition", None)
        )
        return name or self.site.default_partition

    @cached_property
    def account(self) -> str | None:
        """The account that is charged, by default that of the user; None if slurmctld did not send that."""
        named: str | None = self.get("account")
        if self._present:
            return named
        return self._of_association("charged_account") or named or self._of_association("default_account")

    @cached_property
    def qos(self) -> str | None:
        """The QOS, several separated by commas, by default that of the user; None if slurmctld did not send that."""
        return self.get("qos") or self._of_association("default_qos")

    def _of_association(self, name: str) -> str | None:
        try:
            value: str | None = getattr(self.job, name)
        except AttributeError:  # a build without Slurm's sources
            return None
        return value or None
