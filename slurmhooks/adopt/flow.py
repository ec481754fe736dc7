# SPDX-License-Identifier: GPL-2.0-or-later
"""Follows the values of a script from the arguments of the functions that Slurm calls.

The functions of the script are gone through several times, until what is known of their parameters and results no
longer changes. What is reported is what the last pass finds, so that a check in one function counts in another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.adopt import conditions, library, members, names
from slurmhooks.adopt.definitions import Definitions, static_key
from slurmhooks.adopt.expressions import evaluate
from slurmhooks.adopt.tree import (
    Assign,
    Binary,
    Call,
    Constant,
    Do,
    Expr,
    Function,
    If,
    Index,
    Jump,
    Local,
    Loop,
    Name,
    Return,
    Stmt,
    Vararg,
    name_of,
)
from slurmhooks.adopt.values import ANY, NIL, Exit, Remark, Running, Settings, State, Summary, Value
from slurmhooks.adopt.variables import assigned_in, outlives, root_of
from slurmhooks.lua.source import ENTRIES, Use

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.adopt.tree import Tree

PASSES = 6
"""Enough for values that are handed on through as many functions; scripts have two or three."""
NOTED = (
    *("remarks", "uses", "_sites", "_callers", "early_reads", "undefined", "nil_checks", "unset_checks", "kept"),
)  # fmt: skip
"""Attributes of a flow that say what the script does, and that only an evaluation in its place changes."""


class Flow:
    """The values of a script.

    Attributes:
        remarks: what the last pass found.
        uses: what the script uses.
        settings: see slurmhooks.adopt.script.
        reachable: functions that run in a call of Slurm, not only while the script is loaded.
        global_writes: lines on which functions assign global variables, by name, with whether Slurm's calls do.
        early_reads: global variables that a call reads before it has assigned them, with the line.
        ended: functions that never return.
        mixed: parameters that stand for several values that may be nil, so that a check of one says nothing of these.
    """

    def __init__(self, tree: Tree, settings: Settings) -> None:
        """Follow a script."""
        self.settings = settings
        self._tree = tree
        self.script = script = Definitions(tree)
        self.family, self.entries = script.family, script.entries
        self._values_anywhere: dict[str, Value] = {}
        self._texts: dict[str, str] = {}
        self._summaries: dict[Function, Summary] = {}
        self._sites: dict[Function, tuple[list[Value], State]] = {}
        self._callers: dict[Function, set[Function]] = {}
        self.mixed: set[str] = set()
        self._ways: dict[Function, bool] = {}
        self.ended: set[Function] = set()
        for _ in range(PASSES):
            self._pass()

    def summary(self, function: Function) -> Summary:
        """Return what a call of a function of the script does."""
        return self._summaries.get(function, Summary())

    def remark(self, remark: Remark) -> None:
        """Report something."""
        self.remarks.add(remark)

    def shown(self, key: str) -> str:
        """Return a key as a script would write it."""
        start, dot, name = key.partition(".")
        if start == "environment":
            return f'job_desc.environment["{name}"]'
        return f'options["{name}"]' if start == "options" and dot else key

    def start_of(self, expression: Expr) -> str:
        """Return the constant text with which a text begins, such as a command."""
        match expression:
            case Constant(value=str(text)):
                return text
            case Binary(operator="..", left=left):
                return self.start_of(left)
            case Call(function=called, arguments=[first, *_], method=None) if name_of(called) == "string.format":
                return self.start_of(first)
            case Name():
                constant = self._values_anywhere.get(static_key(expression), ANY).constant
                return constant if isinstance(constant, str) else self._texts.get(static_key(expression), "")
        return ""

    # One pass over all functions.

    def _pass(self) -> None:
        self.remarks: set[Remark] = set()
        self.undefined: dict[str, int] = {}
        self.keeps_request = 0
        self.nil_checks: dict[str, int] = {}
        self.unset_checks: set[str] = set()
        self.tested: set[str] = set()
        self.uses: dict[Use, None] = {}
        self.global_writes: dict[str, dict[int, bool]] = {}
        self.early_reads: dict[str, int] = {}
        self.returned: list[tuple[str, int, Value | None]] = []
        self.kept: dict[str, int] = {}
        sites, self._sites = self._sites, {}
        self.reachable = self._reached(sites, [*self.entries.values(), *self.script.callbacks])
        only = [function for name, function in self.entries.items() if name == "slurm_job_modify"]
        others = [function for function in self.entries.values() if function not in only]
        self._of_modify = self._reached(sites, only) - self._reached(sites, others)
        self._callers, self._ways = {}, {}
        self.loading = True
        self.in_call = False
        self.in_modify = False
        self._run(self._tree.main, [], State())
        self.loading = False
        for name, function in self.entries.items():
            roles = ENTRIES[name]
            values = [members.argument(role) for role in roles[: len(function.parameters)]]
            self.site(function, values, State())
        for function in self.script.callbacks:
            self.site(function, [ANY, Value(kind="text", users="the option's argument")], State())
        for function in self.script.functions:
            if function is self._tree.main:
                continue
            values, state = sites.get(function, ([], State()))
            self.in_call = function in self.reachable
            self.in_modify = function in self._of_modify
            self._run(function, values, state.copy())
        self.ended = {function for function, ways in self._ways.items() if not ways and function.body}

    def _reached(self, sites: Iterable[Function], starts: Iterable[Function]) -> set[Function]:
        """Return functions and those that they call, also by way of others."""
        reached = set(starts)
        functions = set(sites)
        waiting = list(reached)
        while waiting:
            caller = waiting.pop()
            for function in functions - reached:
                if caller in self._callers.get(function, ()):
                    reached.add(function)
                    waiting.append(function)
        return reached

    def _run(self, function: Function, values: list[Value], state: State) -> None:
        self.running = Running(function, frozenset(state.checked))
        for index, parameter in enumerate(function.parameters):
            state.values[str(parameter.number)] = values[index] if index < len(values) else ANY
        self.block(function.body, state)
        if not state.dead:
            self._leave(state, NIL, None)
            if function.name in self.entries and self.entries[function.name] is function:
                self.returned.append((function.name, function.end, None))
        running = self.running
        self._ways[function] = bool(running.exits)
        result = running.results[0] if running.results else ANY
        for other in running.results[1:]:
            result = result.joined(other)
        assigned = frozenset.intersection(*(frozenset(names) for _, names in running.exits)) if running.exits else ()
        self._summaries[function] = Summary(
            replace(result, exits=()),
            tuple(dict.fromkeys(exit_ for exit_, _ in running.exits)),
            frozenset(running.writes),
            frozenset(assigned),
        )

    def _leave(self, state: State, result: Value, expression: Expr | None) -> None:
        inside = replace(state, checked=state.checked - self.running.checked)
        if expression is not None and members.is_checked(self, expression, result, inside):
            result = replace(result, unset="")
        self.running.results.append(result)
        shown = "nil" if expression is None else conditions.constant_text(expression, result)
        if result.exits and not shown:
            self.running.exits += [
                (Exit(way.result, frozenset(state.known | way.known)), set(state.assigned)) for way in result.exits
            ]
        elif not shown and expression is not None and conditions.is_condition(expression):
            for truth, name in ((True, "true"), (False, "false")):
                then = state.copy()
                conditions.assume(self, expression, truth, then)
                if not then.dead:
                    self.running.exits.append((Exit(name, frozenset(then.known)), set(state.assigned)))
        else:
            self.running.exits.append((Exit(shown, frozenset(state.known)), set(state.assigned)))

    def site(self, function: Function, values: list[Value], state: State) -> None:
        """Note a call of a function of the script."""
        shared = State(
            known={key for key in state.known if not key.split(".")[0].isdecimal()},
            checked=set(state.checked),
            clean={key for key in state.clean if not key.split(".")[0].isdecimal()},
            assigned=set(state.assigned),
        )
        values = [replace(value, exits=()) for value in values]
        self._callers.setdefault(function, set()).add(self.running.function)
        if function not in self._sites:
            self._sites[function] = values, shared
            return
        old, before = self._sites[function]
        for parameter, one, other in zip(function.parameters, old, values, strict=False):
            if one.nil != other.nil:
                self.mixed.add(str(parameter.number))
        joined = [one.joined(other) for one, other in zip(old, values, strict=False)]
        longer = old if len(old) > len(values) else values
        self._sites[function] = joined + longer[len(joined) :], before.joined(shared)

    # Statements.

    def block(self, body: list[Stmt], state: State) -> None:
        """Follow statements; the state becomes that behind them."""
        for statement in body:
            if state.dead:
                return
            self._statement(statement, state)

    def _statement(self, statement: Stmt, state: State) -> None:
        match statement:
            case Local(variables=variables, values=values):
                results = self._several(values, len(variables), state)
                for variable, value in zip(variables, results, strict=True):
                    self._set(str(variable.number), value, state)
                for variable, expression in zip(variables, values, strict=False):
                    self._texts[str(variable.number)] = self.start_of(expression)
            case Assign(targets=targets, values=values):
                results = self._several(values, len(targets), state)
                for target, value in zip(targets, results, strict=True):
                    self._assign(target, value, state)
            case Do(call=call, body=body):
                if call is not None:
                    self.value(call, state)
                    if library.never_returns(self, call, state):
                        state.dead = True
                self.block(body, state)
            case If():
                self._if(statement, state)
            case Loop():
                self._loop(statement, state)
            case Return(values=values):
                results = [self.value(value, state) for value in values]
                name = self.running.function.name
                if name in self.entries and self.entries[name] is self.running.function:
                    self.returned.append((name, statement.line, results[0] if results else None))
                self._leave(state, results[0] if results else NIL, values[0] if values else None)
                state.dead = True
            case Jump():
                state.dead = True

    def _several(self, values: list[Expr], count: int, state: State) -> list[Value]:
        results = [self.value(value, state) for value in values]
        open_end = bool(values) and isinstance(values[-1], (Call, Vararg))
        missing = ANY if open_end else NIL
        return (results + [missing] * count)[:count]

    def _set(self, key: str, value: Value, state: State) -> None:
        state.forget(key)
        state.values[key] = value
        if not value.unset:
            state.known.add(f"{key}{conditions.GIVEN}")
        if value.kind != "nil" and not value.nil:
            state.known.add(key)
        old = self._values_anywhere.get(key)
        plain = replace(value, exits=())
        self._values_anywhere[key] = plain if old is None or old.kind == "nil" else old.joined(plain)

    def _assign(self, target: Expr, value: Value, state: State) -> None:
        if value.role == "job_desc" and not self.keeps_request and outlives(target, state):
            self.keeps_request = target.line
        if isinstance(target, Name):
            if target.variable is None and self.running.function is not self._tree.main:
                self.global_writes.setdefault(target.name, {})[target.line] = self.in_call
                state.assigned.add(target.name)
            self._set(static_key(target), value, state)
            return
        assert isinstance(target, Index)
        of = self.value(target.of, state, index=True)
        self.need(target.of, of, state, "indexed")
        self.value(target.key, state)
        members.written(self, target, of, value)
        key = self.key(target, state)
        if self.in_call and not self.loading and not members.is_of_request(key or f"{of.role}."):
            self._note_kept(target, state)
        if not key:
            return
        self._set(key, value, state)
        if members.is_of_request(key):
            self.running.writes.add(key)

    def _note_kept(self, target: Index, state: State) -> None:
        """Note that a call changes a table that outlives it."""
        root = root_of(target)
        if root is not None and outlives(root, state) and self.running.function is not self._tree.main:
            self.kept.setdefault(root.name, target.line)

    def _if(self, statement: If, state: State) -> None:
        outcomes: list[State] = []
        for condition, block in statement.branches:
            conditions.note_truth(self, condition, self.value(condition, state))
            taken = state.copy()
            conditions.assume(self, condition, True, taken)
            self.block(block, taken)
            outcomes.append(taken)
            conditions.assume(self, condition, False, state)
        self.block(statement.otherwise, state)
        for outcome in outcomes:
            state.become(state.joined(outcome))

    def _loop(self, loop: Loop, state: State) -> None:
        before = [self.value(value, state) for value in loop.values] if loop.kind != "repeat" else []
        for changed in assigned_in(loop.body):
            old = state.values.get(changed, ANY)
            nil = "" if changed in state.known else old.nil
            state.forget(changed)
            state.values[changed] = Value(nil=nil, users=old.users, unset=old.unset)
        inner = state.copy()
        if loop.kind == "while":
            conditions.assume(self, loop.values[0], True, inner)
        elif loop.kind == "numbers":
            inner.values[str(loop.variables[0].number)] = Value(kind="number")
        elif loop.kind == "each":
            results = library.elements(self, loop, before, inner)
            for variable, value in zip(loop.variables, (results + [ANY] * len(loop.variables)), strict=False):
                inner.values[str(variable.number)] = value
        self.block(loop.body, inner)
        if loop.kind == "repeat":
            self.value(loop.values[0], inner)
            state.become(inner)
            state.dead = False
            return
        if inner.dead:
            inner = state.copy()
        state.become(state.joined(inner))

    # Expressions.

    def value(self, expression: Expr, state: State, *, index: bool = False) -> Value:
        """Return what is known of an expression; see slurmhooks.adopt.expressions."""
        return evaluate(self, expression, state, index=index)

    def anywhere(self, key: str) -> Value:
        """Return what is known of a variable of another function."""
        return self._values_anywhere.get(key, ANY)

    def key(self, expression: Expr, state: State) -> str:
        """Return the key of an expression; empty if it has none."""
        if isinstance(expression, Name):
            return static_key(expression)
        if isinstance(expression, Index) and isinstance(expression.key, Constant):
            if not isinstance(expression.key.value, str):
                return ""
            role = self.peek(expression.of, state).role
            start = role if members.is_of_request(f"{role}.") else self.key(expression.of, state)
            member = expression.key.value
            return f"{start}.{names.same_as(member) if role == 'job_desc' else member}" if start else ""
        if isinstance(expression, Index):
            return members.row_key(self.peek(expression.of, state).role, self.key(expression.key, state))
        return ""

    def peek(self, expression: Expr, state: State) -> Value:
        """Return the value of an expression without reporting anything."""
        noted = {name: getattr(self, name) for name in NOTED}
        for name, old in noted.items():
            setattr(self, name, type(old)())
        try:
            return self.value(expression, state.copy())
        finally:
            for name, old in noted.items():
                setattr(self, name, old)

    def need(self, expression: Expr, value: Value, state: State, how: str) -> None:
        """Report a value that may be nil where nil is an error."""
        if not value.nil or self.is_known(expression, value, state):
            return
        members.may_be_nil(self, expression, value, how)
        key = self.key(expression, state)
        state.known |= {each for each in (key, value.nil) if members.is_of_request(each) or each == key} - {""}

    def is_known(self, expression: Expr, value: Value, state: State) -> bool:
        """Tell whether an expression is known not to be nil."""
        return not {self.key(expression, state), value.nil, ""}.isdisjoint(state.known)
