# SPDX-License-Identifier: GPL-2.0-or-later
"""What to do about common mistakes, for which a hook file does not load. It is imported only then."""

from __future__ import annotations

import sys

from slurmhooks.errors import Reject
from slurmhooks.handlers.definitions import PACKAGE

PUBLIC: list[str] = sys.modules["slurmhooks"].__all__
"""What hook files import. The package is not imported here: it is above all others."""


def remedy(path: str | None, error: BaseException) -> str:
    """Return the remedy, to be appended to the message of an exception; an empty text for other mistakes.

    ``path`` is None for an installed module.
    """
    if isinstance(error, Reject):
        return "; only a handler can refuse, when Slurm calls it"
    if isinstance(error, SystemExit):
        return "; a hook file must not exit"
    if isinstance(error, NameError) and error.name in PUBLIC:
        return f"; the file needs the line: from slurmhooks import {error.name}"
    if isinstance(error, AttributeError) and type(error.obj) is type(sys) and _top(error.obj.__name__) == "slurmhooks":
        return "; hook files begin with: from slurmhooks import hook"
    return _of_import(path, error) if isinstance(error, ImportError) else ""


def _of_import(path: str | None, error: ImportError) -> str:
    """Return what to do about a module that does not exist, or about a name that it does not have."""
    from slurmhooks.files.paths import exists

    name = _top(error.name or "")
    folder = (path or "").rpartition("/")[0]
    if path and (name == PACKAGE or any(exists(f"{folder}/{name}{end}") for end in (".py", "/__init__.py"))):
        return (
            "; hook files cannot import each other: put what they share into an installed package, or into a folder of"
            " [hooks] packages"
        )
    if error.name == "slurmhooks":
        return f"; it has: {', '.join(PUBLIC)}"
    if isinstance(error, ModuleNotFoundError):
        return f"; install it where slurmhooks is ({sys.prefix}), or put it into a folder of [hooks] packages"
    return ""


def _top(name: str) -> str:
    return name.partition(".")[0]
