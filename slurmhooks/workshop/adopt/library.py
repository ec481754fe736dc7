# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls do: of Lua's own functions, of modules, of Slurm's table, and of the script's functions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.workshop.adopt import members, programs
from slurmhooks.workshop.adopt.definitions import static_key
from slurmhooks.workshop.adopt.tree import Call, Constant, Expr, Function, name_of
from slurmhooks.workshop.adopt.values import ANY, FOR_QUOTES, Use, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.workshop.adopt.context import Arguments, Following
    from slurmhooks.workshop.adopt.tree import Loop

KEEPS = {"lower", "match", "gmatch", "rep", "reverse", "sub", "upper", "gsub", "format"}
"""Functions of string whose result contains a part of their first argument."""
SEARCHES = {"find", "match"}
SPECIFIER = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
NUMERIC = set("aAcdeEfgGiouxX")
QUOTES = re.compile(r"quote|escape|sanit", re.IGNORECASE)
QUOTED_QUOTE = ("", "''", "'\\''", "'\"'\"'")
"""What a script may make of each quote in a text, so that a shell reads the whole text between quotes."""
ESCAPE = re.compile(r"\\(.)")
ALLOWED = re.compile(r"\^(?:%[wdalux.-]|a-z|A-Z|0-9|(?!\[\^)[\[\]()+*?_,:/=@-])*\$")
"""A pattern that allows only letters, digits and a few signs in the whole text."""


def call(flow: Following, expression: Call) -> Value:
    """Follow a call; return what is known of its first result."""
    of = flow.value(expression.function, index=True)
    arguments: Arguments = [(argument, flow.value(argument)) for argument in expression.arguments]
    if expression.method is not None:
        return _method(flow, expression, of, arguments)
    if of.role.startswith("lib:"):
        return _of_library(flow, expression, of.role.removeprefix("lib:"), arguments)
    if of.function is not None:
        return _of_script(flow, of.function, arguments)
    flow.called_unknown(arguments)
    return ANY


def elements(flow: Following, loop: Loop, results: Sequence[Value]) -> list[Value]:
    """Return what is known of the variables of a loop."""
    if loop.kind == "numbers":
        return [Value(kind="number")]
    walked = loop.values[0] if loop.kind == "each" and loop.values else None
    if not isinstance(walked, Call):
        return []
    name = name_of(walked.function)
    if name in ("pairs", "next", "ipairs") and walked.arguments:
        of = flow.value(walked.arguments[0])
        if of.role in members.TABLES:
            return [Value(kind="text"), Value(kind="table", role=members.TABLES[of.role])]
        users = of.users or ("job_desc.environment" if of.role == "environment" else "")
        return [ANY if name == "ipairs" else Value(users=users), Value(users=users)]
    users = results[0].users if results else ""
    return [Value(kind="text", users=users)] if name == "string.gmatch" or walked.method == "gmatch" else []


def _method(flow: Following, expression: Call, of: Value, arguments: Arguments) -> Value:
    method = expression.method
    assert method is not None
    key = static_key(expression.function)
    function = flow.script.defined.get(f"{key}.{method}") if key else None
    if function is not None:
        return _of_script(flow, function, [(expression.function, of), *arguments])
    if of.role == "spank":
        return members.spank_method(flow, expression, method, arguments)
    if of.role == "lib:file" and method in ("read", "lines"):
        return ANY
    if method in KEEPS | SEARCHES and of.kind in ("", "text"):
        return _text(flow, method, [(expression.function, of), *arguments])
    flow.called_unknown(arguments)
    return ANY


def _of_library(flow: Following, expression: Call, name: str, arguments: Arguments) -> Value:
    first = arguments[0][1] if arguments else ANY
    if programs.check(flow, expression, name, arguments):
        return Value(role="lib:file") if name in ("io.popen", "io.open", "io.lines") else ANY
    if name.startswith("string."):
        return _text(flow, name.removeprefix("string."), arguments)
    match name:
        case "tostring" | "table.concat":
            return Value(kind="text", users=first.users)
        case "tonumber":
            if arguments:
                flow.clean.add(flow.key(arguments[0][0]))
            return Value(kind="number", unset=first.unset)
        case "table.insert":
            users = next((value.users for _, value in arguments[1:] if value.users), "")
            if users and (key := static_key(arguments[0][0])):
                flow.learn(key, Value(kind="table", users=users))
            return ANY
        case "os.getenv":
            flow.uses[Use("system", name, expression.line)] = None
            return Value(kind="text")
        case "require":
            module = str(first.constant) if isinstance(first.constant, str) else ""
            flow.uses[Use("require", module, expression.line)] = None
            return Value(kind="table", role=f"lib:{module}") if module.split(".")[0] in programs.MODULES else ANY
        case "pcall" | "xpcall":
            if first.function is not None:
                _of_script(flow, first.function, arguments[1:] if name == "pcall" else [])
            return Value(kind="boolean")
        case "setmetatable":
            return first
    flow.called_unknown(arguments)
    return ANY


def _text(flow: Following, function: str, arguments: Arguments) -> Value:
    """Return the result of a function of string."""
    if function == "format":
        return _formatted(arguments)
    if not arguments:
        return ANY
    subject, text = arguments[0]
    pattern = _constant(arguments[1][0]) if len(arguments) > 1 else None
    if function in SEARCHES and pattern is not None and ALLOWED.fullmatch(pattern):
        flow.clean.add(flow.key(subject))
    if function not in KEEPS:
        return ANY
    users = text.users
    if function == "gsub" and len(arguments) > 2:
        if pattern is not None and pattern.startswith("[^"):
            users = ""
        elif pattern == "'" and _constant(arguments[2][0]) in QUOTED_QUOTE:
            users = users and FOR_QUOTES + users
        else:
            users = users or arguments[2][1].users
    return Value(kind="" if function == "match" else "text", users=users)


def _constant(expression: Expr) -> str | None:
    """Return a constant text as Lua has it."""
    constant = expression.value if isinstance(expression, Constant) else None
    return ESCAPE.sub(r"\1", constant) if isinstance(constant, str) else None


def _formatted(arguments: Arguments) -> Value:
    """Return the result of string.format."""
    if not arguments:
        return Value(kind="text")
    template = arguments[0][1]
    wanted = [letter for letter in SPECIFIER.findall(template.start) if letter != "%"]
    users = template.users
    for index, (_, value) in enumerate(arguments[1:]):
        if index >= len(wanted) or wanted[index] not in NUMERIC:
            users = users or value.users
    return Value(kind="text", users=users, start=template.start)


def _of_script(flow: Following, function: Function, arguments: Arguments) -> Value:
    """Follow a call of a function of the script."""
    result = flow.called(function, [value for _, value in arguments])
    return replace(result, users="") if QUOTES.search(function.name) else result
