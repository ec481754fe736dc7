# SPDX-License-Identifier: GPL-2.0-or-later
"""The view of rules of a submission or an update: the job as it would be, and who asks for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.fields.constants import Shared
from slurmhooks.job_submit.filled import Filled, is_filled
from slurmhooks.job_submit.model import owner_of
from slurmhooks.job_submit.origin import FROM_SIBLINGS, may_be_batch
from slurmhooks.job_submit.strings import ArraySpec
from slurmhooks.job_submit.users import name_and_groups
from slurmhooks.rules.typed import WHOLE_NODES, is_unset, set_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slurmhooks.job_submit.model import Job, Record

UNKNOWN_USER = "the name service does not know the user of the job; try again later"

OF_SRUN: dict[str, Callable[[Request], bool]] = {
    "wait_all_nodes": lambda _: True,
    "open_mode": lambda request: request.get("het_job_offset") is not None,
}
"""Fields that srun sends, for components of heterogeneous jobs at least, whatever its user names."""


class Site:
    """What rules know about the cluster.

    Attributes:
        admins: user ids that are exempt from rules: root and SlurmUser.
        default_partition: the partition of jobs that name none; None: ask slurmctld.
    """

    def __init__(self, admins: Iterable[int] = (0,), default_partition: str | None = None) -> None:
        self.admins = frozenset(admins)
        self.default_partition = default_partition


class Request(Filled):
    """A submission, or an update with the job that it changes. Rules of one request share it.

    Attributes:
        job: the request; rules write to it.
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
        super().__init__(job, record, modify=modify, present=present, default_partition=site.default_partition)
        self.uid = uid
        self.site = site
        self.tables = tables or {}

    def before(self) -> Request:
        """Return the job of an update as it is now, as if the request changed nothing."""
        return Request(self.job, self.uid, self.site, modify=True, record=self.record, tables=self.tables, present=True)

    def number(self, name: str) -> int:
        """Return a number; 0 if it is unset or has no limit."""
        value = self.get(name)
        return value if isinstance(value, int) else 0

    def value(self, name: str) -> Any:
        """Return a field as the job would have it; None if it is unset, or says so in another way.

        What slurmctld has given to a job that exists counts as unset, as at its submission.
        """
        value = self.get(name)
        if self.record is not None and not self.sets(set_by(name)) and is_filled(name, value, self.record):
            return None
        if name in OF_SRUN and self.interactive == {True} and OF_SRUN[name](self):
            return None
        if value is None and name in WHOLE_NODES and self._reader.is_exclusive:
            return Shared.JOB_SHARED_NONE
        return None if is_unset(name, value) else value

    @property
    def is_present(self) -> bool:
        """Whether the job is meant as it is now, before the update."""
        return self._present

    @cached_property
    def is_admin(self) -> bool:
        """Whether root or SlurmUser asks."""
        return self.sender in self.site.admins

    @cached_property
    def sender(self) -> int | None:
        """User id of who asks; a cluster of a federation sends jobs of users as root."""
        return self.job.user_id if self.job.origin in FROM_SIBLINGS else self.uid

    @property
    def others(self) -> tuple[frozenset[str], frozenset[str]]:
        """The name and the groups of who asks, if that is another user than the job's, such as an operator."""
        sender = self.sender
        if sender is None or sender == owner_of(self.job):
            return frozenset(), frozenset()
        name, groups = self.job._asked_once(("sender", sender), lambda: name_and_groups(sender))
        return frozenset(filter(None, (name,))), groups

    @property
    def ids(self) -> frozenset[int]:
        """The ids by which users call the job of an update: its own, its array's, its heterogeneous job's."""
        record = self.record
        numbers = (record.job_id, record.array_job_id, record.het_job_id) if record is not None else ()
        return frozenset(filter(None, numbers))

    @property
    def interactive(self) -> set[bool]:
        """Whether the job comes from srun or salloc; both if a submission may become either."""
        value = bool(self._once("interactive", lambda: self.job.interactive))
        return {value, value and (self.modify or not may_be_batch(self.job))}

    @property
    def array_tasks(self) -> int:
        """The number of tasks of a job array; of an update, those that still wait in the record. 1 for other jobs."""
        if self.modify:
            return (self.record and self.record.array_task_cnt) or 1
        text = self.job.array_inx
        return 1 if text is None else len(ArraySpec.parse(text))

    @property
    def groups(self) -> frozenset[str]:
        """The names of all Unix groups of the job's user."""
        names: frozenset[str] = self._once("groups", lambda: frozenset(self.job.groups or ()))
        return names

    def known_user(self) -> str:
        """Return the name of the job's user.

        Raises:
            Reject: the name service does not know it, so nothing that depends on it can be decided.
        """
        name = self.user
        if name is None:
            raise Reject(UNKNOWN_USER)
        return name

    @property
    def user(self) -> str | None:
        """Name of the job's user; None if the name service does not know them."""
        return self.job.user_name
