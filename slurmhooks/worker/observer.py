# SPDX-License-Identifier: GPL-2.0-or-later
"""The process of a generation that runs handlers with mode "observe", after the answer.

Workers send requests to this process without ever waiting (reporting.py). It runs the handlers of one request at a
time, and cannot harm a request: if a handler hangs, crashes or takes too much memory, the generation replaces the
process. A request stays in the socket until all its handlers have run, so the next process continues with that request,
without the handler that ended the previous process.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from slurmhooks.collector import reporting
from slurmhooks.log import log
from slurmhooks.processes import process
from slurmhooks.worker import accepted, worker
from slurmhooks.worker.companion import BUSY, IDLE, STARTING, Companion, Page, asks, begin, ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.worker.channel import Channel
    from slurmhooks.worker.interface import Query, Service

OBSERVE = 1
"""The kind of the reports that workers send."""
DRAIN = 2.0
"""Seconds that a replaced generation has to finish observing."""
REPORT = 60.0
"""Seconds between two log lines about dropped requests."""
_NO_HANDLER = -1
"""Instead of the index of a handler: the process ended while no handler was running."""


class Observer(Companion):
    """The generation's side."""

    def __init__(self, service: Service, number: int, supervisor: socket.socket) -> None:
        super().__init__(service, number, supervisor)
        self._reporter, self._requests = reporting.pair()
        service.observed_by(lambda data: self._reporter.report(OBSERVE, data))
        self._ended: dict[int, str] = {}  # what has ended processes during the request that is next; see Progress
        self._finish_at: float | None = None

    def tend(self, leave: Callable[[], None]) -> None:
        """Start the process, end it if a handler takes too long, replace it if it has ended.

        Args:
            leave: called in the forked process; closes what belongs to the generation.
        """
        now = time.monotonic()
        if self._pid:
            _, _, deadline, _, label = self._page.read()
            if deadline and now > deadline:
                self._kill(f"missed the time limit of {label} and was killed")
            elif self._finish_at is not None and now > self._finish_at:
                self._kill("was killed, as other hooks are in force")
            elif self._has_ended():
                self._forget()
        if not self._pid and self._finish_at is None and self._backoff.is_over:
            self._start(leave, self._run, "no observer can be started: %s; no request is affected")

    def finish(self, *, at_once: bool) -> None:
        """Make the process end: now, or when it has observed what workers have sent, but within DRAIN seconds."""
        if self._finish_at is None:
            self._reporter.close()
            self._requests.close()
        self._finish_at = 0.0 if at_once else time.monotonic() + DRAIN

    def forked(self) -> None:
        """Close, in a forked worker, what it does not need."""
        self._requests.close()

    def _run(self, channel: Channel, parent: int) -> None:
        accepted.shared = None  # slurmctld has decided about these requests long ago
        self._reporter.close()
        begin(self._service, channel, parent, "slurmhooks-obs")
        progress = Progress(self._page, self._ended)
        progress.idle()
        serve(self._service, self._requests, asks(channel), progress)
        self._service.stop()

    def _kill(self, how: str) -> None:
        process.kill(self._pid, group=True)
        self._forget(how)

    def _forget(self, how: str = "") -> None:
        """Note what the process was doing when it ended, and why it was killed, unless it ended by itself."""
        pid, status = self._reap()
        state, begun, deadline, place, label = self._page.read()
        how = how or process.describe(status) + (f" in {label}" if deadline else "")
        if status and self._finish_at != 0:
            log.error("observer %d %s; no request is affected", pid, how)
        if begun > 1 or state != BUSY:
            self._ended = {}  # earlier processes ended during another request
        if state == BUSY:
            self._ended[place if deadline else _NO_HANDLER] = how
        if state == STARTING:
            self._backoff.failed()
        else:
            self._backoff.succeeded()


class Progress:
    """What a service learns about a request, and reports while it observes; implements ``Progress`` of interface.py."""

    def __init__(self, page: Page, ended: dict[int, str]) -> None:
        """Begin with the first request.

        ``ended`` is what has ended earlier processes during this request, by the index of the handler, or _NO_HANDLER.
        """
        self._page = page
        self._pid = os.getpid()
        self._begun = 0
        self.ended = ended
        self.dropped = 0
        self._missed = 0
        self._report_at = 0.0

    def next(self, dropped: int) -> None:
        """Note that a request begins, and the number of requests that were dropped before this one."""
        self._begun += 1
        if self._begun > 1:
            self.ended = {}
        self.dropped = dropped
        self._missed += dropped
        if self._missed and time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + REPORT
            log.error("%d requests were not observed: too many waited for the observer", self._missed)
            self._missed = 0
        self.end()

    def begin(self, place: int, label: str, timeout: float) -> None:
        """Note that a handler begins."""
        deadline = time.monotonic() + timeout
        self._page.write(BUSY, self._begun, deadline, place, label)

    def end(self) -> None:
        """Note that no handler runs; end this process if it is a child that a handler forked."""
        ended(self._page, self._pid)
        self._page.write(BUSY, self._begun)

    def idle(self) -> None:
        """Note that all handlers of a request have run, or that no request has arrived yet."""
        self.end()
        self._page.write(IDLE, self._begun)


def serve(service: Service, requests: socket.socket, query: Query, progress: Progress) -> None:
    """Observe until all workers have ended and no request is left, or this process has used too much memory."""
    while (report := reporting.receive(requests, socket.MSG_PEEK)) is not None:
        progress.next(report.dropped)
        if _NO_HANDLER not in progress.ended:
            service.observe(report.data, query, progress)
        progress.idle()
        reporting.receive(requests)
        if worker.is_bloated(service.settings):
            return
