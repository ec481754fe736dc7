# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds if a condition is true, or false: which values are not nil, and which texts are harmless."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from slurmhooks.adopt import names
from slurmhooks.adopt.tree import Binary, Call, Constant, Expr, Index, Name, Unary, inside, name_of
from slurmhooks.adopt.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slurmhooks.adopt.context import Following
    from slurmhooks.adopt.values import Exit, State

Facts = tuple[set[str], set[str]]
"""Keys of values that are not nil, and keys of texts that are harmless in a command."""

SOME = "*"
"""The result of an exit that is neither nil nor false."""
RESULTS = {"slurm.SUCCESS": "0", "slurm.ERROR": "-1", "slurm.FAILURE": "-1"}
OPPOSITE = {"==": "~=", "~=": "=="}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "~=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
USUAL = 1.0
"""A number that a user gives."""
SEARCHES = {"find", "match"}
GIVEN = ".(given)"
"""Behind the key of a number: it is not NO_VAL. Like a member, it is forgotten with the number."""


def assume(flow: Following, condition: Expr, truth: bool, state: State) -> None:
    """Add to a state what holds if a condition is true, or false."""
    if _is_impossible(flow, condition, truth, state):
        state.dead = True
        return
    facts, clean = _facts(flow, condition, truth, state)
    for key in list(facts):
        value = state.values.get(key)
        if value is not None and value.nil and key not in flow.mixed:
            facts.add(value.nil)
    state.known |= facts
    state.clean |= clean


def _is_impossible(flow: Following, condition: Expr, truth: bool, state: State) -> bool:
    """Tell whether a condition would need a number of Slurm to be nil."""
    if not isinstance(condition, Binary) or condition.operator not in OPPOSITE:
        return False
    first, second = flow.peek(condition.left, state), flow.peek(condition.right, state)
    kinds = {first.kind, second.kind}
    return kinds == {"nil", "number"} and not (first.nil or second.nil) and (condition.operator == "==") == truth


def note_checks(flow: Following, comparison: Binary, values: tuple[Value, Value], state: State) -> None:
    """Note that a number has been compared with NO_VAL or INFINITE."""
    pairs = ((comparison.left, values[0], values[1]), (comparison.right, values[1], values[0]))
    for part, value, other in pairs:
        if isinstance(part, Name) and other.kind == "nil":
            flow.tested.add(part.name)
        if tells_unset(comparison.operator, value, other, is_left=part is comparison.left):
            state.checked |= {key for key in (value.unset, flow.key(part, state)) if key}
            flow.unset_checks.add(value.unset)
        elif other.kind == "nil" and value.unset and comparison.operator in OPPOSITE:
            flow.nil_checks.setdefault(value.unset, part.line)


def note_parts(flow: Following, condition: Binary, state: State) -> set[str]:
    """Note all comparisons with NO_VAL in a condition: they count also where they stand behind the number's use.

    Returns:
        what is known in this condition.
    """
    given: set[str] = set()
    for part in inside(condition):
        if isinstance(part, Binary) and part.operator in COMPARISONS:
            values = flow.peek(part.left, state), flow.peek(part.right, state)
            if any(map(is_unset, values)):
                note_checks(flow, part, values, state)
                given |= {f"{key}{GIVEN}" for value in values for key in (value.unset,) if key}
    return given


def note_truth(flow: Following, condition: Expr, value: Value) -> None:
    """Note that a number is used as a condition, as if it could be nil."""
    if isinstance(condition, Name):
        flow.tested.add(condition.name)
    if value.unset and isinstance(condition, (Name, Index)):
        flow.nil_checks.setdefault(value.unset, condition.line)


def is_unset(value: Value) -> bool:
    """Tell whether a value is one of Slurm's numbers for unset or unlimited."""
    if isinstance(value.constant, float):
        return value.constant in names.UNSET or value.constant >= 65534
    return isinstance(value.constant, str) and value.constant.removeprefix("slurm.") in names.NUMBERS_UNSET


