# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of the collector: receives reports, and hands each to the sinks that the configuration asks for."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from slurmhooks.collector import reporting
from slurmhooks.log import log, visible
from slurmhooks.processes import descriptors, process, stderr_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.collector.checked import Decision
    from slurmhooks.collector.reporting import Report

TURN = 1.0
"""Maximum seconds between two calls of the sinks' method ``turn``."""
PAUSE = 0.02
"""Seconds to wait while reports accumulate, without looking at their socket: each of them would wake this process."""
MOST = 1000
"""Maximum number of reports to receive before orders are checked again."""
REPEAT = 60.0
"""Seconds before the loss of reports is logged again."""
MEMORY = 1 << 30
"""Maximum bytes of memory that the collector may have, whatever is reported."""
CUT = 3
"""Exit code: a worker has shut down the socket, on which nobody can report any more."""
MOST_TROUBLE = 4096
"""Maximum bytes that tell the supervisor why decisions cannot be written."""
MOST_DROPPED = 1_000_000
"""Maximum number of lost reports that one report may claim."""


class Sink(Protocol):
    """Takes what is reported; none of its methods raises OSError."""

    def decision(self, decision: Decision) -> None:
        """Take a decision."""

    def event(self, content: dict[str, Any]) -> None:
        """Take an event of the supervisor, of a generation, or of the collector: ``dropped``."""

    def order(self, orders: dict[str, Any]) -> None:
        """Take changed orders, in which this sink is still wanted."""

    def turn(self) -> None:
        """Do what is due; called at least every TURN seconds."""

    def close(self) -> None:
        """Write what has not been written yet."""


