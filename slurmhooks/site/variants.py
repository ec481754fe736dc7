# SPDX-License-Identifier: GPL-2.0-or-later
"""The variants of spank_python.so: which of the costly callbacks each exports, and which one a site needs."""

from __future__ import annotations

from slurmhooks.hooks.points import JOB_CALLBACKS, POINTS
from slurmhooks.site import manifest_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.handlers.registry import Registry

_OF_TASKS = tuple(spec.short_name for spec in POINTS["spank"].hooks if spec.cost == "task")
VARIANTS: dict[str, tuple[str, ...]] = {
    "minimal": (),
    "job": JOB_CALLBACKS,
    "task": _OF_TASKS,
    "full": JOB_CALLBACKS + _OF_TASKS,
}
"""The libraries spank_python-NAME.so that native/meson.build links, with the costly callbacks that each exports."""
COSTLY_CALLBACKS = VARIANTS["full"]
"""slurmd notices only at its start whether a plugin exports those of jobs."""


def of(registries: Iterable[Registry]) -> str:
    """Return the name of the smallest variant that exports every callback with a handler."""
    return smallest(name for registry in registries for name in manifest_writer.calls(registry))


def smallest(callbacks: Iterable[str]) -> str:
    """Return the name of the smallest variant that exports some callbacks."""
    needed = set(callbacks) & set(COSTLY_CALLBACKS)
    return next(name for name, exports in VARIANTS.items() if needed <= set(exports))


def exported(variant: str) -> tuple[str, ...]:
    """Return the costly callbacks that a variant exports; all of them for the installed plugin ("")."""
    return VARIANTS.get(variant, COSTLY_CALLBACKS)


def never_called(registry: Registry, missing: Iterable[str]) -> list[str]:
    """Return a finding for each handler that Slurm would never call.

    Args:
        registry: the handlers.
        missing: the callbacks that the installed plugin does not export.
    """
    return [
        f"{handler.where}: Slurm would never call handler {handler.label}: the installed spank_python.so leaves"
        f" {handler.spec.function} out, for sites without such handlers; run 'slurmhooks compile'"
        + (", then restart slurmd" if name in JOB_CALLBACKS else "")
        for name in missing
        for handler in registry.handlers(f"spank.{name}")
    ]
