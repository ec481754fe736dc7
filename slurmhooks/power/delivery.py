# SPDX-License-Identifier: GPL-2.0-or-later
"""Delivers power calls: in order for each node, so that a suspend never overtakes a resume."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slurmhooks.jobcomp.delivery import Delivery
from slurmhooks.power.model import PowerNodes, ResumeJob, scontrol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from slurmhooks.config.sections import Deliveries
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.jobcomp.segment import Record
    from slurmhooks.jobcomp.spool import Spool


class PowerDelivery(Delivery):
    """Delivers the calls of a spool, one at a time."""

    def __init__(
        self, spool: Spool, registry: Registry, section: Deliveries, ask: Callable[..., str] = scontrol
    ) -> None:
        """Store the spool, the handlers, the configuration, and the function that asks Slurm."""
        super().__init__(spool, registry, section)
        self._ask = ask
        self._names: dict[str, tuple[str, ...]] = {}

    def _expand(self, nodes: str) -> tuple[str, ...]:
        """Return the names of a host list.

        Raises:
            SlurmhooksError: scontrol cannot be run.
        """
        if nodes not in self._names:
            self._names[nodes] = tuple(self._ask("show", "hostnames", nodes).split())
        return self._names[nodes]

    def _keys(self, record: Record) -> Collection[object]:
        return self._expand(json.loads(record.segment.message(record.frame))["nodes"])

    def _arguments(self, record: Record) -> dict[str, object] | str:
        call = json.loads(record.segment.message(record.frame))
        nodes = PowerNodes(call["nodes"], self._expand(call["nodes"]), self._ask)
        return {"nodes": nodes, "jobs": tuple(ResumeJob.of(job) for job in call["jobs"])}
