# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script defines, wherever it does: functions, global variables, constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.lua.source import ENTRIES
from slurmhooks.workshop.adopt.tree import (
    Assign,
    Binary,
    Constant,
    Expr,
    Function,
    Index,
    Local,
    Name,
    Table,
    expressions,
    functions,
    inside,
    name_of,
    statements,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.workshop.adopt.tree import Tree

FAMILIES = (("job_submit", "job_"), ("cli_filter", "cli_"), ("spank", "spank_"), ("scrun", "scrun_"))
"""What scripts are for, with the beginning of the names of their functions, after ``slurm_``."""


def static_key(expression: Expr) -> str:
    """Return the key of a variable or of a member of a table, without regard to roles; see State."""
    match expression:
        case Name(name=name, variable=variable):
            return f"G.{name}" if variable is None else str(variable.number)
        case Index(of=of, key=Constant(value=str(name))):
            start = static_key(of)
            return f"{start}.{name}" if start else ""
    return ""


class Definitions:
    """What a script defines.

    Attributes:
        functions: all functions, the main chunk first.
        defined: those that have a name, by their keys.
        listed: those that the script keeps in tables.
        entries: those that Slurm calls, by name.
        callbacks: functions of options of spank-lua.
        mentioned: the local variables and parameters that expressions name.
        top: names of the global variables that the main chunk assigns.
        family: ``job_submit``, ``cli_filter``, ``spank`` or ``scrun``; empty if it is none of these.
    """

    def __init__(self, tree: Tree) -> None:
        self.functions = list(functions(tree.main))
        self._statements = [part for function in self.functions for part in statements(function.body)]
        within = (part for statement in self._statements for each in expressions(statement) for part in inside(each))
        self._expressions = list(within)
        self.defined: dict[str, Function] = {}
        self.defined.update(self._definitions())
        self.listed = list(dict.fromkeys(part for part in self._in_tables() if part is not None))
        assignments = (statement for statement in self._statements if isinstance(statement, Assign))
        self._assigned = {key for each in assignments for target in each.targets if (key := static_key(target))}
        self.top = {
            target.name
            for statement in statements(tree.main.body)
            if isinstance(statement, Assign)
            for target in statement.targets
            if isinstance(target, Name) and target.variable is None
        }
        self.mentioned = {part.variable for part in self._expressions if isinstance(part, Name)}
        self.entries = {
            name: function for key, function in self.defined.items() if (name := key.removeprefix("G.")) in ENTRIES
        }
        self.family = self._family()
        self.callbacks = list(self._callbacks()) if self.family == "spank" else []

    def _family(self) -> str:
        for key in self.defined:
            for family, start in FAMILIES:
                if key.startswith(f"G.slurm_{start}"):
                    return family
        return "spank" if "spank_options" in self.top else ""

    def _definitions(self) -> Iterable[tuple[str, Function]]:
        """Yield all functions that have a name, with their keys."""
        for statement in self._statements:
            match statement:
                case Local(variables=variables, values=values):
                    for variable, value in zip(variables, values, strict=False):
                        if isinstance(value, Function):
                            value.name = value.name or variable.name
                            yield str(variable.number), value
                        yield from self._members_of(str(variable.number), value)
                case Assign(targets=targets, values=values):
                    for target, value in zip(targets, values, strict=False):
                        key = static_key(target)
                        if key and isinstance(value, Function):
                            value.name = value.name or name_of(target)
                            yield key, value
                        if key:
                            yield from self._members_of(key, value)

    def _members_of(self, key: str, value: Expr) -> Iterable[tuple[str, Function]]:
        if isinstance(value, Table):
            for name, item in value.items:
                if isinstance(item, Function) and isinstance(name, Constant) and isinstance(name.value, str):
                    item.name = item.name or name.value
                    yield f"{key}.{name.value}", item

    def _in_tables(self) -> Iterable[Function | None]:
        """Yield the functions that the script keeps in tables: a call of an element may be a call of each of them."""
        for part in self._expressions:
            if isinstance(part, Table):
                for _, item in part.items:
                    yield item if isinstance(item, Function) else self.defined.get(static_key(item))

    def _callbacks(self) -> Iterable[Function]:
        """Yield the functions of options, which spank-lua takes as functions or by their names."""
        items = (item for part in self._expressions if isinstance(part, Table) for item in part.items)
        for key, item in items:
            if isinstance(key, Constant) and key.value == "cb":
                name = f"G.{item.value}" if isinstance(item, Constant) else static_key(item)
                function = item if isinstance(item, Function) else self.defined.get(name)
                if function is not None:
                    yield function

    def assigns(self, key: str) -> bool:
        """Tell whether the script assigns a global variable anywhere."""
        return key in self._assigned

    def constants(self) -> list[object]:
        """Return the texts and numbers in the script, each once."""
        literals = (
            part.value
            for part in self._expressions
            if isinstance(part, Constant) and isinstance(part.value, (str, float))
        )
        return list(dict.fromkeys(literals))

    def option_tables(self) -> dict[str, dict[str, str | None]]:
        """Return the tables that may define options of spank-lua; see Script."""
        tables = {}
        for part in self._expressions:
            if self.family == "spank" and isinstance(part, Table):
                members = {key.value: _text(item) for key, item in part.items if isinstance(key, Constant)}
                if isinstance(name := members.get("name"), str):
                    tables[name] = {str(key): text for key, text in members.items()}
        return tables


def _text(expression: Expr) -> str | None:
    """Return a constant as Lua's source has it, strings without quotes; None for what the script computes."""
    match expression:
        case Constant(value=str(text)):
            return text
        case Constant(value=bool(truth)):
            return str(truth).lower()
        case Constant(value=float(number)):
            return f"{number:g}"
        case Constant(value=None):
            return "nil"
        case Binary(operator="..", left=left, right=right):
            first, second = _text(left), _text(right)
            return None if first is None or second is None else first + second
    return None
