# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps handlers from ending the process of a test run or a command; native/embed/guard.c does so in Slurm's."""

from __future__ import annotations

import os
import posix
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

_ENDS = {"_exit": "end its process", "execv": "become a program here", "execve": "become a program here"}
"""Functions of os that do not return, and what a handler does with them."""
_REAL: dict[str, Callable[..., NoReturn]] = {name: getattr(os, name) for name in _ENDS}


@contextmanager
def no_exit() -> Iterator[None]:
    """Let os._exit() and os.exec*() raise SystemExit, which is a bug of the handler, except in a child that it forks.

    Otherwise a handler would end a command or a test run with the exit code 0, as if all were fine. A child that comes
    back from the handler ends here, as in Slurm.
    """
    process = os.getpid()
    before = {name: getattr(os, name) for name in _ENDS}
    for name in _ENDS:
        _set(name, _refused(name, process))
    try:
        yield
    finally:
        for name, function in before.items():
            _set(name, function)
        if os.getpid() != process:
            os.write(2, b"a handler has forked and its child came back, which ends here: have it call os._exit()\n")
            _REAL["_exit"](1)


def _refused(name: str, process: int) -> Callable[..., NoReturn]:
    def instead(*arguments: Any) -> NoReturn:
        if os.getpid() != process:
            _REAL[name](*arguments)
        raise SystemExit(f"os.{name}({arguments[0]!r}): a handler must not {_ENDS[name]}")

    return instead


def _set(name: str, function: Callable[..., NoReturn]) -> None:
    setattr(os, name, function)
    setattr(posix, name, function)
