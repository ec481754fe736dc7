# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what is reported, and exports the counts to Prometheus: over a Unix socket, and as a file for node_exporter.

Only the collector imports this module. docs/metrics.md lists the metrics.
"""

from __future__ import annotations

import importlib
import os
import socket
import socketserver
import stat
import time
from contextlib import suppress
from functools import partial
from struct import Struct
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    MetricsHandler,
    disable_created_metrics,
    generate_latest,
)

from slurmhooks.config.controller import FILE_MODES
from slurmhooks.files import durable
from slurmhooks.log import log
from slurmhooks.processes.control import VERDICTS
from slurmhooks.wire.protocol import Unserved

if TYPE_CHECKING:
    from slurmhooks.collector.checked import Decision

SOCKET_MODE = {"owner": 0o600, "group": 0o660, "everyone": 0o666}
BUCKETS = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds. Handlers that only compute take some microseconds; those that ask a service may take until the deadline."""
REPEAT = 60.0
"""Seconds before the same error is logged again."""
EXCLUDED = VERDICTS[Unserved.EXCLUDED]
READ_LIMIT = 5.0
"""Seconds that a reader may take for its request and the answer together."""
MOST_READERS = 64
"""Readers that are answered at once."""
MOST_OF_USER = 4
"""Readers of one user that are answered at once, so that no user can keep others out."""
WATCHED = "slurmhooks.jobcomp.waiting", "Watched"
"""Module and class that look at a spool. They know its format, and so belong to a higher layer."""
_PEER = Struct("=iII")


