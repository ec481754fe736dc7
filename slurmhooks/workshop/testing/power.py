# SPDX-License-Identifier: GPL-2.0-or-later
"""Power calls without Slurm and the spool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.handlers import dispatch
from slurmhooks.job_submit.strings.nodes import collapse_nodes
from slurmhooks.log import log
from slurmhooks.power.delivery import STARTS
from slurmhooks.power.model import PowerNodes, ResumeJob, down
from slurmhooks.workshop.testing.jobcomp import FakeEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> Outcome:
    """Run all handlers of a hook as one delivery does, logging nodes that they set down; return the first failure."""
    rows = given["nodes"] if given["nodes"] is not None else {"c1": {}}

    def ask(*words: str) -> str:
        if words[0] == "update":
            log.info("scontrol %s", " ".join(words))
            return ""
        return "\n".join(
            f"NodeName={name} AvailableFeatures={','.join(row.get('features', ()))}"
            f" Partitions={','.join(row.get('partitions', ()))}"
            for name, row in rows.items()
        )

    jobs = tuple(ResumeJob.of(job) for job in given["jobs"] or ())
    event = given["event"] if given["event"] is not None else FakeEvent(hook)
    hostlist = collapse_nodes(rows)  # as Slurm writes it
    nodes = PowerNodes(hostlist, rows, ask)
    arguments = {"nodes": nodes, "jobs": jobs, "features": given.get("features"), "event": event}
    outcomes = [dispatch.run((each,), arguments) for each in registry.handlers(hook)]
    outcome = next((outcome for outcome in outcomes if not outcome.passed), dispatch.PASSED)
    if hook in STARTS and not outcome.passed and outcome.error_id is None:
        down(hostlist, outcome.text or "", ask)
    return outcome
