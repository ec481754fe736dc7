# SPDX-License-Identifier: GPL-2.0-or-later
"""What modules define: the marks and options that count for a hook file or an installed module, or nowhere.

Python runs an installed module once, so what it has defined is remembered for later loads.
"""

from __future__ import annotations

import sys

from slurmhooks.handlers import trace
from slurmhooks.handlers.registry import layers
from slurmhooks.hooks.decorator import MARKS, Collection, Mark
from slurmhooks.hooks.option import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

PACKAGE = "slurmhooks_site"
"""Hook files are modules below this package, so that they cannot shadow any other module."""

_imported: dict[str, tuple[ModuleType, Collection]] = {}
"""What installed modules have defined, by module name: Python runs a module once, but loads may need it again."""


def remember(collection: Collection) -> None:
    """Remember what the installed modules have defined that this load has imported."""
    for kind in ("marks", "options"):
        for item in getattr(collection, kind):
            module = sys.modules.get(item.owner)
            if module is not None and not item.owner.startswith(f"{PACKAGE}."):
                entry = _imported.get(item.owner)
                if entry is None or entry[0] is not module:
                    entry = _imported[item.owner] = (module, Collection())
                getattr(entry[1], kind).append(item)


def of_imported() -> Collection:
    """Return what those installed modules have defined that are still imported."""
    everything = Collection()
    for name, (module, collection) in _imported.items():
        if sys.modules.get(name) is module:
            everything.marks += collection.marks
            everything.options += collection.options
    return everything


def marks_of(defined: Collection, module: ModuleType) -> list[tuple[Mark, Callable[..., object]]]:
    """Return the marks of a module in the order of definition, each with the function to call.

    All marks that the module has defined count: if two functions have the same name, both run. The namespace of the
    module adds handlers that it has imported, and replaces a marked function by the wrapper that has its name. Handlers
    that an imported module defines do not count by themselves: Python runs such a module once, so they would be missing
    in the next load.
    """
    functions: dict[int, tuple[Mark, Callable[..., object]]] = {
        mark.sequence: (mark, mark.function) for mark in defined.marks if _belongs(mark.owner, module)
    }
    for value in list(vars(module).values()):
        for mark in _own_marks(value):
            # Marks that a hook file set in an earlier load do not count.
            if mark in defined.marks or not mark.owner.startswith(f"{PACKAGE}."):
                functions[mark.sequence] = (mark, value)
    return [functions[sequence] for sequence in sorted(functions)]


def options_of(defined: Collection, module: ModuleType) -> list[Option]:
    """Return the options that a module has defined or imported, in the order of definition."""
    options = {option.sequence: option for option in defined.options if _belongs(option.owner, module)}
    for value in list(vars(module).values()):
        if issubclass(type(value), Option):  # not isinstance(), which asks the value
            options[value.sequence] = value
    return [options[sequence] for sequence in sorted(options)]


def _own_marks(value: object) -> list[Mark]:
    """Return the marks of a function, or of what passes its attributes on, such as a method or a wrapper.

    A module may have imported an object that stands for something that does not exist yet, such as Flask's current_app,
    and raises whenever it is asked: it has none.
    """
    if not callable(value) or issubclass(type(value), type):
        return []
    marks = trace.tried(lambda: getattr(value, MARKS, None), lambda _: None)
    return [mark for mark in marks if type(mark) is Mark] if type(marks) is list else []


def _belongs(owner: str, module: ModuleType) -> bool:
    """Tell whether a module is the owner of a mark or option or, for a package, contains the owner."""
    name = module.__name__
    return owner == name or (not name.startswith(f"{PACKAGE}.") and owner.startswith(f"{name}."))


def left_over(collections: list[Collection], sequences: set[int], options: list[Option]) -> tuple[list[str], list[str]]:
    """Return findings and notes about what a load has defined, but no source has: it would never run.

    An installed module may define more than what is imported from it by name. What was defined outside of any module,
    such as in a thread or by ``runpy.run_path()``, can only be a mistake.

    ``sequences`` (of marks) and ``options`` are those that some source has.
    """
    findings, notes = [], []
    for collection in collections:
        lost = [
            (mark.owner, f"handler {getattr(mark.function, '__qualname__', mark.hook)} of hook.{mark.hook}")
            for mark in collection.marks
            if mark.sequence not in sequences
        ] + [(option.owner, f"option {option.name}") for option in collection.options if option not in options]
        for owner, what in lost:
            if owner in sys.modules:
                notes.append(
                    f"{owner}: {what} is not in force: a hook file has imported this module; import it by name, or"
                    " name the module in [hooks] modules"
                )
            else:
                findings.append(
                    f"{collection.source}: {what} would never run, because it was defined outside of any module, such"
                    " as in a thread, or by exec() or runpy: define it at the top level of the hook file"
                )
    return findings, notes


def replaced(mark: Mark, function: Callable[..., object], module: ModuleType) -> list[str]:
    """Return a finding if the name of a marked function is bound to another object, such as a wrapper without marks.

    Only the marked function would run, without the code that a decorator above the mark adds.
    """
    code = layers(mark.function)[-1]
    name = getattr(mark.function, "__qualname__", "")
    if function is not mark.function or code is None or mark.function.__module__ != mark.owner:
        return []
    # The owner may be a module inside the package.
    bound = vars(sys.modules.get(mark.owner, module)).get(name, function)
    marked = any(other.function is bound for other in _own_marks(bound))
    # Two marked functions may have the same name; both run.
    if bound is function or (marked and getattr(bound, "__qualname__", None) == name):
        return []
    return [
        f"{code.co_filename}:{code.co_firstlineno}: hook.{mark.hook} marks the function {name}, but the name stands for"
        f" {object.__repr__(bound)}, which would not run: put @hook.{mark.hook} above all other decorators, or use"
        " functools.wraps in them"
    ]
