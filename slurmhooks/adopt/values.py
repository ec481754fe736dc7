# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of values while a script is followed, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from slurmhooks.fields.rows import NEWEST

if TYPE_CHECKING:
    from slurmhooks.adopt.tree import Function
    from slurmhooks.fields.rows import Release

Level = Literal["danger", "warning", "note"]
LEVELS: tuple[Level, ...] = ("danger", "warning", "note")


@dataclass(frozen=True, slots=True)
class Settings:
    """For which Slurm and Lua a script is read.

    Attributes:
        release: of Slurm.
        version: of Lua, as in ``[lua] version``.
    """

    release: Release = NEWEST
    version: str = "5.4"

    @property
    def is_old(self) -> bool:
        """Whether ``%s`` of nil is an error in string.format."""
        return self.version.startswith(("5.1", "luajit"))


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


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value.

    Attributes:
        nil: why it may be nil, such as ``job_desc.account``; empty if it cannot, or if only the script decides that.
        kind: ``text``, ``number``, ``boolean``, ``table``, ``function``, ``nil``; empty if it is not known.
        role: ``job_desc``, ``part_list``, ``lib:os.execute`` and the like; empty for other values.
        users: which text of a user it contains; empty if none.
        unset: the field of which it is the number, which may be NO_VAL; empty if none.
        function: the function that it is.
        constant: the text or number that it is.
        exits: for the result of a function of the script: the results that it may have, with what is known then.
    """

    nil: str = ""
    kind: str = ""
    role: str = ""
    users: str = ""
    unset: str = ""
    function: Function | None = None
    constant: object = None
    exits: tuple[Exit, ...] = ()

    def joined(self, other: Value) -> Value:
        """Return what is known of a value that is one of the two."""
        if self is other or self == other:
            return self
        return Value(
            nil=self.nil or other.nil,
            kind=self.kind if self.kind == other.kind else "",
            role=self.role if self.role == other.role else "",
            users=self.users or other.users,
            unset=self.unset or other.unset,
            function=self.function if self.function is other.function else None,
            constant=self.constant if self.constant == other.constant else None,
        )

    def certain(self) -> Value:
        """Return the same value, which is not nil."""
        return replace(self, nil="") if self.nil else self


FOR_QUOTES = "'"
"""Begins ``Value.users`` of a text that is harmless between quotes in a command."""
ANY = Value()
NIL = Value(kind="nil")


@dataclass(frozen=True, slots=True)
class Exit:
    """One way in which a function ends.

    Attributes:
        result: what it returns, as a text such as ``true``, ``nil``, ``slurm.SUCCESS`` or ``0``; empty: unknown.
        known: keys of values that are then not nil.
    """

    result: str
    known: frozenset[str]

    def may_be(self, truth: bool) -> bool:
        """Tell whether the result may be true, or false."""
        return not self.result or (self.result not in ("nil", "false")) == truth


@dataclass(slots=True)
class State:
    """What is known at a place of a script.

    Keys are ``7`` for local variable 7, ``G.name`` for a global variable, ``job_desc.account`` for a field of the
    request, whatever variable it is in, and ``KEY.name`` for a member of a table.

    Attributes:
        known: keys of values that are not nil.
        values: what is known of values, by key.
        checked: fields whose number has been compared with NO_VAL.
        clean: keys of texts that cannot contain what a shell understands.
        assigned: global variables that this call has assigned.
        dead: this place is never reached.
    """

    known: set[str] = field(default_factory=set)
    values: dict[str, Value] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)
    clean: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    dead: bool = False

    def copy(self) -> State:
        """Return a copy."""
        return State(
            set(self.known), dict(self.values), set(self.checked), set(self.clean), set(self.assigned), self.dead
        )

    def become(self, other: State) -> None:
        """Take over everything from another state."""
        self.known, self.values, self.checked = other.known, other.values, other.checked
        self.clean, self.assigned, self.dead = other.clean, other.assigned, other.dead

    def joined(self, other: State) -> State:
        """Return what is known at a place that is reached in either state."""
        if self.dead or other.dead:
            alive = other if self.dead else self
            alive.checked = self.checked | other.checked
            return alive
        values = dict(self.values)
        for key, value in other.values.items():
            if key in values:
                values[key] = values[key].joined(value)
            elif key.isdecimal():
                values[key] = value
        for key in self.values.keys() - other.values.keys():
            if not key.isdecimal():
                del values[key]
        return State(
            self.known & other.known,
            values,
            self.checked | other.checked,
            self.clean & other.clean,
            self.assigned & other.assigned,
        )

    def forget(self, key: str) -> None:
        """Forget everything about a key and its members: it gets a new value."""
        start = f"{key}."
        for keys in (self.known, self.clean):
            keys -= {other for other in keys if other == key or other.startswith(start)}
        for other in [other for other in self.values if other == key or other.startswith(start)]:
            del self.values[other]


@dataclass(slots=True)
class Summary:
    """What a call of a function does.

    Attributes:
        result: what it returns.
        exits: the ways in which it ends.
        writes: keys of fields of the request that it may assign.
        assigned: global variables that it always assigns.
    """

    result: Value = ANY
    exits: tuple[Exit, ...] = ()
    writes: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()


@dataclass(slots=True)
class Running:
    """A function that is being followed; its callers have checked some numbers."""

    function: Function
    checked: frozenset[str] = frozenset()
    results: list[Value] = field(default_factory=list)
    exits: list[tuple[Exit, set[str]]] = field(default_factory=list)
    writes: set[str] = field(default_factory=set)
