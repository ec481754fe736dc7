# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of the value of an expression, and what is dangerous in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.adopt import conditions, library, members
from slurmhooks.adopt.definitions import static_key
from slurmhooks.adopt.tree import Binary, Call, Constant, Expr, Function, Index, Name, Table, Unary
from slurmhooks.adopt.values import ANY, FOR_QUOTES, Value
from slurmhooks.lua.source import Use

if TYPE_CHECKING:
    from slurmhooks.adopt.context import Following
    from slurmhooks.adopt.values import State

ARITHMETIC = {"+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>"}
ORDER = {"<", "<=", ">", ">="}


def evaluate(flow: Following, expression: Expr, state: State, *, index: bool = False) -> Value:
    """Return what is known of an expression, and report what is dangerous in it.

    Args:
        flow: the values of the script.
        expression: the expression.
        state: what is known; calls in the expression change it.
        index: it is indexed or called, so that a whole table is not used as a value.
    """
    match expression:
        case Constant(value=constant):
            return members.constant(constant)
        case Name():
            return _name(flow, expression, state, index)
        case Index():
            return _index(flow, expression, state)
        case Call():
            return library.call(flow, expression, state)
        case Function():
            return Value(kind="function", function=expression)
        case Unary(operator=operator, operand=operand):
            value = flow.value(operand, state)
            if operator == "not":
                conditions.note_truth(flow, operand, value)
            if operator in ("-", "#", "~"):
                flow.need(operand, value, state, "used with '#'" if operator == "#" else "calculated with")
            return Value(kind="boolean" if operator == "not" else "number")
        case Table(items=items):
            parts = [flow.value(item, state) for _, item in items]
            for key, _ in items:
                if key is not None:
                    flow.value(key, state)
            return Value(kind="table", users=next((part.users for part in parts if part.users), ""))
        case Binary():
            return _binary(flow, expression, state)
    return ANY


def _name(flow: Following, expression: Name, state: State, index: bool) -> Value:
    key = static_key(expression)
    value = state.values.get(key)
    if value is None and key in flow.script.defined:
        value = Value(kind="function", function=flow.script.defined[key])
    if value is None:
        value = members.global_value(flow, expression)
    if value is None:
        value = flow.anywhere(key)
    if expression.variable is None:
        members.read_global(flow, expression, value, state)
    if key in state.known:
        value = value.certain()
    if key in state.clean:
        value = replace(value, users="")
    if value.role and not index:
        flow.uses[Use("whole", value.role, expression.line)] = None
    return value


def _index(flow: Following, expression: Index, state: State) -> Value:
    of = flow.value(expression.of, state, index=True)
    flow.need(expression.of, of, state, "indexed")
    at = flow.value(expression.key, state)
    key = flow.key(expression, state)
    value = state.values.get(key) if key else None
    if value is None and key in flow.script.defined:
        return Value(kind="function", function=flow.script.defined[key])
    member = members.read(flow, expression, of, at)
    if member is not None and (value is None or member.role.startswith("lib:")):
        value = member
    if value is None:
        value = flow.anywhere(key) if key else Value(users="")
    if key in state.known:
        value = value.certain()
    if key in state.clean:
        value = replace(value, users="")
    return value


def _binary(flow: Following, expression: Binary, state: State) -> Value:
    operator, left, right = expression.operator, expression.left, expression.right
    if operator in ("and", "or"):
        inner = state.copy()
        inner.known |= conditions.note_parts(flow, expression, inner)
        value = _either(flow, expression, inner)
        state.checked |= inner.checked
        state.values.update({key: each for key, each in inner.values.items() if key not in state.values})
        return value
    first, second = flow.value(left, state), flow.value(right, state)
    pairs = ((left, first), (right, second))
    if operator == "..":
        for part, value in pairs:
            flow.need(part, value, state, "concatenated")
        return Value(kind="text", users=_users(left, first.users, second.users))
    if operator in ARITHMETIC:
        for part, value in pairs:
            flow.need(part, value, state, "calculated with")
            members.unset_number(flow, part, value, operator, state)
        return Value(kind="number")
    if operator in ORDER:
        for part, value, other in ((left, first, second), (right, second, first)):
            flow.need(part, value, state, f"compared with '{operator}'")
            members.compared(flow, part, value, other, operator, part is left, state)
    conditions.note_checks(flow, expression, (first, second), state)
    return Value(kind="boolean")


def _users(left: Expr, *users: str) -> str:
    """Return which text of a user is in two concatenated texts, the first of which may open quotes."""
    opens = isinstance(left, Constant) and str(left.value).endswith("'")
    bare = [text for text in users if text and not text.startswith(FOR_QUOTES)]
    return next(iter(bare or [text for text in users if text and not opens]), "")


def _either(flow: Following, expression: Binary, state: State) -> Value:
    left, right = expression.left, expression.right
    first = flow.value(left, state)
    conditions.note_truth(flow, left, first)
    then = state.copy()
    is_and = expression.operator == "and"
    conditions.assume(flow, left, is_and, then)
    second = flow.value(right, then)
    state.checked |= then.checked
    state.values.update({key: value for key, value in then.values.items() if key not in state.values})
    if flow.is_known(left, first, state):
        first = first.certain()
    if is_and:
        if first.kind in ("number", "text", "table", "function") and not first.nil:
            return second
        # A false condition gives false, or nil if the condition is a value that may be nil.
        return replace(second, nil=second.nil or first.nil, exits=(), kind=second.kind if first.nil else "")
    joined = replace(first.certain(), exits=()).joined(replace(second, exits=()))
    if first.kind == "nil":
        joined = second
    return replace(joined, nil=second.nil, kind=second.kind if first.kind in ("", "boolean") else joined.kind)
