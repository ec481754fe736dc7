# SPDX-License-Identifier: GPL-2.0-or-later
"""Capture what handlers log."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from slurmhooks.log import NAMES, PREFIX, log

if TYPE_CHECKING:
    from collections.abc import Iterator


class CapturedLog:
    """The log of a block ``with captured.capturing():``.

    Attributes:
        lines: lines for Slurm's log, each as ``level: text``.
        user_messages: texts of ``log.user``, one for each call.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.user_messages: list[str] = []

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Redirect the log to this object until the block ends."""
        before = log.attach(self._add_line, self.user_messages.append)
        try:
            yield
        finally:
            log.attach(*before)

    def _add_line(self, level: int, text: str) -> None:
        self.lines.append(f"{NAMES[level]}: {text.removeprefix(PREFIX)}")
