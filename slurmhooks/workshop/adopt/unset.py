# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of a request that are NO_VAL if they are not given: which comparisons tell, and what is wrong without one."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from slurmhooks.workshop.adopt import lua_names
from slurmhooks.workshop.adopt.definitions import static_key
from slurmhooks.workshop.adopt.tree import (
    Assign,
    Binary,
    Call,
    Do,
    Expr,
    If,
    Index,
    Jump,
    Name,
    Return,
    expressions,
    inside,
    name_of,
    statements,
)
from slurmhooks.workshop.adopt.values import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.workshop.adopt.values import Value

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "~=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ORDER = {"<", "<=", ">", ">="}
USUAL = 1.0
"""A number that a user gives."""
OPTION_OF = {
    "time_limit": "--time", "min_nodes": "--nodes", "max_nodes": "--nodes", "num_tasks": "--ntasks",
    "cpus_per_task": "--cpus-per-task", "pn_min_memory": "--mem", "ntasks_per_node": "--ntasks-per-node",
    "priority": "--priority",
}  # fmt: skip


class Unset:
    """How a script uses numbers that are NO_VAL if they are not given, wherever it does.

    Attributes:
        scope: the lines of which a comparison says something; None: perhaps of all.
    """

    def __init__(self) -> None:
        self.scope: range | None = None
        self._checked: dict[str, list[range | None]] = {}
        self._nil: dict[str, int] = {}
        self._used: dict[tuple[str, int], tuple[str, str]] = {}

    def compared(self, expression: Binary, first: Value, second: Value) -> None:
        """Note a comparison."""
        sign = expression.operator
        for value, other, is_left in ((first, second, True), (second, first, False)):
            for field in value.unset:
                if _tells(sign, field, other, is_left=is_left):
                    self._checked.setdefault(field, []).append(self.scope)
                elif other.kind == "nil":
                    self._nil.setdefault(field, expression.line)
                elif sign in ORDER:
                    is_true = _result(sign, field, other, is_left=is_left)
                    effect = f"the comparison is {'true' if is_true else 'false'}"
                    self._used.setdefault((field, expression.line), (f"compared with '{sign}'", effect))

    def calculated(self, expression: Binary, *values: Value) -> None:
        """Note a calculation."""
        for field in (field for value in values for field in value.unset):
            how = f"calculated with ('{expression.operator}')"
            self._used.setdefault((field, expression.line), (how, "the result is huge"))

    def condition(self, expression: Expr, value: Value) -> None:
        """Note a value that is used as a condition, as if it could be nil."""
        if isinstance(expression, (Name, Index)):
            for field in value.unset:
                self._nil.setdefault(field, expression.line)

    def remarks(self) -> Iterator[Remark]:
        """Yield a remark for each number that is used, or only compared with nil, and not there with NO_VAL."""
        for field, line in self._nil.items():
            if field not in self._checked:
                yield Remark(
                    line, "unset", "warning", f"checks job_desc.{field} for nil, and nowhere for NO_VAL",
                    "it is never nil, so the check has no effect: if it is not given it is"
                    f" {lua_names.number_of_unset(field)}",
                    f"job_desc.{field} == {lua_names.unset_name(field)}",
                )  # fmt: skip
        for (field, line), (how, effect) in self._used.items():
            scopes = self._checked.get(field, [])
            if all(scope is not None and line not in scope for scope in scopes) and self._nil.get(field) != line:
                when = f"without {OPTION_OF[field]}" if field in OPTION_OF else "if it is not given"
                where = "only elsewhere" if scopes else "nowhere"
                yield Remark(
                    line, "unset", "note" if scopes else "warning",
                    f"job_desc.{field} is {how}, and {where} compared with NO_VAL",
                    f"{when} it is {lua_names.number_of_unset(field)}, and {effect}",
                    f"job_desc.{field} ~= {lua_names.unset_name(field)} and ...",
                )  # fmt: skip


def scope_of(statement: If) -> range | None:
    """Return the lines of which the conditions of a statement say something: its own.

    None if they may say it of others: a branch ends the function or loop, or sets what is compared.
    """
    compared = {static_key(part) for condition, _ in statement.branches for part in inside(condition)} - {""}
    lines = [statement.line]
    for each in statements([statement]):
        match each:
            case Return() | Jump():
                return None
            case Do(call=Call(function=function)) if name_of(function) == "error":
                return None
            case Assign(targets=targets) if not compared.isdisjoint(map(static_key, targets)):
                return None
        lines += [part.line for expression in expressions(each) for part in inside(expression)]
    return range(statement.line, max(lines) + 1)


def _number(value: Value) -> float | None:
    """Return a constant number, also one of Slurm's."""
    if isinstance(value.constant, str):
        return lua_names.NUMBERS_UNSET.get(value.constant.removeprefix("slurm."))
    return value.constant if isinstance(value.constant, float) else None


def _result(sign: str, field: str, other: Value, *, is_left: bool) -> bool:
    """Return the result of a comparison of a number that is not given, by default with a usual number."""
    unset, number = float(lua_names.number_of_unset(field)), _number(other)
    number = USUAL if number is None else number
    return COMPARISONS[sign](unset, number) if is_left else COMPARISONS[sign](number, unset)


def _tells(sign: str, field: str, other: Value, *, is_left: bool) -> bool:
    """Tell whether a comparison with a number of Slurm, or as large as these, tells NO_VAL from usual numbers."""
    number = _number(other)
    if number is None or number < lua_names.NUMBERS_UNSET["NO_VAL16"]:
        return False
    compare = COMPARISONS[sign]
    usual = compare(USUAL, number) if is_left else compare(number, USUAL)
    return _result(sign, field, other, is_left=is_left) != usual