def with_unset(sign: str, value: Value, other: Value, *, is_left: bool, number: float | None = None) -> bool:
    """Return the result of a comparison of a number, by default of the unset one, with one of Slurm's numbers."""
    if number is None:
        number = float(names.number_of_unset(value.unset.removeprefix("job_desc.")))
    text = other.constant if isinstance(other.constant, str) else ""
    constant = names.NUMBERS_UNSET[text.removeprefix("slurm.")] if text else float(str(other.constant))
    return COMPARISONS[sign](number, constant) if is_left else COMPARISONS[sign](constant, number)


def tells_unset(sign: str, value: Value, other: Value, *, is_left: bool) -> bool:
    """Tell whether a comparison tells an unset number from others."""
    if not is_unset(other) or not value.unset:
        return is_unset(other)
    results = (with_unset(sign, value, other, is_left=is_left, number=number) for number in (None, USUAL))
    return len(set(results)) == 2


def is_condition(expression: Expr) -> bool:
    """Tell whether a result is true or false by what it says of other values."""
    match expression:
        case Binary(operator=operator):
            return operator in ("and", "or", *OPPOSITE)
        case Unary(operator="not"):
            return True
    return False


def constant_text(expression: Expr, value: Value) -> str:
    """Return a result as an exit has it; empty if it is not known."""
    match expression:
        case Constant(value=None):
            return "nil"
        case Constant(value=bool(truth)):
            return "true" if truth else "false"
        case Constant(value=float(number)):
            return f"{number:g}"
        case Constant(value=str(text)):
            return f"'{text}'"
        case Unary(operator="-", operand=Constant(value=float(number))):
            return f"-{number:g}"
    if isinstance(value.constant, str) and value.constant.startswith("slurm."):
        return RESULTS.get(value.constant, value.constant)
    return SOME if value.kind in ("text", "number", "table", "function") and not value.nil else ""


def _facts(flow: Following, condition: Expr, truth: bool, state: State) -> Facts:
    match condition:
        case Unary(operator="not", operand=operand):
            return _facts(flow, operand, not truth, state)
        case Binary(operator="and" | "or" as operator, left=left, right=right):
            first = _facts(flow, left, truth, state)
            then = state.copy()
            assume(flow, left, operator == "and", then)
            second = _facts(flow, right, truth, then)
            if (operator == "and") == truth:
                return first[0] | second[0], first[1] | second[1]
            # Either the left side alone decides, or the right side does after the left one did not.
            other = _facts(flow, left, not truth, state)
            return first[0] & (second[0] | other[0]), first[1] & (second[1] | other[1])
        case Binary(operator="==" | "~=" as operator, left=left, right=right):
            facts, clean = _equal(flow, left, right, (operator == "==") == truth, state)
            return facts | _given(flow, condition, truth, state), clean
        case Binary(operator="<" | "<=" | ">" | ">="):
            return _given(flow, condition, truth, state), set()
        case Name() | Index():
            facts, clean = _of_exits(flow.peek(condition, state).exits, truth)
            key = flow.key(condition, state)
            if truth and key:
                facts.add(key)
            if truth and isinstance(condition, Index) and not isinstance(condition.key, Constant):
                # ``if allowed[name]``: the name is not nil, and one of those that the script lists.
                # As in ``allowed[name or ""]``.
                named = condition.key
                if isinstance(named, Binary) and named.operator == "or":
                    named = named.left
                inner = flow.key(named, state)
                if inner:
                    facts.add(inner)
                    clean.add(inner)
            return facts, clean
        case Call():
            return _call(flow, condition, truth, state)
    return set(), set()


def _given(flow: Following, comparison: Binary, truth: bool, state: State) -> set[str]:
    """Return which numbers are not NO_VAL if a comparison is true, or false."""
    values = flow.peek(comparison.left, state), flow.peek(comparison.right, state)
    facts: set[str] = set()
    for value, other, is_left in ((values[0], values[1], True), (values[1], values[0], False)):
        sign = comparison.operator
        if not value.unset or not is_unset(other) or not tells_unset(sign, value, other, is_left=is_left):
            continue
        if with_unset(sign, value, other, is_left=is_left) != truth:
            facts.add(f"{value.unset}{GIVEN}")
    return facts


