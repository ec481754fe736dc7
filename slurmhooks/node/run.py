# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of the health checks of a node, from its state to its new state."""

from __future__ import annotations

from time import sleep

from slurmhooks.hooks.rollout import OFF
from slurmhooks.node import children, draining, verdict
from slurmhooks.node.model import HealthNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.node.brake import Brake
    from slurmhooks.node.draining import Controller, Said
    from slurmhooks.node.model import Result
    from slurmhooks.node.state import NodeMemory

    Run = Callable[[Sequence[Handler], dict[str, object]], list[Result]]

LOADS = frozenset(("idle", "mixed", "alloc"))
"""The contexts that slurmctld knows."""


class Settings:
    """``[node]`` of the configuration.

    All checks may take ``seconds`` together. ``metrics`` is the folder for a file with metrics; "": none.
    """

    __slots__ = ("brake", "metrics", "seconds")

    def __init__(self, seconds: float, brake: Brake, metrics: str = "") -> None:
        self.metrics = metrics
        self.seconds = seconds
        self.brake = brake


def contexts(state: NodeMemory, slurmd: str, boot: str) -> list[str]:
    """Return why the checks run now; the state then has this slurmd and boot.

    ``slurmd`` has its process id and start time.
    """
    first = slurmd != state.slurmd
    rebooted = boot != state.boot
    state.slurmd, state.boot = slurmd, boot
    return [*(["start"] if first else []), *(["reboot"] if rebooted else []), *([] if first or rebooted else ["cycle"])]


def needs_load(checks: Sequence[Handler], contexts: Sequence[str]) -> bool:
    """Tell whether a check depends on what jobs have of the node, so that slurmctld must be asked."""
    return any(
        LOADS.intersection(check.contexts) and not set(contexts).intersection(check.contexts)
        for check in checks
        if verdict.terms_of(check).mode != OFF
    )


def run(
    node: HealthNode,
    checks: Sequence[Handler],
    state: NodeMemory,
    settings: Settings,
    slurmctld: Controller,
    save: Callable[[], bool],
    execute: Run,
    now: float,
    pause: Callable[[float], None] = sleep,
) -> tuple[list[str], Said | None]:
    """Run the checks that are due, and drain or undrain the node; return faults for the log, and what has become of it.

    ``save`` writes the state, and tells whether the next run can read it. ``execute`` runs checks with their arguments,
    see :func:`slurmhooks.node.children.run`. ``now`` is in seconds since 1970.
    """
    verdict.forget(checks, state)
    chosen = verdict.due(checks, state, node.contexts, now, children.alive)
    results = execute(chosen, {"node": node}) if chosen else []
    faults = verdict.count(chosen, results, state, now)
    if not save():
        verdict.take_as_last(chosen, results, state)
    try:
        said = draining.settle(
            node.name, verdict.texts(checks, state), state, settings.brake, slurmctld, save, now, pause
        )
    except draining.Unanswered as error:
        return [*faults, f"{node.name} keeps its state: slurmctld could not be asked or told: {error}"], None
    save()
    return faults, said
