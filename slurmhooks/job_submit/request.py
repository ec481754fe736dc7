# SPDX-License-Identifier: GPL-2.0-or-later
"""One request of slurmctld, and the arguments that handlers get."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks.handlers.job_rule import JUDGE
from slurmhooks.hooks.points import POINTS

if TYPE_CHECKING:
    from collections.abc import Collection

    from slurmhooks.handlers.job_rule import JobRule
    from slurmhooks.job_submit.bounds.cluster import Cluster
    from slurmhooks.job_submit.model import Job
    from slurmhooks.job_submit.views import Views
    from slurmhooks.slurmctld.asking import Asking, Struct

HOOKS = POINTS["job_submit"].called
"""Hooks by their numbers in a request."""
SENDERS = tuple(f"{hook.removeprefix('job_')}_uid" for hook in HOOKS)
"""For each hook, the argument of its handlers that is the user id of who asks."""


class RequestStructs:
    """A submission or an update.

    ``structs`` are the request itself, and the job that an update changes; sender and owner (of the job) are user ids.
    """

    def __init__(self, numbers: tuple[int, int, int], views: Views, asking: Asking, structs: list[Struct]) -> None:
        self._number, self.sender, self.owner = numbers
        self.structs = structs
        self.hook = HOOKS[self._number]
        self._views = views
        self._asking = asking
        self._record = structs[1] if len(structs) > 1 else None
        self._records: dict[str, Any] = {}

    def job(self) -> Job:
        """Return a new view of the request."""
        modify = self.hook == "job_modify"
        owner = self.owner if modify else None
        record = None if self._record is None else self._views.record(self._record)
        job: Job = self._views.job(self.structs[0], modify, owner, self.sender, record, self._cluster)
        return job

    def _cluster(self) -> Cluster:
        """Return what looks up what Slurm can give. Most requests do not need it, and it takes long to import."""
        from slurmhooks.job_submit.bounds.cluster import Cluster

        return Cluster((lambda name: self._views.table(name, self._asking)) if self._views.private else None)

    def fresh(self, savepoint: object) -> Job:
        """Return a new view of the request in the state of a savepoint."""
        job = self.job()
        job.rollback(savepoint)
        return job

    def arguments(self, job: Job, names: Collection[str]) -> dict[str, Any]:
        """Return the arguments of handlers; :meth:`close_records` closes those that are views of slurmctld's records.

        Raises:
            MessageError: a handler takes the record, and the update has none.
        """
        arguments: dict[str, Any] = {"job": job, SENDERS[self._number]: self.sender, JUDGE: partial(_judge, job)}
        if names:
            self._records = self._views.arguments(names, self._asking, self._record)
            arguments |= self._records
        return arguments

    def close_records(self) -> None:
        """Make every later use of the last arguments raise StaleHandleError, except for the request itself."""
        for view in self._records.values():
            view.close()


def _judge(job: Job, handler: JobRule, arguments: dict[str, Any]) -> object:
    """Call a handler of hook.job. Many sites have none, and what it needs takes long to import."""
    from slurmhooks.job_submit import judging

    return judging.call(job, handler, arguments)
