# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps a spool from being delivered, in the log, although it is tried every few seconds."""

from __future__ import annotations

import time

from slurmhooks.log import log

REPEAT = 3600.0
"""Seconds after which the log has the same error again."""


class Trouble:
    """Logs an error once, again when it changes or an hour later, and when it is over."""

    def __init__(self, over: str) -> None:
        """Know no error; ``over`` is what the log says when all errors are over."""
        self._over = over
        self._errors: dict[int, str] = {}  # by lane
        self._told_at: dict[str, float] = {}

    def note(self, error: str | None, lane: int = 0) -> None:
        """Note the error of a turn; None: it had none.

        An error has one line for each finding. Several lanes usually meet the same error.
        """
        if error is None:
            if self._errors.pop(lane, None) is not None and not self._errors:
                self._told_at.clear()
                log.info("%s", self._over)
            return
        self._errors[lane] = error
        self._told_at = {text: at for text, at in self._told_at.items() if text in self._errors.values()}
        now = time.monotonic()
        if error not in self._told_at or now - self._told_at[error] >= REPEAT:
            self._told_at[error] = now
            for line in error.split("\n"):
                log.error("%s", line)
