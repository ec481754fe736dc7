# SPDX-License-Identifier: GPL-2.0-or-later
"""When the supervisor loads the hooks: another set is in force, or the last attempt has failed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from slurmhooks.processes.backoff import Backoff
from slurmhooks.worker.polling import POLL, Poller

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.files.watch import Watch

FIRST = 0.1
"""Seconds before a generation that ended by itself is replaced if none is in service; see Backoff."""
PAUSE = 10.0
"""Seconds before such a generation is replaced if another one is in service."""
REPEAT = 60.0
"""Seconds before unchanged files that failed to load are loaded again, and the error is logged again."""
ACCIDENTS = 3
"""Number of unexpected ends of a generation, or its worker, before it goes into service, after which requests are
refused at once, without waiting for the next attempt."""


class Attempts:
    """Decides when the hooks are loaded.

    Attributes:
        watch: what the newest generation has loaded; None if no generation has said that.
        fault: why the newest files are not in force, and since when; None: they are.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        """Prepare for the first attempt; ``wake`` is called in a thread once another set is in force."""
        self.watch: Watch | None = None
        self.fault: dict[str, Any] | None = None
        self._accidents = Backoff(FIRST)
        self._at: float | None = None
        self._poller = Poller(wake)

    def wait(self) -> float:
        """Return the seconds until the next attempt, or the next look at the set in force."""
        return POLL if self._at is None else min(POLL, max(0.0, self._at - time.monotonic()))

    def are_due(self) -> bool:
        """Tell whether the hooks are to be loaded now; never wait."""
        is_due = self._at is not None and time.monotonic() >= self._at
        return is_due or (self.watch is not None and self._poller.changed(self.watch))

    def began(self) -> None:
        """Note that an attempt begins."""
        self._at = None

    def soon(self) -> None:
        """Let the next attempt begin at once."""
        self._at = time.monotonic()

    def succeeded(self) -> None:
        """Note that the newest files are in force."""
        self._accidents.succeeded()
        self.fault = None

    def invalid(self, watch: Watch | None) -> None:
        """Note that the files were read, and are invalid."""
        self.watch = watch
        self._accidents.succeeded()

    def accident(self, is_serving: bool) -> None:
        """Note that a generation, or its worker, ended before it went into service, although its files are valid."""
        if not is_serving:
            self._pause(self._accidents.failed())
        else:
            self._pause(PAUSE)

    def failed(self, findings: list[str]) -> None:
        """Note why an attempt has failed."""
        since = time.time() if self.fault is None else self.fault["since"]
        self.fault = {"since": since, "findings": findings}
        if self._at is None:
            self._at = time.monotonic() + REPEAT

    def may_succeed(self) -> bool:
        """Tell whether there were only few accidents: then requests wait for the next attempt, until their deadline."""
        return self._accidents.failures in range(1, ACCIDENTS)

    def _pause(self, seconds: float) -> None:
        """Load the files again after some time, and not before, even if another set comes into force."""
        self._at = time.monotonic() + seconds
        self._poller.pause(seconds)