def _call(flow: Following, call: Call, truth: bool, state: State) -> Facts:
    facts, clean = _of_exits(flow.peek(call, state).exits, truth)
    if not truth:
        return facts, clean
    subject = _searched(call)
    if subject is not None:
        key = flow.key(subject, state)
        if key:
            facts.add(key)
            if _is_strict(call):
                clean.add(key)
    if name_of(call.function) == "tonumber" and call.arguments:
        key = flow.key(call.arguments[0], state)
        if key:
            facts.add(key)
            clean.add(key)
    return facts, clean


def _searched(call: Call) -> Expr | None:
    """Return the text in which a call searches a pattern."""
    if call.method in SEARCHES:
        return call.function
    if name_of(call.function) in {f"string.{name}" for name in SEARCHES} and call.arguments:
        return call.arguments[0]
    return None


def _is_strict(call: Call) -> bool:
    """Tell whether the pattern of a search allows only letters, digits and a few signs in the whole text."""
    patterns = call.arguments[:1] if call.method is not None else call.arguments[1:2]
    if not patterns or not isinstance(patterns[0], Constant) or not isinstance(patterns[0].value, str):
        return False
    pattern = patterns[0].value
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return False
    text = pattern[1:-1]
    for allowed in ("%w", "%d", "%a", "%l", "%u", "%x", "%.", "%-", "a-z", "A-Z", "0-9"):
        text = text.replace(allowed, "")
    return "[^" not in text and not set(text) - set("[]()+*?_-,:/=@")


def _equal(flow: Following, left: Expr, right: Expr, equal: bool, state: State) -> Facts:
    facts: set[str] = set()
    clean: set[str] = set()
    first, second = flow.peek(left, state), flow.peek(right, state)
    for part, value, other, of_other in ((left, first, right, second), (right, second, left, first)):
        text = constant_text(other, of_other)
        if not text or text == SOME:
            if equal and of_other.kind in ("text", "number") and not of_other.nil:
                facts |= _keys(flow, part, state)
            continue
        more = _of_comparison(flow, part, value, text, equal, state)
        facts |= more[0]
        clean |= more[1]
    return facts, clean


def _of_comparison(flow: Following, part: Expr, value: Value, text: str, equal: bool, state: State) -> Facts:
    """Return what follows from a comparison with a constant."""
    facts: set[str] = set()
    clean: set[str] = set()
    if value.exits:
        facts |= _common(way for way in value.exits if _matches(way.result, text) or not equal)
        if not equal:
            facts = _common(way for way in value.exits if way.result != text)
    of_type = (
        part.arguments[0] if isinstance(part, Call) and name_of(part.function) == "type" and part.arguments else None
    )
    if of_type is not None:
        if equal != (text == "'nil'"):
            facts |= _keys(flow, of_type, state)
    elif text == "nil":
        if not equal:
            more = _facts(flow, part, True, state)
            facts |= more[0]
            clean |= more[1]
    elif text in ("true", "false"):
        if equal or isinstance(part, (Call, Binary)):
            more = _facts(flow, part, (text == "true") == equal, state)
            facts |= more[0]
            clean |= more[1]
    elif equal:
        facts |= _keys(flow, part, state)
        clean |= _keys(flow, part, state)
    return facts, clean


def _keys(flow: Following, expression: Expr, state: State) -> set[str]:
    key = flow.key(expression, state)
    return {key} if key else set()


def _of_exits(exits: tuple[Exit, ...], truth: bool) -> Facts:
    return _common(way for way in exits if way.may_be(truth)), set()


def _common(exits: Iterable[Exit]) -> set[str]:
    """Return what is known after each of some exits."""
    sets = [way.known for way in exits]
    return set(frozenset.intersection(*sets)) if sets else set()


def _matches(result: str, text: str) -> bool:
    return result in ("", text) or (result == SOME and text not in ("nil", "false"))
