# SPDX-License-Identifier: GPL-2.0-or-later
"""The process of a generation that runs handlers after the answer, those that observe.

Workers send requests to it without ever waiting (reporting.py). It runs one at a time, and what it does cannot hurt a
request: if a handler hangs, crashes or takes too much memory, the generation replaces the process. A request stays in
the socket until all its handlers have run, so the next process goes on with it, without the handler that ended the last
one.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import suppress
from mmap import mmap
from struct import Struct
from typing import TYPE_CHECKING

from slurmhooks.errors import StaleHandleError
from slurmhooks.log import log
from slurmhooks.worker import confinement, control, process, reporting, worker
from slurmhooks.worker.channel import QUERY, Channel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from slurmhooks.worker.service import Query, Service

OBSERVE = 1
"""The kind of what workers send."""
RETRY = 1.0
RETRY_MOST = 60.0
"""Seconds between two attempts to start a process that ends before it can observe: each time twice as many."""
DRAIN = 2.0
"""Seconds for what is still to be observed when a generation ends that was replaced."""
REPORT = 60.0
"""Seconds between two lines on requests that were dropped."""
_PAGE = 4096
_STATE = Struct("=IIdII")
"""On the status page: what the process does, how many requests it has begun, when the running handler is to be killed
(0: none runs), the place of the handler, and the size of its name, which follows."""
_STARTING, _IDLE, _BUSY = range(3)
_NO_HANDLER = -1
"""In the place of a handler: the process has ended outside of all handlers."""


class Page:
    """What the process says to the generation, in memory that both share."""

    def __init__(self) -> None:
        """Share memory with processes that are forked from now on."""
        self._memory = mmap(-1, _PAGE)

    def write(self, state: int, begun: int, deadline: float = 0.0, place: int = 0, label: str = "") -> None:
        """Say what is being done."""
        name = label.encode("utf-8", "replace")[: _PAGE - _STATE.size]
        self._memory[: _STATE.size + len(name)] = _STATE.pack(state, begun, deadline, place, len(name)) + name

    def read(self) -> tuple[int, int, float, int, str]:
        """Return what is being done, see _STATE; the label of the handler comes last."""
        state, begun, deadline, place, size = _STATE.unpack_from(self._memory)
        name = self._memory[_STATE.size : _STATE.size + min(size, _PAGE - _STATE.size)]
        return state, begun, deadline, place, name.decode("utf-8", "replace")


class Observer:
    """The generation's side."""

    def __init__(self, service: Service, number: int, supervisor: socket.socket) -> None:
        """Prepare for one service.

        Args:
            service: what the process runs.
            number: of the generation.
            supervisor: passes a channel for questions on to slurmctld.
        """
        self._service = service
        self._number = number
        self._supervisor = supervisor
        self._reporter, self._requests = reporting.pair()
        service.observed_by(lambda data: self._reporter.report(OBSERVE, data))
        self._page = Page()
        self._pid = 0
        self._ended: dict[int, str] = {}  # what ended processes with the request that is next; see Observing
        self._failures = 0
        self._retry_at = 0.0
        self._finish_at: float | None = None

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._pid != 0

    def wait(self, most: float) -> float:
        """Return how long the generation may sleep."""
        deadline = self._page.read()[2]
        return max(0.0, min(most, deadline - time.monotonic())) if self._pid and deadline else most

    def tend(self, leave: Callable[[], None]) -> None:
        """Start the process, end it if a handler takes too long, replace it if it has ended.

        Args:
            leave: closes in a forked process what is the generation's.
        """
        now = time.monotonic()
        if self._pid:
            _, _, deadline, _, label = self._page.read()
            if deadline and now > deadline:
                self._kill(f"missed the time limit of {label} and was killed")
            elif self._finish_at is not None and now > self._finish_at:
                self._kill("was killed, as other hooks are in force")
            elif os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self._forget()
        if not self._pid and self._finish_at is None and now >= self._retry_at:
            self._start(leave)

    def finish(self, *, at_once: bool) -> None:
        """Have the process end when it has observed what workers have sent, but within DRAIN; or now."""
        if self._finish_at is None:
            self._reporter.close()
            self._requests.close()
        self._finish_at = 0.0 if at_once else time.monotonic() + DRAIN

    def forked(self) -> None:
        """Close, in a worker, what is not its own."""
        self._requests.close()

    def _start(self, leave: Callable[[], None]) -> None:
        self._page.write(_STARTING, 0)
        me = os.getpid()
        try:
            pid, ours, theirs = process.fork(socket.SOCK_STREAM)
        except OSError as error:
            log.error("no observer can be started: %s; no request is affected", error.strerror)
            self._pause()
            return
        if not pid:
            leave()
            ours.close()
            self._reporter.close()
            main(self._service, self._requests, Channel(theirs), self._page, self._ended, me)
        theirs.close()
        self._pid = pid
        with suppress(OSError):  # the supervisor has ended, and so will this generation
            control.send(self._supervisor, control.Message(control.OBSERVER, self._number, pid, fds=(ours.fileno(),)))
        ours.close()

    def _kill(self, how: str) -> None:
        process.kill(self._pid, group=True)
        self._forget(how)

    def _forget(self, how: str = "") -> None:
        """Note what the process did when it ended.

        Args:
            how: it was killed; empty: it has ended by itself.
        """
        process.kill(self._pid, group=True)  # the programs that it started
        pid, status = os.waitpid(self._pid, 0)
        self._pid = 0
        state, begun, deadline, place, label = self._page.read()
        how = how or process.describe(status) + (f" in {label}" if deadline else "")
        if status and self._finish_at != 0:
            log.error("observer %d %s; no request is affected", pid, how)
        if begun > 1 or state != _BUSY:
            self._ended = {}  # earlier processes have ended in another request
        if state == _BUSY:
            self._ended[place if deadline else _NO_HANDLER] = how
        if state == _STARTING:
            self._pause()
        else:
            self._failures = 0

    def _pause(self) -> None:
        """Wait before the next attempt to start the process."""
        self._failures += 1
        self._retry_at = time.monotonic() + min(RETRY_MOST, RETRY * 2 ** min(self._failures - 1, 10))


