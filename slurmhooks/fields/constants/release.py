# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives enumerations the names and numbers of the running release, in slurmctld's workers."""

from __future__ import annotations

from enum import EnumType
from typing import Any

from slurmhooks.wire.tables import installed


def _groups() -> dict[str, dict[str, int]]:
    """Return the constants of the running release by enumeration; none outside of workers."""
    tables = installed()
    return {} if tables is None else {name: dict(values) for name, values in tables.constants.items()}


GROUPS = _groups()
"""Numbers by name, by enumeration."""


class OfRelease(EnumType):
    """Makes an enumeration: with the members in the source, or in workers with those of the running release.

    Only one of them, because each member takes 10 us, and slurmctld waits for hundreds at a reconfiguration.
    """

    def __new__(metacls, name: str, bases: tuple[type, ...], content: Any) -> Any:
        """Make it; ``content`` is what the source has."""
        numbers = GROUPS.get(name)
        if numbers is not None:
            source, content = content, metacls.__prepare__(name, bases)
            for key, value in {**{key: source[key] for key in source if key.startswith("__")}, **numbers}.items():
                content[key] = value
        return super().__new__(metacls, name, bases, content)
