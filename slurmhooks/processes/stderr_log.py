# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of the processes of this package: lines on standard error, which slurmctld reads."""

from __future__ import annotations

import os
import select
import time
from select import PIPE_BUF
from typing import TYPE_CHECKING

from slurmhooks.log import ERROR, INFO, log

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 1.0
"""Seconds to wait for room in a full pipe."""
MORE = "... "
"""Starts a log line that continues the previous line, which was too long for one write to a pipe."""


def attach(user: Callable[[str], None] | None = None) -> None:
    """Pass log lines to slurmctld, which reads our standard error; a line begins with a NUL byte and its level.

    No text of a user has that byte: one that a handler prints cannot pass for such a line (native/client/output.c).

    Args:
        user: called with the messages of handlers to the user of a request; by default, they are logged.
    """

    def sink(level: int, text: str) -> None:
        # A write of at most PIPE_BUF bytes is never interleaved with that of another worker.
        size = PIPE_BUF - len(f"\0{level}{MORE}\n")
        if not text.isascii():
            size //= 4
        for start in range(0, max(1, len(text)), size):
            part = f"\0{level}{MORE if start else ''}{text[start : start + size]}\n"
            _write(part.encode("utf-8", "surrogateescape"))

    log.attach(sink, user or (lambda text: sink(INFO, text)), lambda text: sink(ERROR, text))


def _write(line: bytes) -> None:
    """Write a line to standard error, or drop it.

    A worker may have made the pipe non-blocking for all processes that share it, and filled it.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            os.write(2, line)
        except BlockingIOError:
            left = until - time.monotonic()
            if left > 0:
                select.select([], [2], [], left)
                continue
        except BrokenPipeError:
            pass  # slurmctld has ended
        return
