# SPDX-License-Identifier: GPL-2.0-or-later
"""The two variants of spank_python.so: one exports all callbacks, and one leaves out those that cost time."""

from __future__ import annotations

from slurmhooks.hooks.points import JOB_CALLBACKS, POINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.handlers.registry import Registry

COSTLY_CALLBACKS = JOB_CALLBACKS + tuple(spec.short_name for spec in POINTS["spank"].hooks if spec.cost == "task")
"""Slurm starts a process for each prolog and epilog, or makes a clone for each task, merely because a plugin exports
them. slurmd notices only at its start whether a plugin exports those of jobs."""
LEAN = "lean"
"""spank_python-lean.so, which 'slurmhooks install --lean' chooses, leaves them out."""
CALL = (
    "run 'slurmhooks install' without --lean, then restart slurmd; from Slurm 23.11 on 'scontrol reconfigure' will do"
)


def exported(variant: str) -> tuple[str, ...]:
    """Return the costly callbacks that a variant exports; "" is the one that exports all."""
    return () if variant == LEAN else COSTLY_CALLBACKS


def never_called(registry: Registry, missing: Iterable[str]) -> list[str]:
    """Return a finding for each handler that Slurm would never call."""
    return [
        f"{handler.where}: Slurm would never call handler {handler.label}: the installed spank_python.so leaves"
        f" {handler.spec.function} out, for sites without such handlers: {CALL}"
        for name in missing
        for handler in registry.handlers(f"spank.{name}")
    ]
