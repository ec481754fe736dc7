# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls do: of Lua's own functions, of modules, of Slurm's table, and of the script's functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.adopt import conditions, members, programs
from slurmhooks.adopt.definitions import static_key
from slurmhooks.adopt.tree import Call, Constant, Expr, Function, Name, Vararg, name_of
from slurmhooks.adopt.values import ANY, FOR_QUOTES, Exit, Value
from slurmhooks.lua.source import Use

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.adopt.context import Arguments, Following
    from slurmhooks.adopt.tree import Loop
    from slurmhooks.adopt.values import State

OF_TEXT = {"byte", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper"}
"""Functions of string whose first argument must not be nil."""
KEEPS = {"lower", "match", "gmatch", "rep", "reverse", "sub", "upper", "gsub"}
"""Those whose result contains a part of it."""
NEEDS_FIRST = {"pairs", "ipairs", "next", "table.concat", "table.insert", "table.sort", "unpack", "table.unpack"}
SPECIFIER = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
NUMERIC = set("aAcdeEfgGiouxX")
QUOTES = re.compile(r"quote|escape|sanit", re.IGNORECASE)
QUOTED_QUOTE = ("", "''", "'\\''", "'\"'\"'")
"""What a script may make of each quote in a text, so that a shell reads the whole text between quotes."""
ESCAPE = re.compile(r"\\(.)")
LOGS = re.compile(r"lib:(slurm|SPANK)\.(log_\w+)$")


def call(flow: Following, expression: Call, state: State) -> Value:
    """Follow a call; return what is known of its first result."""
    of = flow.value(expression.function, state, index=True)
    arguments: Arguments = [(argument, flow.value(argument, state)) for argument in expression.arguments]
    if expression.method is not None:
        return _method(flow, expression, of, arguments, state)
    if of.role.startswith("lib:"):
        return _of_library(flow, expression, of.role, arguments, state)
    if of.function is not None:
        return _of_script(flow, of.function, arguments, state)
    flow.need(expression.function, of, state, "called")
    _unknown(flow, arguments, state)
    return ANY


def never_returns(flow: Following, expression: Expr, state: State) -> bool:
    """Tell whether a call ends the function."""
    if not isinstance(expression, Call) or expression.method is not None:
        return False
    if flow.peek(expression.function, state).role in ("lib:error", "lib:os.exit"):
        return True
    function = flow.peek(expression.function, state).function
    return function is not None and function in flow.ended


def elements(flow: Following, loop: Loop, results: Sequence[Value], state: State) -> list[Value]:
    """Return what is known of the variables of ``for ... in``."""
    walked = loop.values[0] if loop.values else None
    if not isinstance(walked, Call):
        return []
    name = name_of(walked.function)
    if name in ("pairs", "next", "ipairs") and walked.arguments:
        of = flow.peek(walked.arguments[0], state)
        kind = members.TABLES.get(of.role)
        if kind is not None:
            state.known.add(members.row_key(of.role, str(loop.variables[0].number)))
            return [Value(kind="text"), Value(kind="table", role=kind)]
        users = of.users or ("job_desc.environment" if of.role == "environment" else "")
        return [ANY if name == "ipairs" else Value(users=users), Value(users=users)]
    users = results[0].users if results else ""
    return [Value(kind="text", users=users)] if name == "string.gmatch" or walked.method == "gmatch" else []


def _method(flow: Following, expression: Call, of: Value, arguments: Arguments, state: State) -> Value:
    method = expression.method
    assert method is not None
    flow.need(expression.function, of, state, f"used with ':{method}()'")
    key = static_key(expression.function)
    function = flow.script.defined.get(f"{key}.{method}") if key else None
    if function is not None:
        return _of_script(flow, function, [(expression.function, of), *arguments], state)
    if of.role == "spank":
        return members.spank_method(flow, expression, method, arguments)
    if method in OF_TEXT and of.kind in ("", "text"):
        return _text(method, [(expression.function, of), *arguments])
    if of.role == "lib:file" and method in ("read", "lines"):
        return ANY
    _unknown(flow, arguments, state)
    return ANY


def _of_library(flow: Following, expression: Call, role: str, arguments: Arguments, state: State) -> Value:
    name = role.removeprefix("lib:")
    logs = LOGS.match(role)
    if logs:
        _formatted(flow, expression, arguments, state, f"{logs[1]}.{logs[2]}", is_log=True)
        return ANY
    if programs.check(flow, expression, name, arguments, state):
        return Value(role="lib:file") if name in ("io.popen", "io.open", "io.lines") else ANY
    if name.startswith("string.") and name.removeprefix("string.") in OF_TEXT:
        short = name.removeprefix("string.")
        if short == "format":
            return _formatted(flow, expression, arguments, state, "string.format", is_log=False)
        if arguments:
            flow.need(*arguments[0], state, f"passed to {name}()")
        return _text(short, arguments)
    if name in NEEDS_FIRST and arguments:
        flow.need(*arguments[0], state, f"passed to {name}()")
    match name:
        case "tostring":
            return Value(kind="text", users=arguments[0][1].users if arguments else "")
        case "tonumber":
            given = arguments[0] if arguments else None
            lacks = given is not None and given[1].nil and not flow.is_known(given[0], given[1], state)
            if given is None:
                return Value(kind="number")
            return Value(kind="number", nil=given[1].nil if lacks else "", unset=given[1].unset)
        case "type" | "os.date":
            return Value(kind="text")
        case "os.getenv":
            return Value(kind="text", nil=f"os.getenv({_shown(arguments)})")
        case "table.concat":
            return Value(kind="text", users=arguments[0][1].users if arguments else "")
        case "table.insert":
            _inserted(flow, arguments, state)
            return ANY
        case "require":
            return _required(flow, expression, arguments)
        case "pcall" | "xpcall":
            if arguments and arguments[0][1].function is not None:
                _of_script(flow, arguments[0][1].function, arguments[1:] if name == "pcall" else [], state.copy())
            return Value(kind="boolean")
        case "setmetatable":
            return arguments[0][1] if arguments else ANY
    _unknown(flow, arguments, state)
    return ANY


def _inserted(flow: Following, arguments: Arguments, state: State) -> None:
    """Note that a table now contains text of a user."""
    users = next((value.users for _, value in arguments[1:] if value.users), "")
    key = flow.key(arguments[0][0], state) if arguments else ""
    if users and key:
        state.values[key] = replace(state.values.get(key, Value(kind="table")), users=users)


def _required(flow: Following, expression: Call, arguments: Arguments) -> Value:
    module = arguments[0][0].value if arguments and isinstance(arguments[0][0], Constant) else None
    shown = module if isinstance(module, str) else ""
    flow.uses[Use("require", shown, expression.line)] = None
    root = shown.split(".")[0]
    return Value(kind="table", role=f"lib:{shown}") if root in programs.MODULES else ANY


def _text(function: str, arguments: Arguments) -> Value:
    """Return the result of a function of string."""
    if function in ("len", "byte"):
        return Value(kind="number")
    if function not in KEEPS or not arguments:
        return ANY
    users = arguments[0][1].users
    if function == "gsub" and len(arguments) > 1:
        pattern = arguments[1][0]
        sign, replaced = _constant(pattern), _constant(arguments[2][0]) if len(arguments) > 2 else None
        if sign is not None and sign.startswith("[^"):
            users = ""
        elif sign == "'" and replaced in QUOTED_QUOTE:
            users = users and FOR_QUOTES + users
        elif len(arguments) > 2:
            users = users or arguments[2][1].users
    return Value(kind="" if function == "match" else "text", users=users)


def _constant(expression: Expr) -> str | None:
    """Return a constant text as Lua has it."""
    constant = expression.value if isinstance(expression, Constant) else None
    return ESCAPE.sub(r"\1", constant) if isinstance(constant, str) else None


def _formatted(
    flow: Following, expression: Call, arguments: Arguments, state: State, name: str, *, is_log: bool
) -> Value:
    """Check the arguments of a format; return the text."""
    if not arguments:
        return Value(kind="text")
    flow.need(*arguments[0], state, f"passed to {name}()")
    template, given = arguments[0][0], arguments[1:]
    wanted = []
    if isinstance(template, Constant) and isinstance(template.value, str):
        wanted = [letter for letter in SPECIFIER.findall(template.value) if letter != "%"]
        is_open = bool(given) and isinstance(given[-1][0], (Call, Vararg))
        if len(given) < len(wanted) and not is_open:
            members.too_few(flow, expression, name, len(wanted), len(given))
    users = arguments[0][1].users
    for index, (argument, value) in enumerate(given):
        letter = wanted[index] if index < len(wanted) else "s"
        is_last = index == len(given) - 1
        strict = letter in NUMERIC or flow.settings.is_old or (is_log and is_last)
        if strict:
            flow.need(argument, value, state, f"passed to {name}() for %{letter}")
        if letter not in NUMERIC:
            users = users or value.users
    return Value(kind="text", users=users)


def _of_script(flow: Following, function: Function, arguments: Arguments, state: State) -> Value:
    """Follow a call of a function of the script."""
    values = []
    for argument, value in arguments:
        certain = value.certain() if value.nil and flow.is_known(argument, value, state) else value
        key = flow.key(argument, state)
        values.append(replace(certain, users="") if key in state.clean else certain)
    flow.site(function, values, state)
    summary = flow.summary(function)
    for key in summary.writes:
        state.forget(key)
        state.known.add(key)
        state.checked.add(key)
        flow.running.writes.add(key)
    state.assigned |= summary.assigned
    result = summary.result
    if QUOTES.search(function.name):
        result = replace(result, users="")
    keys = {
        str(parameter.number): flow.key(argument, state)
        for parameter, (argument, _) in zip(function.parameters, arguments, strict=False)
    }
    ends = {way.result for way in summary.exits}
    if "nil" in ends and ends & {"", conditions.SOME} and not result.nil:
        result = replace(result, nil=f"{function.name}(...)")
    exits = tuple(Exit(way.result, frozenset(_translated(way.known, keys, function))) for way in summary.exits)
    return replace(result, exits=exits)


def _translated(facts: frozenset[str], keys: dict[str, str], function: Function) -> set[str]:
    """Return what a function knows at its end, in the terms of its caller."""
    own = {str(parameter.number) for parameter in function.parameters}
    result = set()
    for key in facts:
        start, dot, rest = key.partition(".")
        if start in own:
            if keys.get(start):
                result.add(keys[start] + dot + rest)
        elif not start.isdecimal():
            result.add(key)
    return result


def _unknown(flow: Following, arguments: Arguments, state: State) -> None:
    """Follow a call of something that is not known: an element of a table, or a function of a module."""
    for _, value in arguments:
        if value.function is not None:
            flow.site(value.function, [], state)
    if any(value.role and not value.role.startswith("lib:") for _, value in arguments):
        for function in flow.script.listed:
            if len(function.parameters) >= 1:
                _of_script(flow, function, arguments, state)


def _shown(arguments: Arguments) -> str:
    first = arguments[0][0] if arguments else None
    if isinstance(first, Constant):
        return repr(first.value)
    return first.name if isinstance(first, Name) else "..."
