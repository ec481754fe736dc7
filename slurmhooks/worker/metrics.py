# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what is reported, and exports the counts to Prometheus: over a Unix socket, and as a file for node_exporter.

Only the collector imports this module. docs/metrics.md lists the metrics.
"""

from __future__ import annotations

import os
import socketserver
import stat
import time
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    MetricsHandler,
    disable_created_metrics,
    write_to_textfile,
)

from slurmhooks.log import log
from slurmhooks.worker.control import VERDICTS

UMASK = {"owner": 0o077, "group": 0o027, "everyone": 0o022}
SOCKET_MODE = {"owner": 0o600, "group": 0o660, "everyone": 0o666}
BUCKETS = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds. Handlers that only compute take some microseconds; those that ask a service may take until the deadline."""
REPEAT = 60.0
"""Seconds before the same error is logged again."""
LEFT_OUT = VERDICTS[0]
READ_LIMIT = 2.0
"""Seconds that a reader may take for each part of its request."""


class Counts:
    """The metrics of one plugin.

    Attributes:
        registry: prometheus_client's registry of all metrics.
    """

    def __init__(self) -> None:
        """Begin to count."""
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
        self.hooks = gauge("hooks_info", "Hash of the hook files in force.", ("point", "hooks"))
        self.refused = gauge("hooks_refused", "1: the newest hook files are not in force.", ("point",))
        self.starts = gauge("collector_starts", "Starts of the collector, which exports these metrics.", ("point",))


class Metrics:
    """Counts and exports; see slurmhooks.worker.collection.Sink."""

    def __init__(self, orders: dict[str, Any]) -> None:
        """Begin to count."""
        disable_created_metrics()  # type: ignore[no-untyped-call] # the time of each counter doubles the text
        self._counts = Counts()
        self._server: _Server | None = None
        self._settings: dict[str, Any] = {}
        self._write_at = 0.0
        self._told_at = 0.0
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
            os.umask(UMASK[settings["readers"]])
            self._write_at = 0.0
        self.turn()

    def decision(self, content: dict[str, Any]) -> None:
        """Count a request."""
        counts, point, hook = self._counts, self._point, content["hook"]
        if not content.get("observed"):  # otherwise the request has been counted already
            counts.requests.labels(point, hook, content["verdict"]).inc()
            counts.seconds.labels(point, hook).observe(content["microseconds"] / 1e6)
        else:
            counts.unobserved.labels(point, hook).inc(content.get("unobserved", 0))
        for each in content["handlers"]:
            handler = each["handler"]
            counts.handler_seconds.labels(point, hook, handler).observe(each["microseconds"] / 1e6)
            counts.outcomes.labels(point, hook, handler, each["outcome"]).inc()
            if "error" in each:
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
                if content["verdict"] != LEFT_OUT:
                    counts.requests.labels(point, content["hook"], content["verdict"]).inc()
                if content["cause"] in ("timeout", "invalid message"):  # slurmctld has killed the worker
                    counts.worker_ends.labels(point, content["cause"]).inc()
                for each in content.get("handlers", ()) if content["cause"] == "timeout" else ():
                    counts.timeouts.labels(point, content["hook"], each["handler"]).inc()

    def turn(self) -> None:
        """Write the file if it is due, and create the socket if it does not exist."""
        settings, now = self._settings, time.monotonic()
        try:
            if settings["socket"] and self._server is None:
                self._server = _serve(settings["socket"], SOCKET_MODE[settings["readers"]], self._counts.registry)
            if settings["textfile"] and now >= self._write_at:
                self._write_at = now + settings["interval"]
                write_to_textfile(settings["textfile"], self._counts.registry)
        except OSError as error:
            if not self._told_at or now - self._told_at > REPEAT:
                self._told_at = now
                log.error("metrics cannot be shown: %s", error)

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


class _Server(socketserver.UnixStreamServer):
    """Answers one reader at a time.

    Attributes:
        file: a descriptor of the socket's name in the file system.
    """

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
        timeout = READ_LIMIT

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
