# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds names in hook files that nothing defines, such as misspelled ones in a branch that is rarely taken."""

import ast
import builtins
import dis
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from slurmhooks.handlers.similar import nearest

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler

LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
STORES = frozenset({"STORE_GLOBAL", "STORE_NAME"})
DYNAMIC = frozenset({"globals", "vars", "exec", "eval", "__dict__", "setattr"})
"""A file that uses one of these may define names in ways that only a run shows."""
NEVER = "__annotate__"
"""Name of the code that Python 3.14 makes of annotations, which usually never runs."""


def names(handlers: "Iterable[Handler]") -> list[str]:
    """Return a note for each name that would be a bug if the line that has it were run.

    Args:
        handlers: those that were loaded; the variables of their modules show what star imports have defined.
    """
    modules = {
        handler.path: handler.function.__globals__
        for handler in handlers
        if isinstance(handler.function, FunctionType) and handler.function.__globals__.get("__file__") == handler.path
    }
    return [note for path, variables in modules.items() for note in _of_file(Path(path), variables)]


def _of_file(path: Path, variables: dict[str, object]) -> Iterator[str]:
    try:
        text = importlib.util.decode_source(path.read_bytes())
        codes = list(_codes(compile(text, path, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return  # it was removed or changed after it had been loaded
    if any(DYNAMIC.intersection(code.co_names) for code in codes):
        return
    # What a class defines is counted as if the module did: its body has to run for that, and does when it loads.
    known = {*variables, *vars(builtins)}
    loads: dict[tuple[str, int], None] = {}
    for code in codes:
        for each in dis.get_instructions(code):
            if each.opname in STORES:
                known.add(each.argval)
            elif each.opname in LOADS and each.positions is not None and each.positions.lineno is not None:
                loads[each.argval, each.positions.lineno] = None
    others = known.union(*(code.co_varnames for code in codes))
    expected = list(expecting(ast.parse(text), "NameError"))
    for name, line in loads:
        if name not in known and not any(line in lines for lines in expected):
            yield f"{path}:{line}: nothing defines {name}{nearest(name, others)}; this line is a bug if it runs"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_name != NEVER:
            yield from _codes(each)


def expecting(tree: ast.AST, error: str) -> Iterator[range]:
    """Yield the lines of statements that catch an exception of this name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(
            isinstance(name, ast.Name) and name.id == error
            for handler in node.handlers
            if handler.type is not None
            for name in ast.walk(handler.type)
        ):
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)