class Collection:
    """The event loop of the collector.

    Attributes:
        takers: the functions that take reports that are neither decisions nor events, by kind.
    """

    def __init__(self, reports: socket.socket, orders: socket.socket) -> None:
        """Prepare to collect.

        The other end of ``orders`` is closed when the supervisor ends.
        """
        self._reports = reports
        self._orders = orders
        self._sinks: dict[str, Sink] = {}
        self._wanted = False
        self.takers: dict[int, Callable[[bytes], None]] = {}
        self._dropped = 0
        self._told_at = 0.0
        self._ended = False
        from slurmhooks.collector.checked import Checker  # imports a JSON library, which the supervisor does not need

        self._checker = Checker()
        self._invalid = 0
        self._last_invalid = ""
        self._told_invalid_at = 0.0
        self._trouble = ""

    def run(self) -> None:
        """Collect until the supervisor closes its end, then collect the remaining reports."""
        for source in (self._reports, self._orders):
            source.setblocking(False)
        # Reports may have arrived already, but without orders it is unknown which sinks they are for.
        select.select([self._orders], [], [])
        going = self._take_orders()
        of_both, of_orders = select.poll(), select.poll()
        of_both.register(self._reports, select.POLLIN)
        for poller in (of_both, of_orders):
            poller.register(self._orders, select.POLLIN)
        while going:
            is_busy = self._take_reports()
            if not is_busy and self._is_cut():
                break
            self._tell_dropped()
            self._tell_invalid()
            for sink in self._sinks.values():
                sink.turn()
            self._tell_trouble()
            ready = of_orders.poll(PAUSE * 1000) if is_busy else of_both.poll(TURN * 1000)
            if any(fd == self._orders.fileno() for fd, _ in ready):
                going = self._take_orders()
        while self._take_reports():
            pass
        for sink in self._sinks.values():
            sink.close()
        if going:
            os._exit(CUT)

    def _is_cut(self) -> bool:
        """Tell whether no report can arrive any more, although the supervisor, which is a sender, has not ended."""
        return self._ended and not select.select([self._orders], [], [], 0)[0]

    def _take_orders(self) -> bool:
        """Take all orders that have arrived; tell whether the last ones want anything, even if it does not work."""
        while True:
            try:
                _, documents, _, _ = socket.recv_fds(self._orders, 64, 1)
            except BlockingIOError:
                return self._wanted
            except ConnectionError:  # the supervisor has ended, and had not read what this process said
                return False
            if not documents:
                return False
            self._order(descriptors.values(documents[0]))

    def _order(self, orders: dict[str, Any]) -> None:
        self._wanted = not SINKS.keys().isdisjoint(orders)
        for name, make in SINKS.items():
            sink = self._sinks.get(name)
            if name in orders and sink is None:
                try:
                    sink = self._sinks[name] = make(orders)
                    self.takers.update(getattr(sink, "takers", {}))
                except ImportError as error:
                    log.error("[%s] does not work: %s", name, error)
            elif name in orders and sink is not None:
                sink.order(orders)
            elif sink is not None:
                self._sinks.pop(name).close()

    def _take_reports(self) -> int:
        """Take some reports; return how many, or 0 if there are none."""
        for count in range(MOST):
            try:
                report = reporting.receive(self._reports)
                if report is None:
                    self._ended = True
                    return count
                self._take(report)
            except BlockingIOError:
                return count
            except Exception as error:  # noqa: BLE001 - a worker may be hostile: one report must not end all others
                self._invalid += 1
                self._last_invalid = f"{type(error).__name__}: {error}"
        return MOST

    def _take(self, report: Report) -> None:
        """Hand a report to the sinks.

        Raises:
            ValueError: it is not a report of slurmhooks. Checks and sinks may raise other exceptions.
        """
        kind, data, dropped = report
        if kind == reporting.DECISION:
            decision = self._checker.decision(data)
            for sink in self._sinks.values():
                sink.decision(decision)
        elif kind == reporting.EVENT:
            content = self._checker.event(data)
            for sink in self._sinks.values():
                sink.event(content)
        elif kind in self.takers:
            self.takers[kind](data)
        elif kind != reporting.RECORDED:  # otherwise no recording is running any more
            raise ValueError(f"a report of kind {kind}")
        if dropped:
            self._dropped += min(dropped, MOST_DROPPED)

    def _tell_trouble(self) -> None:
        """Tell the supervisor, if that has changed, why decisions cannot be written; see Collector.trouble."""
        trouble = getattr(self._sinks.get("decisions"), "trouble", None) or ""
        if trouble != self._trouble:
            with suppress(OSError):  # it is told again later, or the supervisor has ended
                self._orders.send(f"={trouble}".encode("utf-8", "surrogateescape")[:MOST_TROUBLE])
                self._trouble = trouble

    def _tell_invalid(self) -> None:
        """Log how many reports were invalid, at most every REPEAT seconds."""
        now = time.monotonic()
        if self._invalid and (not self._told_invalid_at or now - self._told_invalid_at > REPEAT):
            log.error(
                "%d reports of workers were invalid, and are ignored; the last one: %s",
                *(self._invalid, visible(self._last_invalid, limit=200)),
            )
            self._invalid, self._told_invalid_at = 0, now

    def _tell_dropped(self) -> None:
        """Log and report how many reports were lost, at most every REPEAT seconds."""
        now = time.monotonic()
        if self._dropped and (not self._told_at or now - self._told_at > REPEAT):
            log.error("%d reports of workers were lost: decision log and metrics lack them", self._dropped)
            for sink in self._sinks.values():
                sink.event({"event": "dropped", "time": time.time(), "count": self._dropped})
            self._dropped, self._told_at = 0, now


def _decision_log(orders: dict[str, Any]) -> Sink:
    from slurmhooks.collector.decision_log import DecisionLog

    return DecisionLog(orders)


def _metrics(orders: dict[str, Any]) -> Sink:
    from slurmhooks.collector.metrics import Metrics

    return Metrics(orders)


def _recording(orders: dict[str, Any]) -> Sink:
    from slurmhooks.collector.recording_sink import sink

    return sink()


SINKS: dict[str, Callable[[dict[str, Any]], Sink]] = {
    "decisions": _decision_log,
    "metrics": _metrics,
    "recording": _recording,
}
"""The function that makes each sink, by the name of its orders. Only the collector imports the modules of sinks: they
are slow to import."""


def main(reports: socket.socket, orders: socket.socket, parent: int) -> NoReturn:
    """Run in a child of the supervisor, which ends here and nowhere else."""
    process.end_after(lambda: _run(reports, orders, parent))


def _run(reports: socket.socket, orders: socket.socket, parent: int) -> None:
    os.setsid()
    process.die_with(parent)
    process.name("slurmhooks-coll")
    stderr_log.attach()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # preempts no other process
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # as the supervisor does
    Collection(reports, orders).run()
