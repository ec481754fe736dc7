# SPDX-License-Identifier: GPL-2.0-or-later
"""A handler of hook.job, which is a handler of each of the hooks that its own runs in."""

from __future__ import annotations

from slurmhooks.handlers.registry import Handler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

    from slurmhooks.hooks.points import HookSpec

JUDGE = "judge"
"""The argument that calls a handler of hook.job; the functions themselves do not get it."""
LOADS = ("LOAD_ATTR", "LOAD_METHOD")
MOST_FUNCTIONS = 1000
"""Functions in which names are looked for."""


class JobRule(Handler):
    """A handler of hook.job in one of the hooks that it runs in.

    Only the plugin point knows what the job would be, so one of its arguments calls the function
    (slurmhooks/job_submit/judging.py).

    Attributes:
        parameters: the arguments of the function.
        names: those that come from slurmctld, for this hook: a submission changes no record.
    """

    def __init__(self, function: Any, names: tuple[str, ...], spec: HookSpec, **others: Any) -> None:
        self.parameters = names
        super().__init__(function, tuple(name for name in names if name in spec.arguments), spec, **others)
        # It checks each update that takes a job to where it counts; but what it compares with the record counts before.
        self.looks_ahead = "record" not in names

    def call(self, arguments: dict[str, Any]) -> object:
        """Call the function, if the request is one of those that it is for; raise what it raises."""
        return arguments[JUDGE](self, arguments)


def named_in(function: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return what the code of a function, and of the functions of its modules that it calls, may read of an object.

    Returns:
        the names of the attributes that it reads; and its texts, also in lists, which may be names of attributes.
    """
    import dis  # not at the top: only checks, and builds without records, ask

    names, texts = set[str](), set[str]()
    functions: list[Any] = [function]
    seen: set[int] = set()
    while functions and len(seen) < MOST_FUNCTIONS:
        function = functions.pop()
        code = getattr(function, "__code__", None)
        if code is None or id(code) in seen:
            continue
        seen.add(id(code))
        variables = getattr(function, "__globals__", {})
        functions.append(getattr(function, "__wrapped__", None))
        functions += list(map(_content, getattr(function, "__closure__", None) or ()))
        for each in _codes(code):
            known = [variables[name] for name in each.co_names if name in variables]
            functions += known
            texts.update(*map(_texts, (each.co_consts, *known)))
            names.update(step.argval for step in dis.get_instructions(each) if step.opname in LOADS)
    return frozenset(names), frozenset(texts)


def _texts(value: object) -> list[str]:
    """Return a text, or those in a list of texts."""
    items = value if isinstance(value, tuple | list | set | frozenset | dict) else (value,)
    return [item for item in items if isinstance(item, str)]


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, type(code)):
            yield from _codes(each)
