# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds statements in handlers that are bugs when they run, or have no effect."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from slurmhooks import types
from slurmhooks.cli.checks.known import ACTING, ROWS, Known
from slurmhooks.cli.checks.undefined import expecting
from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import NEWEST, rows
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.similar import nearest
from slurmhooks.job_submit.whole import ARRAYS
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

BUG = "this line is a bug if it runs"
DOUBTFUL = ("Reject without a text", "use log.user()")
"""How the notes begin that are about no bug."""


def notes(handlers: "Iterable[Handler]") -> tuple[list[str], list[str]]:
    """Return notes on such statements in the functions of handlers: those about certain bugs, and the others."""
    handlers = list(handlers)
    trees = {path: tree_of(path) for path in dict.fromkeys(handler.path for handler in handlers)}
    notes: dict[str, bool] = {}
    for handler in handlers:
        expected = list(expecting(trees[handler.path], "AttributeError"))
        for function, views in functions_of(handler):
            for line, text in _in_function(handler, function, views, expected):
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


def functions_of(handler: "Handler") -> list[tuple[ast.FunctionDef, dict[str, str]]]:
    """Return the code of a handler, and of the functions of its file to which it hands its arguments.

    Returns:
        each function, with the arguments of the handler by the names that they have in it.
    """
    tree = tree_of(handler.path)
    defined = {node.name: node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef)}
    takes = handler.parameters if isinstance(handler, JobRule) else handler.names
    found = [
        (node, {name: name for name in takes})
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and first_line(node) == handler.line
    ]
    for function, views in found:  # grows
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            called = defined.get(call.func.id) if isinstance(call.func, ast.Name) else None
            if called is None or any(called is known for known, _ in found):
                continue
            pairs = zip(called.args.args, call.args, strict=False)
            handed = {to.arg: each.id for to, each in pairs if isinstance(each, ast.Name)}
            found.append((called, {name: views[given] for name, given in handed.items() if given in views}))
    return found


def first_line(node: ast.FunctionDef) -> int:
    """Return the line by which Python names a function: that of its first decorator."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _in_function(
    handler: "Handler", function: ast.FunctionDef, given: dict[str, str], expected: list[range]
) -> Iterator[tuple[int, str]]:
    nodes = list(_own_nodes(function))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    of_job = types.WholeJob if isinstance(handler, JobRule) else types.Job
    views = {
        name: of_job if view == "job" else getattr(types, VIEWS[view])
        for name, view in given.items()
        if view in VIEWS and name not in assigned
    }
    taken = assigned.union(arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg))
    variables = {
        name: value for name, value in getattr(handler.function, "__globals__", {}).items() if name not in taken
    }
    rows_of = {**ROWS, **ACTING} if handler.spec.is_periodic else ROWS
    if not ROWS.keys() <= set(handler.spec.arguments):
        rows_of = {}  # nodes of power hooks are no records
    tables = {name: rows_of[each] for name, each in given.items() if each in rows_of and name not in assigned}
    known = Known(views, tables, variables)
    known.find_rows(nodes)
    is_handler = first_line(function) == handler.line
    for node in nodes:
        match node:
            case (
                ast.Return(value=ast.Call(func=ast.Name(id="Reject")))
                | ast.Expr(value=ast.Call(func=ast.Name(id="Reject")))
            ):
                yield node.lineno, "nothing is refused: write raise Reject(...)"
            case ast.Return(value=ast.expr() as value) if is_handler and _is_value(handler, value):
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
            case ast.Attribute(value=of, attr=field) if (
                not field.startswith("_") and (kind := known.of(of)) is not None
            ):
                attributes = {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
                names = sorted(each for each in attributes if not each.startswith("_"))
                if field not in names and not any(node.lineno in lines for lines in expected):
                    shown = given.get(of.id, of.id) if isinstance(of, ast.Name) else ast.unparse(of)
                    yield node.lineno, f"{shown} has no {field!r}{nearest(field, names)}; {BUG}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sets" | "leaves_out")) if name in views:
                for each in (arg.value for arg in node.args if isinstance(arg, ast.Constant)):
                    if each not in (fields := {*rows(JobFields), *ARRAYS}):
                        yield node.lineno, f"job has no {each!r}{nearest(str(each), fields)}; {BUG}"
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=name), attr=field)], value=ast.Constant(value=value)
            ) if views.get(name) is of_job and (wrong := _unfit(field, value)):
                yield node.lineno, f"{wrong}; {BUG}"
            case ast.Constant() | ast.Name() if type(number := _constant(handler, node)) is int and number in UNSET:
                yield node.lineno, f"Slurm's NO_VAL, {number}, is None in handlers, when read and when written"


def _unfit(field: str, value: object) -> str:
    """Return why a field of a job does not take a value; empty if it does, or does not exist."""
    row = rows(JobFields).get(field)
    if row is None:
        return ""
    if not row.writable:
        return f"job.{field} is read-only"
    try:
        row.encoder(NEWEST)(value)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


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