class Counts:
    """The metrics of one plugin.

    Attributes:
        registry: prometheus_client's registry of all metrics.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of_hook, of_handler = ("point", "hook"), ("point", "hook", "handler")
        counter = partial(Counter, namespace="slurmhooks", registry=self.registry)
        gauge = partial(Gauge, namespace="slurmhooks", registry=self.registry)
        seconds = partial(Histogram, namespace="slurmhooks", registry=self.registry, buckets=BUCKETS)
        self.requests = counter("requests", "Requests, by verdict.", (*of_hook, "verdict"))
        self.seconds = seconds("request_seconds", "Time that all handlers of a request took.", of_hook)
        self.handler_seconds = seconds("handler_seconds", "Time that a handler took.", of_handler)
        self.outcomes = counter("handler_outcomes", "Calls of a handler, by outcome.", (*of_handler, "outcome"))
        self.bugs = counter("handler_bugs", "Bugs in a handler, including those that let the request pass.", of_handler)
        self.timeouts = counter(
            "handler_timeouts", "Deadlines that a handler missed; each ends its worker.", of_handler
        )
        self.worker_ends = counter("worker_ends", "Ends of workers, by reason.", ("point", "reason"))
        self.unobserved = counter("requests_unobserved", "Requests that observing handlers missed.", of_hook)
        self.dropped = counter("reports_dropped", "Lost reports of workers.", ("point",))
        self.generation = gauge("generation", "Number of the generation in force; 0: none.", ("point",))
        self.since = gauge(
            "generation_since_timestamp_seconds", "When the generation in force went into service.", ("point",)
        )
        self.hooks = gauge("hooks_info", "Id of the set in force.", ("point", "hooks"))
        self.refused = gauge("hooks_refused", "1: the newest hook files are not in force.", ("point",))
        self.waiting = gauge("spool_waiting", "Records in the spool that wait for delivery.", ("point",))
        self.oldest = gauge(
            "spool_oldest_timestamp_seconds", "When Slurm made the oldest of them; 0: none waits.", ("point",)
        )
        self.dead = gauge("spool_dead", "Records that were given up, and are kept as dead letters.", ("point",))
        self.starts = gauge("collector_starts", "Starts of the collector, which exports these metrics.", ("point",))


class Metrics:
    """Counts and exports; see slurmhooks.collector.collection.Sink."""

    def __init__(self, orders: dict[str, Any]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # the time of each counter doubles the text
        self._counts = Counts()
        self._server: _Server | None = None
        self._settings: dict[str, Any] = {}
        self._write_at = self._look_at = 0.0
        self._told_at = 0.0
        self._spool: Any = None
        self.order(orders)

    def order(self, orders: dict[str, Any]) -> None:
        """Note which generation is in force, and export the counts as the configuration says."""
        counts, point = self._counts, orders["point"]
        self._point = point
        counts.generation.labels(point).set(orders.get("generation") or 0)
        counts.since.labels(point).set(orders.get("since") or 0)
        counts.refused.labels(point).set(bool(orders.get("fault")))
        counts.starts.labels(point).set(orders.get("starts", 1))
        counts.hooks.clear()
        counts.hooks.labels(point, orders.get("hooks", "")).set(1)
        counts.dropped.labels(point)
        settings = orders["metrics"]
        if settings != self._settings:
            self.close()
            self._settings = settings
            self._write_at = self._look_at = 0.0
            module, name = WATCHED
            folder = settings.get("spool")
            self._spool = getattr(importlib.import_module(module), name)(folder) if folder else None
        self.turn()

    def decision(self, decision: Decision) -> None:
        """Count a request."""
        counts, point, hook = self._counts, self._point, decision.hook
        if decision.verdict is not None:  # otherwise the request has been counted already
            counts.requests.labels(point, hook, decision.verdict).inc()
            counts.seconds.labels(point, hook).observe(decision.microseconds / 1e6)
        else:
            counts.unobserved.labels(point, hook).inc(decision.more.get("unobserved", 0))
        for handler, outcome, microseconds, _, more in decision.handlers:
            counts.handler_seconds.labels(point, hook, handler).observe(microseconds / 1e6)
            counts.outcomes.labels(point, hook, handler, outcome).inc()
            if "error" in more:
                counts.bugs.labels(point, hook, handler).inc()

    def event(self, content: dict[str, Any]) -> None:
        """Count an event, which is not a decision."""
        counts, point = self._counts, self._point
        match content["event"]:
            case "dropped":
                counts.dropped.labels(point).inc(content["count"])
            case "worker_ended":
                counts.worker_ends.labels(point, content["reason"]).inc()
            case "unserved":
                if content["verdict"] != EXCLUDED:
                    counts.requests.labels(point, content["hook"], content["verdict"]).inc()
                if content["cause"] in ("timeout", "invalid message"):  # slurmctld has killed the worker
                    counts.worker_ends.labels(point, content["cause"]).inc()
                for each in content.get("handlers", ()) if content["cause"] == "timeout" else ():
                    counts.timeouts.labels(point, content["hook"], each["handler"]).inc()

    def turn(self) -> None:
        """Write the file if it is due, and create the socket if it does not exist."""
        settings, now = self._settings, time.monotonic()
        if self._spool is not None and now >= self._look_at:
            self._look_at = now + settings["interval"]
            self._look()
        try:
            if settings["socket"] and self._server is None:
                self._server = _serve(settings["socket"], SOCKET_MODE[settings["readers"]], self._counts.registry)
            if settings["textfile"] and now >= self._write_at:
                self._write_at = now + settings["interval"]
                # The folder usually belongs to another user, who may put links in it.
                text = generate_latest(self._counts.registry)
                durable.write(settings["textfile"], text, FILE_MODES[settings["readers"]], sync=False)
        except OSError as error:
            self._tell("metrics cannot be shown: %s", error)

    def _tell(self, text: str, error: BaseException) -> None:
        """Log an error, unless one was logged just now."""
        now = time.monotonic()
        if not self._told_at or now - self._told_at > REPEAT:
            self._told_at = now
            log.error(text, error)

    def _look(self) -> None:
        """Count what waits in the spool; what is not known has no number."""
        counts = self._counts
        gauges = (counts.waiting, counts.oldest, counts.dead)
        for gauge in gauges:
            gauge.clear()
        try:
            for gauge, number in zip(gauges, self._spool.look(), strict=True):
                gauge.labels(self._point).set(number)
        except (OSError, MemoryError) as error:  # decisions are still counted
            self._tell("metrics lack the spool: %r", error)

    def close(self) -> None:
        """Write the last counts, and remove the socket."""
        self._write_at = 0.0
        if self._settings:
            self.turn()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            with suppress(OSError):
                # After a restart of slurmctld the next collector listens while this one ends.
                if os.path.samestat(os.lstat(self._settings["socket"]), os.fstat(self._server.file)):
                    os.unlink(self._settings["socket"])
            os.close(self._server.file)
            self._server = None


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers readers, each in a thread, so that a slow one delays only itself.

    Attributes:
        file: a descriptor of the socket's name in the file system.
    """

    daemon_threads = True
    request_queue_size = MOST_READERS

    def __init__(self, path: str, handler: type[socketserver.BaseRequestHandler]) -> None:
        self._lock = Lock()
        self._readers: dict[Any, tuple[int, float]] = {}
        """The user of each connection, and when it is closed."""
        super().__init__(path, handler)

    def verify_request(self, request: Any, client_address: object) -> bool:
        """Accept a connection, unless its user has too many.

        If all users together have too many, the oldest one ends: one user may have thousands of subordinate ids, and a
        program that collects metrics needs its connection for milliseconds.
        """
        _, uid, _ = _PEER.unpack(request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        with self._lock:
            if sum(user == uid for user, _ in self._readers.values()) >= MOST_OF_USER:
                return False
            if len(self._readers) >= MOST_READERS:
                oldest = next(iter(self._readers))
                del self._readers[oldest]
                with suppress(OSError):  # the reader has ended it
                    oldest.shutdown(socket.SHUT_RDWR)
            self._readers[request] = uid, time.monotonic() + READ_LIMIT
        return True

    def service_actions(self) -> None:
        """End connections that have taken too long; called about twice a second."""
        now = time.monotonic()
        with self._lock:
            for request, (_, until) in self._readers.items():
                if now >= until:
                    with suppress(OSError):  # the reader has ended it
                        request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._readers.pop(request, None)
        super().shutdown_request(request)

    def server_bind(self) -> None:
        """Create the socket."""
        super().server_bind()
        # Kept open, so that the next collector's socket does not get the same inode.
        self.file = os.open(str(self.server_address), os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore readers that are slow or have disconnected."""


def _serve(path: str, mode: int, registry: CollectorRegistry) -> _Server:
    """Listen at a path, in a thread.

    Raises:
        OSError: the socket cannot be created.
    """

    class Handler(MetricsHandler):
        pass

    Handler.registry = registry
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        # Remove the socket of a collector that was killed; anything else makes bind() fail.
        if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid():
            os.unlink(path)
    before = os.umask(0o777 & ~mode)
    try:
        server = _Server(path, Handler)
    finally:
        os.umask(before)
    Thread(target=server.serve_forever, daemon=True).start()
    return server
