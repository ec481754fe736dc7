# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks in a thread which set is in force, because that blocks while its file system does not answer."""

from __future__ import annotations

import _thread
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from slurmhooks.log import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.files.watch import Watch

POLL = 1.0
"""Seconds between two checks."""
PATIENCE = 10.0
"""Seconds that a check may take before a line is logged."""


class Check:
    """A check of a watch. Only its thread refers to it, so it is gone when the thread has ended.

    A thread may end before it runs any Python code, if there is no memory for its first call.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch


class Poller:
    """Checks a watch, with at most one check at a time; the thread exists only during a check."""

    def __init__(self, wake: Callable[[], object]) -> None:
        """Prepare; no check is running.

        Args:
            wake: called in the thread, after a check that has found a change.
        """
        self._wake = wake
        self._running: Callable[[], Check | None] = lambda: None
        self._changed: Watch | None = None
        self._next = 0.0
        self._late_at = 0.0

    def changed(self, watch: Watch) -> bool:
        """Tell whether a check has found a change, and start a check if one is due; never wait."""
        now = time.monotonic()
        running = self._running()
        if running is not None and running.watch is watch:
            if now >= self._late_at:
                self._late_at = now + 60.0
                log.error("the file system of the sets does not answer: deployments are not seen")
        elif now >= self._next:
            self._next, self._late_at = now + POLL, now + PATIENCE
            check = Check(watch)
            self._running = weakref.ref(check)
            with suppress(RuntimeError):  # no thread can be started: try again at the next check
                _thread.start_new_thread(self._check, (check,))
        return self._changed is watch

    def pause(self, seconds: float) -> None:
        """Start no check for some time, and forget the result of the last one."""
        self._next, self._changed = time.monotonic() + seconds, None

    def _check(self, check: Check) -> None:
        if check.watch.changed():
            self._changed = check.watch
            with suppress(OSError):
                self._wake()
