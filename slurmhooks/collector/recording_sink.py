# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the recording that the shared page orders: a sink of slurmhooks/collector/collection.py."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from slurmhooks.collector.reporting import RECORDED
from slurmhooks.log import log
from slurmhooks.recording import page as shared
from slurmhooks.recording.file import create
from slurmhooks.recording.recorder import Limits, Recorder
from slurmhooks.wire.tables import installed

if TYPE_CHECKING:
    from slurmhooks.collector.checked import Decision
    from slurmhooks.recording.page import RecordingPage

LATE = 0.5
"""Seconds after a stop in which workers may still report earlier requests."""
STATUS = 1.0
"""Seconds between two updates of the status."""


class RecordingSink:
    """Takes the requests that workers report; ``takers`` are the functions that take reports, by kind."""

    def __init__(self, page: RecordingPage) -> None:
        """Begin the recording; if this fails, the status says why."""
        self._page = page
        self._orders = page.orders
        self._stopped_at: float | None = None
        self._status_at = 0.0
        self._recorder: Recorder | None = None
        self.takers = {RECORDED: self.take}
        file = self._orders["file"]
        if page.status:
            self._fail(f"{file}: the process that wrote it has ended; the file keeps what it has")
            return
        try:
            self._recorder = self._open(file)
        except OSError as error:
            self._fail(f"{file}: {error.strerror}; SlurmUser has to be able to create it: name another FILE")
            return
        self._tell()

    def _open(self, file: str) -> Recorder:
        tables = installed()
        assert tables is not None  # slurmctld's plugin has started the supervisor
        orders = self._orders
        os.makedirs(os.path.dirname(file), 0o700, exist_ok=True)
        what = {"with": orders["with"], "tables": orders["tables"]}
        return Recorder(create(file), tables, Limits(orders["size"], orders["until"]), what)

    def take(self, report: bytes) -> None:
        """Take a report of a worker about a recorded request."""
        if self._recorder is not None:
            self._recorder.take(report)

    def decision(self, decision: Decision) -> None:
        """Do nothing: decisions are for other sinks."""

    def event(self, content: dict[str, Any]) -> None:
        """Do nothing: each worker reports itself how many reports it has lost."""

    def order(self, orders: dict[str, Any]) -> None:
        """Do nothing: a recording keeps the orders that it began with."""

    def turn(self) -> None:
        """Write pending requests, update the status, and end the recording if it is due or was stopped."""
        if self._recorder is None:
            return
        self._recorder.tick()
        now = time.monotonic()
        if self._page.number != self._orders["number"]:
            self._stopped_at = now if self._stopped_at is None else self._stopped_at
            if now - self._stopped_at >= LATE:
                self._recorder.end("it was stopped")
        if self._recorder.ended is not None or now - self._status_at >= STATUS:
            self._status_at = now
            self._tell()

    def close(self) -> None:
        """End the recording, because slurmctld ends."""
        if self._recorder is not None:
            self._recorder.end("slurmctld, or this plugin's processes, ended")
            self._tell()

    def _tell(self) -> None:
        assert self._recorder is not None
        status = self._recorder.status()
        self._page.status = status
        if status["ended"] is not None:
            if self._page.number == self._orders["number"]:
                self._page.end()
            log.info(
                "recording %s: ended with %d requests: %s", self._orders["file"], status["requests"], status["ended"]
            )
            self._recorder = None

    def _fail(self, reason: str) -> None:
        log.error("recording: %s", reason)
        self._page.status = {"requests": 0, "lost": 0, "bytes": 0, "ended": reason}
        self._page.end()


def sink() -> RecordingSink:
    """Return the sink for the page of this process."""
    assert shared.page is not None
    return RecordingSink(shared.page)
