# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of values of a script, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from slurmhooks.fields.rows import NEWEST

if TYPE_CHECKING:
    from slurmhooks.fields.rows import Release
    from slurmhooks.workshop.adopt.tree import Function

Level = Literal["danger", "warning", "note"]
LEVELS: tuple[Level, ...] = ("danger", "warning", "note")


@dataclass(frozen=True, slots=True)
class Settings:
    """For which Slurm, and which Lua (as in ``[lua] version``), a script is read."""

    release: Release = NEWEST
    version: str = "5.4"


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """Something in a script that is dangerous, wrong, or different under slurmhooks.

    Attributes:
        line: of the script.
        kind: which rule; documented in docs/adopt.md.
        level: how bad it is.
        what: what the line does.
        why: what happens.
        instead: what to write.
    """

    line: int
    kind: str
    level: Level
    what: str
    why: str
    instead: str = ""


class Use(NamedTuple):
    """A place where the script uses something.

    Attributes:
        of: what it belongs to: ``job_desc``, ``job_rec``, ``part``, ``slurm``, ``SPANK``, ``environment`` and so on.
        name: name of the field, function or variable; empty if it is computed at run time.
        line: its line.
        writes: it is assigned to.
    """

    of: str
    name: str
    line: int
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    Attributes:
        kind: ``text``, ``number``, ``boolean``, ``table``, ``function``, ``nil``; empty if it is not known.
        role: ``job_desc``, ``part_list``, ``lib:os.execute`` and the like; empty for other values.
        users: which text of a user it contains; empty if none.
        unset: the fields whose number it may be, and which are NO_VAL if they are not given.
        function: the function that it is.
        constant: the text or number that it is.
        start: the constant text with which it begins, such as the name of a program.
    """

    kind: str = ""
    role: str = ""
    users: str = ""
    unset: frozenset[str] = frozenset()
    function: Function | None = None
    constant: object = None
    start: str = ""

    def joined(self, other: Value) -> Value:
        """Return what is known of a value that is one of the two."""
        if self is other or self == other:
            return self
        return Value(
            kind=self.kind if self.kind == other.kind else "",
            role=self.role or other.role,
            users=self.users or other.users,
            unset=self.unset | other.unset,
            function=self.function or other.function,
            constant=self.constant if self.constant == other.constant else None,
            start=self.start or other.start,
        )


FOR_QUOTES = "'"
"""Begins ``Value.users`` of a text that is harmless between quotes in a command."""
ANY = Value()
NIL = Value(kind="nil")
