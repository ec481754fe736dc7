# SPDX-License-Identifier: GPL-2.0-or-later
"""Replace enumerations by those of the running release, in slurmctld's workers."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from slurmhooks.wire.tables import installed

Kind = TypeVar("Kind", bound=type[Enum])


def _groups() -> dict[str, dict[str, int]]:
    """Return the constants of the running release by enumeration; none outside of workers."""
    tables = installed()
    return {} if tables is None else {name: dict(values) for name, values in tables.constants.items()}


GROUPS = _groups()
"""Numbers by name, by enumeration."""


def of_release(kind: Kind) -> Kind:
    """Return an enumeration with the names and numbers of the running release; unchanged outside of workers."""
    if kind.__name__ not in GROUPS:
        return kind
    base: Any = kind.__bases__[0]
    replacement: Kind = base(kind.__name__, GROUPS[kind.__name__], module=kind.__module__)
    replacement.__doc__ = kind.__doc__
    return replacement
