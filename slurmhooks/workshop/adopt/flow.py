# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows the values of a script from the arguments of the functions that Slurm calls.

What is known of a variable holds wherever the variable is used: the order of statements and the conditions around them
do not count. All functions are gone through a few times, until nothing new is known; what is reported is what the last
pass finds. So the work grows with the length of a script only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.lua.source import ENTRIES
from slurmhooks.workshop.adopt import library, members
from slurmhooks.workshop.adopt.definitions import Definitions, static_key
from slurmhooks.workshop.adopt.tree import (
    Assign,
    Binary,
    Call,
    Constant,
    Do,
    Expr,
    Function,
    If,
    Index,
    Local,
    Loop,
    Name,
    Return,
    Table,
    Unary,
    Vararg,
    inside,
    statements,
)
from slurmhooks.workshop.adopt.unset import COMPARISONS, Unset, scope_of
from slurmhooks.workshop.adopt.values import ANY, FOR_QUOTES, NIL, Remark, Settings, Use, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.workshop.adopt.context import Arguments
    from slurmhooks.workshop.adopt.tree import Stmt, Tree

PASSES = 6
"""Enough for values that are handed on through as many functions; scripts have two or three."""
ENVIRONMENT = "job_desc.environment"
ARITHMETIC = {"+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>"}


