# SPDX-License-Identifier: GPL-2.0-or-later
"""The syntax tree of a Lua script, with each name resolved to its variable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(eq=False, slots=True)
class Variable:
    """A local variable or parameter.

    ``number`` differs for each variable of the script; the ``function`` that declares it is None for the main chunk.
    """

    name: str
    number: int
    function: Function | None


@dataclass(eq=False, slots=True, kw_only=True)
class Expr:
    """An expression; ``line`` counts from 1."""

    line: int


@dataclass(eq=False, slots=True)
class Constant(Expr):
    """nil, true, false, a number or a text; as None, a bool, a float, or a str."""

    value: bool | float | str | None


@dataclass(eq=False, slots=True)
class Vararg(Expr):
    """``...``."""


@dataclass(eq=False, slots=True)
class Name(Expr):
    """A variable; ``variable`` is None for a global one."""

    name: str
    variable: Variable | None


@dataclass(eq=False, slots=True)
class Index(Expr):
    """``of.key`` or ``of[key]``."""

    of: Expr
    key: Expr


@dataclass(eq=False, slots=True)
class Call(Expr):
    """A call; with ``method``, ``function`` is the object."""

    function: Expr
    arguments: list[Expr]
    method: str | None = None


@dataclass(eq=False, slots=True)
class Binary(Expr):
    """``left operator right``."""

    operator: str
    left: Expr
    right: Expr


@dataclass(eq=False, slots=True)
class Unary(Expr):
    """``operator operand``."""

    operator: str
    operand: Expr


@dataclass(eq=False, slots=True)
class Table(Expr):
    """A table constructor: keys and values; the key of a positional value is None."""

    items: list[tuple[Expr | None, Expr]]


@dataclass(eq=False, slots=True)
class Function(Expr):
    """A function.

    The name is such as ``a.b``, or empty; the parameters of a method have ``self``; ``end`` is the last line.
    """

    name: str
    parameters: list[Variable] = field(default_factory=list)
    body: list[Stmt] = field(default_factory=list)
    end: int = 0


@dataclass(eq=False, slots=True, kw_only=True)
class Stmt:
    """A statement; ``line`` counts from 1."""

    line: int


@dataclass(eq=False, slots=True)
class Local(Stmt):
    """``local names = values``."""

    variables: list[Variable]
    values: list[Expr]


@dataclass(eq=False, slots=True)
class Assign(Stmt):
    """``targets = values``; a function statement is one, too."""

    targets: list[Expr]
    values: list[Expr]


@dataclass(eq=False, slots=True)
class Do(Stmt):
    """A call that stands alone, or ``do ... end``."""

    call: Expr | None
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class If(Stmt):
    """``if``: conditions with blocks, then the block of ``else``."""

    branches: list[tuple[Expr, list[Stmt]]]
    otherwise: list[Stmt]


@dataclass(eq=False, slots=True)
class Loop(Stmt):
    """Any loop.

    ``kind`` is ``while``, ``repeat``, ``numbers`` or ``each``; ``variables`` are those of ``for``, ``values`` the
    condition, or what follows ``=`` or ``in``.
    """

    kind: str
    variables: list[Variable]
    values: list[Expr]
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Return(Stmt):
    """``return values``."""

    values: list[Expr]


@dataclass(eq=False, slots=True)
class Jump(Stmt):
    """``break`` or ``goto``."""


@dataclass(slots=True)
class Tree:
    """A script: its main chunk as a function, and the lines that the parser does not understand."""

    main: Function
    damaged: list[int]


def statements(body: list[Stmt]) -> Iterator[Stmt]:
    """Yield statements and those inside them, but not those of functions in expressions."""
    for statement in body:
        yield statement
        if isinstance(statement, (Do, Loop)):
            yield from statements(statement.body)
        elif isinstance(statement, If):
            for _, block in statement.branches:
                yield from statements(block)
            yield from statements(statement.otherwise)


def expressions(statement: Stmt) -> list[Expr]:
    """Return the expressions of a statement, without those of statements inside it."""
    match statement:
        case Local(values=values) | Return(values=values) | Loop(values=values):
            return values
        case Assign(targets=targets, values=values):
            return [*targets, *values]
        case Do(call=call) if call is not None:
            return [call]
        case If(branches=branches):
            return [condition for condition, _ in branches]
    return []


def inside(expression: Expr) -> Iterator[Expr]:
    """Yield an expression and all parts of it, but not the bodies of functions."""
    yield expression
    match expression:
        case Index(of=left, key=right) | Binary(left=left, right=right):
            yield from inside(left)
            yield from inside(right)
        case Unary(operand=operand):
            yield from inside(operand)
        case Call(function=function, arguments=arguments):
            yield from inside(function)
            for argument in arguments:
                yield from inside(argument)
        case Table(items=items):
            for key, value in items:
                if key is not None:
                    yield from inside(key)
                yield from inside(value)


def functions(function: Function) -> Iterator[Function]:
    """Yield a function and all functions in it."""
    yield function
    for statement in statements(function.body):
        for expression in expressions(statement):
            for part in inside(expression):
                if isinstance(part, Function):
                    yield from functions(part)


def name_of(expression: Expr) -> str:
    """Return a name such as ``a.b`` for a variable and constant keys; empty for anything else."""
    match expression:
        case Name(name=name):
            return name
        case Index(of=of, key=Constant(value=str(key))):
            start = name_of(of)
            return f"{start}.{key}" if start else ""
    return ""
