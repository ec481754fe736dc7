# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether Slurm still wants what a kept power call is about: nodes may have been given up, started or stopped since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.power.model import scontrol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

POWERED_DOWN = frozenset(("POWERED_DOWN",))
OFF = frozenset(("POWER_DOWN", "POWERING_DOWN", "POWERED_DOWN"))
STARTING = frozenset(("POWERING_UP", "POWER_UP"))
WANTS = {
    "power.resume": STARTING,
    "power.suspend": OFF,
    "power.resume_failed": OFF | {"DOWN"},
    "power.reboot": STARTING | {"REBOOT_REQUESTED", "REBOOT_ISSUED"},
}
"""A node of a call has one of these states as long as Slurm wants it."""


def states(ask: Callable[..., str] = scontrol) -> dict[str, frozenset[str]]:
    """Return the words of the state of each node that slurmctld shows, such as IDLE, CLOUD and POWERED_DOWN.

    Raises:
        SlurmhooksError: slurmctld does not answer.
    """
    known = {}
    for line in ask("show", "node", "-o").splitlines():
        words = dict(word.partition("=")[::2] for word in reversed(line.split()))  # texts of operators come last
        if "NodeName" in words and "State" in words:
            known[words["NodeName"]] = frozenset(words["State"].rstrip("*~#!%$@^-").split("+"))
    return known


def overtaken(hook: str, names: Iterable[str], known: dict[str, frozenset[str]]) -> str:
    """Return which nodes of a call Slurm no longer wants to be so, and what they are; "" if there are none.

    ``known`` has the states of all nodes. Slurm 22.05 hides nodes of a cloud that are off.
    """
    if not known:
        return ""
    here = {name: known.get(name, POWERED_DOWN) for name in names}
    return ", ".join(f"{name} is {'+'.join(sorted(at))}" for name, at in here.items() if not at & WANTS[hook])


def awaited(hook: str, names: Iterable[str], known: dict[str, frozenset[str]]) -> list[str]:
    """Return the nodes of a call that Slurm still waits for; all if it is not known. Others may run jobs by now."""
    return [name for name in names if not known or known.get(name, POWERED_DOWN) & WANTS[hook]]


def are_off(names: Iterable[str], known: dict[str, frozenset[str]]) -> bool:
    """Tell whether Slurm has switched all nodes of a call off, or is about to, and does not start them."""
    here = [known.get(name, POWERED_DOWN) for name in names]
    return bool(known) and all(at & OFF and not at & STARTING for at in here)
