# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor's side of the collector, a process that writes what workers report: no worker waits for a disk.

The collector (collection.py) runs no code of a site. It is started once the configuration in force needs it, and
replaced if it ends; the socket keeps what is reported meanwhile, as far as it has room. It ends with the supervisor.
"""

from __future__ import annotations

import array
import json
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slurmhooks.collector import collection, recording_orders, reporting
from slurmhooks.collector.folders import decisions_folder, spool_folder
from slurmhooks.config import plain
from slurmhooks.log import log
from slurmhooks.processes import control, descriptors, process
from slurmhooks.processes.backoff import Backoff
from slurmhooks.recording import page as shared
from slurmhooks.wire.protocol import Result, Unserved

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.config.model import Config
    from slurmhooks.processes.settings import Settings

STABLE = 60.0
"""Seconds of running after which the end of a collector is treated as the first one."""
GRACE = 1.0
"""Seconds that the collector has at the end to write what it has received."""
WHOM = {"user": "by", "JobId": "job_id"}
"""Keys that say whose request it is: as slurmctld sends them, and as decisions have them."""


def wanted(config: Config, point: str) -> dict[str, Any]:
    """Return the orders for the collector of a plugin; an empty dictionary if it has nothing to do."""
    decisions, metrics = config.decisions, config.metrics
    orders: dict[str, Any] = {}
    if decisions.enabled:
        orders["decisions"] = {
            **plain.values("decisions", decisions),
            "file": f"{decisions_folder(decisions.folder)}/{point}.jsonl",
        }
    if metrics.textfiles:
        orders["metrics"] = {
            **plain.values("metrics", metrics),
            "textfile": f"{metrics.textfiles}/slurmhooks_{point}.prom",
            "spool": spool_folder(config.jobcomp.spool) if point == "jobcomp" else None,
        }
    return orders and orders | {"point": point, "include": list(decisions.include)}


class Collector:
    """The collector, as the supervisor sees it. The supervisor gives it orders, but never waits for it.

    Attributes:
        reporter: the sending end of the socket.
        is_renewed: whether the socket has been replaced; only generations that are started later can report.
    """

    def __init__(self) -> None:
        self.reporter, self._reports = reporting.pair()
        self.is_renewed = False
        self._page = shared.page = shared.RecordingPage()
        self._configured: dict[str, Any] = {}
        self._orders: dict[str, Any] = {}
        self._pid = 0
        self._control: socket.socket | None = None
        self._started = 0.0
        self._backoff = Backoff()
        self._trouble: str | None = None
        self._starts = 0
        self._since = 0.0

    def order(self, orders: dict[str, Any]) -> None:
        """Set the orders from the configuration; if they are empty, the collector ends unless it records."""
        self._configured = orders
        self._update()

    def request(self, text: str, point: str) -> dict[str, Any]:
        """Answer a command on recordings; only requests of job_submit are recorded."""
        if not text.startswith("record"):
            return {"findings": [f"unknown request {text!r}"]}
        return recording_orders.answer(text, self._page) if point == "job_submit" else {}

    def _update(self) -> None:
        running = recording_orders.is_running(self._page)
        orders = {**self._configured, **({"recording": self._page.orders} if running else {})}
        if orders == self._orders:
            return
        if orders.get("generation") != self._orders.get("generation"):
            self._since = time.time()
        self._orders = orders
        if self._control is not None:
            self._tell()

    def serve(self, generation: int, settings: Settings) -> None:
        """Set the orders from the configuration that is in force now."""
        state = {"generation": generation, "hooks": settings.hooks, "fault": False}
        self.order({**settings.collect, **state} if settings.collect else {})

    def refused(self) -> None:
        """Note that the newest hook files are not going into service."""
        if self._configured:
            self.order(self._configured | {"fault": True})

    def tend(self, leave: Callable[[], None]) -> None:
        """Start the collector if there is something to do and it is not running.

        ``leave``, which the child calls, closes what belongs to the supervisor.
        """
        self._update()
        if self._pid or not self._orders or not self._backoff.is_over:
            return
        me = os.getpid()
        self._starts += 1
        try:
            self._pid, ours, theirs = process.fork()
        except OSError as error:
            self._backoff.failed()
            log.error("the process that writes decision log and metrics cannot be started: %s", error.strerror)
            return
        if not self._pid:
            leave()
            ours.close()
            self.reporter.close()
            reporting.reporter = None
            collection.main(self._reports, theirs, me)
        theirs.close()
        self._control, self._started = ours, time.monotonic()
        self._tell()

    def _tell(self) -> None:
        """Send the collector its orders; kill it if it does not take them, so that it is replaced."""
        assert self._control is not None
        try:
            document = descriptors.document(self._orders | {"starts": self._starts, "since": self._since})
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [document]))]
            try:
                self._control.sendmsg([b"orders"], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            finally:
                os.close(document)
        except OSError:
            process.kill(self._pid)

    def ended(self, pid: int, status: int) -> bool:
        """Note the end of a child; tell whether it was the collector."""
        if pid != self._pid:
            return False
        self._pid = 0
        self._trouble = None
        if self._control is not None:
            self._control.close()
            self._control = None
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == collection.CUT:
            log.error("a worker has shut down the socket of decision log and metrics; the hooks are loaded again")
            self._renew()
        if time.monotonic() - self._started > STABLE:
            self._backoff.succeeded()
        self._backoff.failed()
        if self._orders:
            how = process.describe(status)
            log.error("the process that writes decision log and metrics %s; starting another one", how)
        return True

    def _renew(self) -> None:
        self.reporter.close()
        self._reports.close()
        self.reporter, self._reports = reporting.pair()
        self.is_renewed = True

    def worker_ended(self, status: int) -> None:
        """Report the end of a worker that slurmctld has not ended."""
        if self._orders:
            event(self.reporter, "worker_ended", reason="crash" if status else "ended")

    def unserved(self, message: control.Message) -> None:
        """Report a request that got no answer, from the message of slurmctld."""
        error_id, hook, whom, handler, reason = message.text.split("\n", 4)
        kind, _, number = whom.replace("=", " ").partition(" ")
        fields: dict[str, Any] = {"hook": hook, "verdict": control.VERDICTS[Unserved(message.value)], "text": reason}
        fields["cause"] = control.CAUSES[Result(message.about)]
        if number.isdecimal() and kind in WHOM:
            fields[WHOM[kind]] = int(number)
        if int(error_id, 16):
            fields["error"] = error_id
        if handler:
            fields["handlers"] = [{"handler": handler, "outcome": "ended its worker"}]
        if self._orders:
            event(self.reporter, "unserved", **fields)

    def close(self) -> None:
        """Close, in a forked child, everything that senders do not need."""
        self._reports.close()
        if self._control is not None:
            self._control.close()

    def finish(self) -> None:
        """End the collector after it has written what it has received. Only here does the supervisor wait for it."""
        self.close()
        self.reporter.close()
        pid, self._pid = self._pid, 0
        until = time.monotonic() + GRACE
        with suppress(ChildProcessError):
            while pid and os.waitpid(pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    process.kill(pid)  # not waited for: the kernel may not be able to end it now
                    break
                time.sleep(0.005)

    @property
    def trouble(self) -> str | None:
        """Why decisions cannot be written, as the collector has told last; None: they can."""
        with suppress(OSError):
            while self._control is not None and (
                told := self._control.recv(collection.MOST_TROUBLE, socket.MSG_DONTWAIT)
            ):
                self._trouble = told[1:].decode("utf-8", "replace") or None
        return self._trouble

    @property
    def pid(self) -> int:
        """The process id; 0 if the collector is not running."""
        return self._pid


def event(reporter: reporting.Reporter, name: str, **fields: Any) -> None:
    """Report an event, which is not a decision."""
    reporter.report(reporting.EVENT, json.dumps({"event": name, "time": time.time(), **fields}).encode())
