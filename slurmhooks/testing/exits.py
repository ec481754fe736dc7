# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps handlers from ending the process of a test run or a command; native/embed/guard.c does so in Slurm's."""

from __future__ import annotations

import os
import posix
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn


PROCESS = os.getpid()
"""The test run or command. Who has forked another process notices that it ends."""


@contextmanager
def no_exit() -> Iterator[None]:
    """Let os._exit() raise SystemExit, which is a bug of the handler, except in a process that was forked.

    Otherwise a handler would end a command or a test run with the exit code 0, as if all were fine.
    """
    real = os._exit

    def leave(status: int) -> NoReturn:
        if os.getpid() != PROCESS:
            real(status)
        raise SystemExit(f"os._exit({status}): a handler must not end its process")

    os._exit = posix._exit = leave
    try:
        yield
    finally:
        os._exit = posix._exit = real
