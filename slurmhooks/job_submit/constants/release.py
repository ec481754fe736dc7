# SPDX-License-Identifier: GPL-2.0-or-later
"""The names and numbers of the running release, in workers."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from slurmhooks.wire.tables import installed

Kind = TypeVar("Kind", bound=type[Enum])


def _groups() -> dict[str, dict[str, int]]:
    """Return the numbers of the release that this worker serves, by group; none elsewhere."""
    tables = installed()
    return {} if tables is None else {name: dict(values) for name, values in tables.constants.items()}


GROUPS = _groups()


def of_release(kind: Kind) -> Kind:
    """Return an enumeration with the names and numbers of the release at hand; the given one if there is none."""
    if kind.__name__ not in GROUPS:
        return kind
    base: Any = kind.__bases__[0]
    made: Kind = base(kind.__name__, GROUPS[kind.__name__], module=kind.__module__)
    made.__doc__ = kind.__doc__
    return made