class Observing:
    """What a service is told of a request, and what it tells: ``Running`` of service.py."""

    def __init__(self, page: Page, ended: dict[int, str]) -> None:
        """Begin with the first request.

        Args:
            page: tells the generation.
            ended: what has ended other processes with this request, by the places of handlers, or _NO_HANDLER.
        """
        self._page = page
        self._pid = os.getpid()
        self._begun = 0
        self.ended = ended
        self.dropped = 0
        self._missed = 0
        self._report_at = 0.0

    def next(self, dropped: int) -> None:
        """Note that a request begins.

        Args:
            dropped: requests that were dropped before it.
        """
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
        self._page.write(_BUSY, self._begun, deadline, place, label)

    def end(self) -> None:
        """Note that no handler runs; end this process if it is a child that a handler forked."""
        if os.getpid() != self._pid:
            log.error("a handler has forked and its child came back, which ends here: have it call os._exit()")
            os._exit(1)
        self._page.write(_BUSY, self._begun)

    def idle(self) -> None:
        """Note that all handlers of a request have run, or that none has come yet."""
        self.end()
        self._page.write(_IDLE, self._begun)


def _query(channel: Channel) -> Query:
    def query(question: bytes) -> bytes:
        reply = None
        with suppress(ConnectionError):
            reply = None if channel.inherited else channel.ask(QUERY, question)
        if reply is None:
            raise StaleHandleError("slurmctld does not answer questions of this process")
        return reply

    return query


def serve(service: Service, requests: socket.socket, query: Query, observing: Observing) -> None:
    """Observe requests until all workers have ended and none is left, or this process has had too much memory."""
    while (report := reporting.receive(requests, socket.MSG_PEEK)) is not None:
        observing.next(report.dropped)
        if _NO_HANDLER not in observing.ended:
            service.observe(report.data, query, observing)
        observing.idle()
        reporting.receive(requests)
        if worker.is_bloated(service.settings):
            return


def main(
    service: Service, requests: socket.socket, channel: Channel, page: Page, ended: dict[int, str], parent: int
) -> NoReturn:
    """Run in a forked child, which ends here and nowhere else.

    Args:
        service: the handlers, as the generation loaded them.
        requests: what workers send.
        channel: for questions to slurmctld.
        page: tells the generation what runs.
        ended: see Observing.
        parent: the process id of the generation.
    """
    process.end_after(lambda: _run(service, requests, channel, page, ended, parent))


def _run(
    service: Service, requests: socket.socket, channel: Channel, page: Page, ended: dict[int, str], parent: int
) -> None:
    os.setsid()
    process.die_with(parent)
    process.name("slurmhooks-obs")
    confinement.limit(service.settings)
    os.register_at_fork(after_in_child=channel.close)
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # a TextIOWrapper
    service.start()
    observing = Observing(page, ended)
    observing.idle()
    serve(service, requests, _query(channel), observing)
    service.stop()
