# SPDX-License-Identifier: GPL-2.0-or-later
"""When what has failed is tried again: after a pause that doubles with each failure."""

from __future__ import annotations

import time

MOST = 60.0
"""Maximum seconds of a pause."""


class Backoff:
    """The pause before the next attempt.

    Attributes:
        failures: number of failures since the last success.
    """

    def __init__(self, first: float = 1.0) -> None:
        """Allow the first attempt at once; ``first`` is the pause after the first failure, in seconds."""
        self.failures = 0
        self._first = first
        self._until = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the next attempt may begin."""
        return time.monotonic() >= self._until

    def failed(self) -> float:
        """Begin a pause; return its length in seconds."""
        self.failures += 1
        pause = min(MOST, self._first * 2.0 ** min(self.failures - 1, 30))
        self._until = time.monotonic() + pause
        return pause

    def succeeded(self) -> None:
        """Let the pause after the next failure be the first again."""
        self.failures = 0
