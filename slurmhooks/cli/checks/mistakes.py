# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds statements in handlers that are bugs when they run, or have no effect."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from slurmhooks import types
from slurmhooks.cli.checks.undefined import expecting
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.similar import nearest
from slurmhooks.values import NO_VAL

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler

VIEWS = {
    "job": "Job", "record": "Record", "spank": "Spank", "options": "Options", "container": "Container", "mail": "Mail",
    "buffer": "BurstBuffer",
}  # fmt: skip
"""Arguments whose attributes are all known, with their types in slurmhooks.types."""
UNSET = frozenset({NO_VAL[32], NO_VAL[64]})
"""Smaller ones may be other numbers."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


DOUBTFUL = ("Reject without a text", "use log.user()")
"""How the notes begin that are about no bug."""


def notes(handlers: "Iterable[Handler]") -> tuple[list[str], list[str]]:
    """Return a note for each such statement in the functions of handlers, in the order of the handlers.

    Returns:
        those about certain bugs, and the others.
    """
    handlers = list(handlers)
    trees = {path: tree_of(path) for path in dict.fromkeys(handler.path for handler in handlers)}
    notes: dict[str, bool] = {}
    for handler in handlers:
        tree = trees[handler.path]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and first_line(node) == handler.line:
                for line, text in _in_handler(handler, node, list(expecting(tree, "AttributeError"))):
                    notes[f"{handler.path}:{line}: {text}"] = not text.startswith(DOUBTFUL)
    return [note for note, certain in notes.items() if certain], [
        note for note, certain in notes.items() if not certain
    ]


def tree_of(path: str) -> ast.AST:
    """Return the syntax tree of a file; an empty one if it is no Python."""
    try:
        return ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])  # it is no Python, or was changed after it had been loaded


def first_line(node: ast.FunctionDef) -> int:
    """Return the line by which Python names a function: that of its first decorator."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _in_handler(handler: "Handler", function: ast.FunctionDef, expected: list[range]) -> Iterator[tuple[int, str]]:
    nodes = list(_own_nodes(function))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    takes = handler.parameters if isinstance(handler, JobRule) else handler.names
    views = {name: getattr(types, VIEWS[name]) for name in takes if name in VIEWS and name not in assigned}
    if "job" in views and isinstance(handler, JobRule):
        views["job"] = types.WholeJob
    for node in nodes:
        match node:
            case (
                ast.Return(value=ast.Call(func=ast.Name(id="Reject")))
                | ast.Expr(value=ast.Call(func=ast.Name(id="Reject")))
            ):
                yield node.lineno, "nothing is refused: write raise Reject(...)"
            case ast.Return(value=ast.expr() as value) if _is_value(handler, value):
                if handler.spec.result == "None":
                    yield node.lineno, f"returning {ast.unparse(value)} is a bug; to refuse, raise Reject(text)"
            case ast.Raise(exc=ast.Name(id="Reject") | ast.Call(func=ast.Name(id="Reject"), args=[], keywords=[])):
                yield node.lineno, "Reject without a text: users do not learn why"
            case ast.Call(func=ast.Name(id="Reject"), args=[_, _, *_]):
                yield node.lineno, "Reject takes one text, such as an f-string, and code= for a code"
            case ast.Call(func=ast.Name(id="print"), keywords=[]) if handler.spec.point == "spank":
                yield (
                    node.lineno,
                    "use log.user() or log.info() instead of print(): its output is the job's, or is lost",
                )
            case ast.Attribute(value=ast.Name(id=name), attr=field) if name in views and not field.startswith("_"):
                known = {*dir(views[name]), *getattr(views[name], "__dataclass_fields__", ())}
                names = sorted(each for each in known if not each.startswith("_"))
                if field not in names and not any(node.lineno in lines for lines in expected):
                    yield node.lineno, f"{name} has no {field!r}{nearest(field, names)}; this line is a bug if it runs"
            case ast.Constant() | ast.Name() if type(number := _constant(handler, node)) is int and number in UNSET:
                yield node.lineno, f"Slurm's NO_VAL, {number}, is None in handlers, when read and when written"


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function in the order of the file, except those of functions and classes in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, Function | ast.ClassDef):
            yield node
            yield from _own_nodes(node)


def _is_value(handler: "Handler", node: ast.expr) -> bool:
    """Tell whether an expression surely is something else than None."""
    literals = (ast.UnaryOp, ast.JoinedStr, ast.Compare, ast.Tuple, ast.List, ast.Dict)
    return isinstance(node, literals) or _constant(handler, node) is not None


def _constant(handler: "Handler", node: ast.expr) -> object:
    """Return the value of a literal, or of a name that is not local; None if it has none."""
    if isinstance(node, ast.Constant):
        return node.value
    function = handler.function
    if isinstance(node, ast.Name) and isinstance(function, FunctionType):
        return None if node.id in function.__code__.co_varnames else function.__globals__.get(node.id)
    return None