class Flow:
    """The values of a script.

    Attributes:
        settings: for which Slurm and Lua.
        script: what the script defines.
        family: what it is for.
        entries: the functions that Slurm calls, by name.
        remarks: what the last pass found.
        uses: what the script uses.
        unset: what it does with numbers that may be NO_VAL.
        clean: keys of texts that the script has checked, so that they cannot contain what a shell understands.
        returned: the results of the functions that Slurm calls, with the name and the line; None for no result.
        kept: variables that outlive a call and are changed by it, with the line.
        keeps_request: line on which job_desc is kept in a variable that outlives the call; 0 if it is not.
        in_call: the function that is being read runs in a call of Slurm, not only while the script is loaded.
    """

    def __init__(self, tree: Tree, settings: Settings) -> None:
        self.settings = settings
        self.script = script = Definitions(tree)
        self.family, self.entries = script.family, script.entries
        self.clean: set[str] = set()
        self._listed = Function(line=0, name="")  # stands for all functions in tables
        self._known: dict[str, Value] = {}
        self._results: dict[Function, Value] = {}
        self._to_listed: dict[int, Value] = {}
        self._reached: set[Function] = set()
        for name, function in self.entries.items():
            self._pass_on(function, [members.argument(role) for role in ENTRIES[name]])
        for function in script.callbacks:
            self._pass_on(function, [ANY, Value(kind="text", users="the option's argument")])
        for _ in range(PASSES):
            if not self._pass():
                break

    def _pass(self) -> bool:
        """Go through all functions; tell whether something new is known."""
        before = len(self.clean), len(self._reached)
        self._is_new = False
        self.remarks: set[Remark] = set()
        self.uses: dict[Use, None] = {}
        self.unset = Unset()
        self.returned: list[tuple[str, int, Value | None]] = []
        self.kept: dict[str, int] = {}
        self.keeps_request = 0
        self._calls: dict[Function, set[Function]] = {self._listed: set(self.script.listed)}
        for function in self.script.functions:
            self._function = function
            self.in_call = function in self._reached
            self._block(function.body)
        for function in self.script.listed:
            self._pass_on(function, [self._to_listed.get(index, ANY) for index in range(len(function.parameters))])
        self._reached = self.reachable([*self.entries.values(), *self.script.callbacks])
        return self._is_new or before != (len(self.clean), len(self._reached))

    def reachable(self, starts: Iterable[Function]) -> set[Function]:
        """Return functions and those that they call, also by way of others."""
        found: set[Function] = set()
        waiting = list(starts)
        while waiting:
            function = waiting.pop()
            if function not in found:
                found.add(function)
                waiting.extend(self._calls.get(function, ()))
        return found

    # What is known.

    def remark(self, remark: Remark) -> None:
        """Report something."""
        self.remarks.add(remark)

    def key(self, expression: Expr) -> str:
        """Return the key of a variable or member; empty if it has none."""
        if isinstance(expression, Index) and isinstance(expression.key, Constant):
            start = self._of_request(expression.of)
            if start:
                return f"{start}.{expression.key.value}"
        return static_key(expression)

    def _of_request(self, expression: Expr) -> str:
        """Return what keys of members of the request begin with; empty for other tables."""
        if isinstance(expression, Name):
            role = self._known.get(static_key(expression), ANY).role
            return {"environment": ENVIRONMENT, "job_desc": role, "options": role}.get(role, "")
        return ENVIRONMENT if self.key(expression) == ENVIRONMENT else ""

    def learn(self, key: str, value: Value) -> None:
        """Note that a variable or member may have a value."""
        old = self._known.get(key)
        new = value if old is None else old.joined(value)
        if new != old:
            self._known[key] = new
            self._is_new = True

    def called(self, function: Function, values: Sequence[Value]) -> Value:
        """Note a call of a function of the script; return its result."""
        self._runs(function)
        self._pass_on(function, values)
        return self._results.get(function, ANY)

    def called_unknown(self, arguments: Arguments) -> None:
        """Note a call of something that is not known: an element of a table, or a function of a module."""
        for _, value in arguments:
            if value.function is not None:
                self._runs(value.function)
        if any(value.role and not value.role.startswith("lib:") for _, value in arguments):
            self._runs(self._listed)
            for index, (_, value) in enumerate(arguments):
                self._to_listed[index] = self._to_listed.get(index, ANY).joined(value)

    def _runs(self, function: Function) -> None:
        self._calls.setdefault(self._function, set()).add(function)

    def _pass_on(self, function: Function, values: Sequence[Value]) -> None:
        for parameter, value in zip(function.parameters, values, strict=False):
            self.learn(str(parameter.number), value)

    # Statements.

    def _block(self, body: list[Stmt]) -> None:
        for statement in statements(body):
            match statement:
                case Local(variables=variables, values=values):
                    for variable, value in zip(variables, self._several(values, len(variables)), strict=True):
                        self.learn(str(variable.number), value)
                case Assign(targets=targets, values=values):
                    for index, (target, value) in enumerate(
                        zip(targets, self._several(values, len(targets)), strict=True)
                    ):
                        self._assign(target, value, values[index] if index < len(values) else None)
                case Do(call=call) if call is not None:
                    self.value(call)
                case If(branches=branches):
                    self.unset.scope = scope_of(statement)
                    for condition, _ in branches:
                        self.unset.condition(condition, self.value(condition))
                    self.unset.scope = None
                case Loop():
                    results = [self.value(value) for value in statement.values]
                    for variable, value in zip(
                        statement.variables, library.elements(self, statement, results), strict=False
                    ):
                        self.learn(str(variable.number), value)
                case Return(values=values):
                    self._return([self.value(value) for value in values], statement.line)

    def _return(self, results: list[Value], line: int) -> None:
        function = self._function
        if self.entries.get(function.name) is function:
            self.returned.append((function.name, line, results[0] if results else None))
        result = results[0] if results else NIL
        old = self._results.get(function)
        new = result if old is None else old.joined(result)
        if new != old:
            self._results[function] = new
            self._is_new = True

    def _several(self, values: list[Expr], count: int) -> list[Value]:
        results = [self.value(value) for value in values]
        open_end = bool(values) and isinstance(values[-1], (Call, Vararg))
        return (results + [ANY if open_end else NIL] * count)[:count]

    def _assign(self, target: Expr, value: Value, source: Expr | None) -> None:
        if value.role == "job_desc" and not self.keeps_request and self._outlives(target):
            self.keeps_request = target.line
        if isinstance(target, Index):
            of = self.value(target.of, index=True)
            self.value(target.key)
            members.written(self, target, of)
            if of.role in ("job_desc", "environment", "options"):
                return
            self._note_kept(target)
        elif isinstance(target, Name) and source is not None:
            key = static_key(target)
            if any(static_key(part) == key for part in inside(source)):  # as in ``count = count + 1``
                self._note_kept(target)
        if key := static_key(target):
            self.learn(key, value)

    def _outlives(self, target: Expr) -> bool:
        """Tell whether what is assigned to a target outlives the call."""
        root = root_of(target)
        if root is None:
            return False
        if root.variable is None:
            return isinstance(target, Name) or root.name in self.script.top or not self.script.assigns(f"G.{root.name}")
        return root.variable.function is None

    def _note_kept(self, target: Expr) -> None:
        """Note that a call changes a variable or table that outlives it."""
        root = root_of(target)
        if self.in_call and root is not None and self._outlives(target):
            self.kept.setdefault(root.name, target.line)

    # Expressions.

    def value(self, expression: Expr, *, index: bool = False) -> Value:
        """Return what is known of an expression; with ``index``, a whole table is not used as a value."""
        match expression:
            case Constant(value=constant):
                return members.constant(constant)
            case Name():
                return self._name(expression, index)
            case Index():
                return self._index(expression)
            case Call():
                return library.call(self, expression)
            case Function():
                self._runs(expression)
                return Value(kind="function", function=expression)
            case Unary(operator=operator, operand=operand):
                value = self.value(operand)
                if operator == "not":
                    self.unset.condition(operand, value)
                if operator == "-" and isinstance(value.constant, float):
                    return Value(kind="number", constant=-value.constant)
                return Value(kind="boolean" if operator == "not" else "number")
            case Table(items=items):
                parts = [self.value(item) for _, item in items]
                for key, _ in items:
                    if key is not None:
                        self.value(key)
                return Value(kind="table", users=next((part.users for part in parts if part.users), ""))
            case Binary():
                return self._binary(expression)
        return ANY

    def _name(self, expression: Name, index: bool) -> Value:
        key = static_key(expression)
        value = self._known.get(key)
        if key in self.script.defined:
            value = Value(kind="function", function=self.script.defined[key])
        if value is None:
            value = members.global_value(self, expression) or ANY
        if value.role and not index:
            self.uses[Use("whole", value.role, expression.line)] = None
        return self._cleaned(key, value)

    def _index(self, expression: Index) -> Value:
        of = self.value(expression.of, index=True)
        at = self.value(expression.key)
        key = static_key(expression)
        if key in self.script.defined:
            return Value(kind="function", function=self.script.defined[key])
        value = members.read(self, expression, of, at)
        if value is None:
            value = self._known.get(key, ANY)
        return self._cleaned(self.key(expression), value)

    def _cleaned(self, key: str, value: Value) -> Value:
        return replace(value, users="") if value.users and key in self.clean else value

    def _binary(self, expression: Binary) -> Value:
        sign = expression.operator
        first, second = self.value(expression.left), self.value(expression.right)
        if sign in ("and", "or"):
            self.unset.condition(expression.left, first)
            if sign == "or" and first.kind != "nil":
                return first.joined(second)
            return replace(second, kind="", constant=None)
        if sign == "..":
            users = _users(expression.left, first.users, second.users)
            return Value(kind="text", users=users, start=first.start)
        if sign in ARITHMETIC:
            self.unset.calculated(expression, first, second)
            return Value(kind="number")
        if sign in COMPARISONS:
            self.unset.compared(expression, first, second)
        return Value(kind="boolean")


def root_of(target: Expr) -> Name | None:
    """Return the variable at the start of ``variable.key.key``; None if another expression is there."""
    while isinstance(target, Index):
        target = target.of
    return target if isinstance(target, Name) else None


def _users(left: Expr, *users: str) -> str:
    """Return which text of a user is in two concatenated texts, the first of which may open quotes."""
    opens = isinstance(left, Constant) and str(left.value).endswith("'")
    bare = [text for text in users if text and not text.startswith(FOR_QUOTES)]
    return next(iter(bare or [text for text in users if text and not opens]), "")
