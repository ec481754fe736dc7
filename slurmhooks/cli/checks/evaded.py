# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds handlers whose rule does not hold at updates, or has no effect there, or asks for what nobody knows then."""

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from slurmhooks.cli.checks.mistakes import functions_of
from slurmhooks.handlers.job_rule import JobRule, named_in
from slurmhooks.job_submit import judging
from slurmhooks.job_submit.whole import IN_RECORDS, depends

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler

UNKNOWN = frozenset({"environment", "array_inx"})
"""What slurmctld does not keep, and rules read."""


def notes(handlers: "Iterable[Handler]") -> Iterator[str]:
    """Yield a note for each such handler."""
    handlers = list(handlers)
    yield from _passed(handlers)
    yield from _unknown(handlers)
    yield from _idle(handlers)


def _idle(handlers: "list[Handler]") -> Iterator[str]:
    """Yield a note for each handler of hook.job that refuses updates by nothing that an update can change."""
    for handler in handlers:
        if not isinstance(handler, JobRule) or handler.spec.name != "job_modify":
            continue
        names = frozenset().union(*named_in(handler.function))
        read = judging.named(handler).union(judging.share_of(handler), *(IN_RECORDS.get(name, ()) for name in names))
        if not any(map(depends, read)) and any(_refuses_updates(node) for node, _ in functions_of(handler)):
            yield (
                f"{handler.where}: handler {handler.label} refuses updates by nothing that an update can change, and"
                " none is its business then, so nothing is refused: write it with @hook.job_modify"
            )


def _unknown(handlers: "list[Handler]") -> Iterator[str]:
    """Yield a note for each handler of hook.job that would fail at updates of what it reads."""
    for handler in handlers:
        if not isinstance(handler, JobRule) or handler.spec.name != "job_modify":
            continue
        named = named_in(handler.function)[0]
        if (unknown := sorted(named & UNKNOWN)) and "is_update" not in named:
            yield (
                f"{handler.where}: handler {handler.label}: job.{unknown[0]} is not known at an update, because"
                " slurmctld does not keep it: look at job.is_update first"
            )


def _passed(handlers: "list[Handler]") -> Iterator[str]:
    """Yield a note for each handler that refuses submissions by what users can change afterwards."""
    updating = [handler for handler in handlers if handler.spec.name == "job_modify"]
    looked_at = frozenset().union(*(names for handler in updating for names in named_in(handler.function)))
    for handler in handlers:
        if handler.spec.name != "job_submit" or handler.label in {each.label for each in updating}:
            continue
        functions = functions_of(handler)
        if not any(_refuses(node) for node, _ in functions):
            continue
        names = {name for node, given in functions for name in _read(node, given)}
        if passed := sorted(name for name in names if depends(name) and name not in looked_at):
            yield (
                f"{handler.where}: handler {handler.label} refuses submissions by {', '.join(passed)}, and no handler"
                " looks at that in updates, so users can change it afterwards with scontrol update: write it with"
                " @hook.job"
            )


def _refuses_updates(function: ast.AST) -> bool:
    """Tell whether a function refuses under a condition that only updates meet."""
    return any(
        isinstance(node, ast.If) and _is_of_updates(node.test) and any(map(_refuses, node.body))
        for node in ast.walk(function)
    )


def _is_of_updates(test: ast.AST) -> bool:
    match test:
        case ast.Attribute(value=ast.Name(id="job"), attr="is_update") | ast.Attribute(value=ast.Name(id="record")):
            return True
        case ast.Compare(left=ast.Name(id="record"), ops=[ast.IsNot()]):
            return True
        case ast.UnaryOp(op=ast.Not()):
            return False
    return any(map(_is_of_updates, ast.iter_child_nodes(test)))


def _refuses(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Raise) and "Reject" in ast.dump(node) for node in ast.walk(function))


def _read(function: ast.AST, given: dict[str, str]) -> Iterator[str]:
    """Yield the names of the fields of the job that a function reads; see functions_of()."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=name, ctx=ast.Load()) if given.get(of) == "job":
                yield name
