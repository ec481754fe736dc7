# SPDX-License-Identifier: GPL-2.0-or-later
"""Delivers power calls: in order for each node, so that a suspend never overtakes a resume."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from slurmhooks.errors import SlurmhooksError
from slurmhooks.handover.process import CallDelivery
from slurmhooks.jobcomp.delivery import UNREADABLE
from slurmhooks.log import log
from slurmhooks.power import overtaken
from slurmhooks.power.calls import Call
from slurmhooks.power.model import PowerNodes, ResumeJob, down, scontrol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.config.controller import Deliveries
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.jobcomp.segment import Record
    from slurmhooks.jobcomp.spool import Spool


STARTS = ("power.resume", "power.reboot")
"""Hooks whose nodes are set to DOWN if a call is given up, because Slurm would wait for them until ResumeTimeout."""
LATE = 60.0
"""Seconds after which a call may be too late."""


class PowerDelivery(CallDelivery):
    """Delivers the calls of a spool, one at a time."""

    def __init__(
        self, spool: Spool, registry: Registry, section: Deliveries, ask: Callable[..., str] = scontrol
    ) -> None:
        super().__init__(spool, registry, section)
        self._ask = ask
        self._names: dict[str, tuple[str, ...]] = {}

    def _expand(self, nodes: str) -> tuple[str, ...]:
        """Return the names of a host list.

        Raises:
            ValueError: it is none.
            SlurmhooksError: scontrol cannot be run.
        """
        if nodes not in self._names:
            try:
                names = tuple(self._ask("show", "hostnames", nodes).split())
            except SlurmhooksError:
                self._ask("show", "hostnames", "n1")  # raises if it is not this list that scontrol cannot read
                names = ()
            if not names:
                raise ValueError(f"{nodes!r} is no list of nodes")
            self._names[nodes] = names
        return self._names[nodes]

    def _order(self, message: bytes) -> tuple[str, ...]:
        return self._expand(Call.of(message).nodes)

    def _arguments(self, record: Record) -> dict[str, object] | str:
        call = _call(record)
        names = self._expand(call.nodes)
        if self._is_too_late(record, names):
            return f"Slurm no longer starts {call.nodes}"
        nodes = PowerNodes(call.nodes, names, self._ask)
        jobs = tuple(ResumeJob.of(job) for job in call.jobs)
        return {"nodes": nodes, "jobs": jobs, "features": call.features}

    def _is_too_late(self, record: Record, names: tuple[str, ...]) -> bool:
        """Tell whether a call would start machines that Slurm no longer waits for; a command may ask for that.

        They might run for ever: Slurm has stopped their nodes, and need not do it again.
        """
        frame = record.frame
        is_late = record.tries or time.time() - frame.time / 1e9 > LATE
        if not is_late or frame.hook not in STARTS or record.segment.is_again:
            return False
        try:
            return overtaken.are_off(names, overtaken.states(self._ask))
        except SlurmhooksError:
            return False

    def _end(self, record: Record, refused: Mapping[str, str] | None = None) -> None:
        """End an attempt as elsewhere; but a handler that refuses to start nodes ends the call for all handlers."""
        if refused and record.frame.hook in STARTS:
            self._give_up(record, next(iter(refused.values())))
            return
        super()._end(record, refused)

    def _bury(self, record: Record) -> None:
        """Make a call that failed too often a dead letter; nodes that were not started are DOWN."""
        if record.frame.hook in STARTS:
            self._give_up(record, next(iter(record.reasons.values()), ""))
        else:
            super()._bury(record)

    def _give_up(self, record: Record, reason: str) -> None:
        """Set the nodes of a call to DOWN, then make it a dead letter; without an answer of slurmctld, try again.

        Those that Slurm no longer waits for stay as they are: some may have started, and run jobs.
        """
        try:
            hostlist = _call(record).nodes
            names = self._expand(hostlist)
        except UNREADABLE:
            super()._bury(record)  # nobody knows which nodes
            return
        try:
            left = overtaken.awaited(record.frame.hook, names, overtaken.states(self._ask))
            if left:
                down(hostlist if len(left) == len(names) else ",".join(left), reason, self._ask)
        except SlurmhooksError as error:
            log.error("%s cannot be set to DOWN: %s; it is tried again", hostlist, error)
            record.segment.note(record, "retry", record.tries, time.time() + self._section.backoff_limit)
        else:
            super()._bury(record)


def _call(record: Record) -> Call:
    return Call.of(record.segment.message(record.frame))
