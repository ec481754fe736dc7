# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what is reported, and writes them to a file for node_exporter.

Only the collector imports this module. docs/metrics.md lists the metrics.
"""

from __future__ import annotations

import importlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
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

BUCKETS = (50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds. Handlers that only compute take some microseconds; those that ask a service may take until the deadline."""
REPEAT = 60.0
"""Seconds before the same error is logged again."""
EXCLUDED = VERDICTS[Unserved.EXCLUDED]
WATCHED = "slurmhooks.jobcomp.waiting", "Watched"
"""Module and class that look at a spool. They know its format, and so belong to a higher layer."""


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
        """Write the file if it is due."""
        settings, now = self._settings, time.monotonic()
        if self._spool is not None and now >= self._look_at:
            self._look_at = now + settings["interval"]
            self._look()
        try:
            if now >= self._write_at:
                self._write_at = now + settings["interval"]
                # The folder usually belongs to another user, who may put links in it.
                text = generate_latest(self._counts.registry)
                durable.write(settings["textfile"], text, FILE_MODES[settings["readers"]], sync=False)
        except OSError as error:
            self._tell("metrics are not written: %s", error)

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
        """Write the last counts."""
        self._write_at = 0.0
        if self._settings:
            self.turn()
