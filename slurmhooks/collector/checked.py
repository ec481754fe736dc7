# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks reports of workers before the collector uses them: a worker may run as another user, and be hostile.

A worker can still report a wrong decision about its own requests; nobody else knows what its handlers did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from slurmhooks.collector import json_lines
from slurmhooks.log import visible

LONGEST = 1 << 20
"""Maximum bytes of a decision or an event: slurmhooks limits all texts in it."""
LONGEST_NAME = 1024
MOST_SERIES = 10_000
"""Maximum number of different combinations of hook, handler, outcome and the like: the metrics keep counts for each."""


class Decision(NamedTuple):
    """What a process reports about one request: a list in JSON, because keys would take as long as values.

    Attributes:
        id: of the request, or of the run of a periodic handler.
        time: when it began, in seconds since the epoch.
        hook: name of the hook.
        job: values of the request that distinguish its job from others, or None; see slurmctld/logged_fields.py.
        record: the same of the job's record, or None.
        facts: what else is known about the job.
        by: user id of the sender, or None.
        verdict: how the request ended; None: it is about handlers that observed.
        more: other keys of the line, such as ``text``.
        handlers: one list for each handler that ran: its name, its outcome, its microseconds, what it has changed or
            None (slurmhooks/slurmctld/changes.py), and a dictionary with other keys.
        microseconds: time that all handlers took.
        generation: number of the generation.
        hooks: the id of its set.
    """

    id: str
    time: float
    hook: str
    job: list[Any] | None
    record: list[Any] | None
    facts: dict[str, Any]
    by: int | None
    verdict: str | None
    more: dict[str, Any]
    handlers: list[tuple[str, str, float, list[Any] | None, dict[str, Any]]]
    microseconds: float
    generation: int
    hooks: str


class Checker:
    """Decodes and checks the reports for one collector."""

    def __init__(self) -> None:
        self._series: set[tuple[Any, ...]] = set()

    def decision(self, data: bytes) -> Decision:
        """Return a decision.

        Raises:
            ValueError, TypeError: it is not a decision. RecursionError and MemoryError are possible, too.
        """
        decision = Decision._make(_decoded(data, list))
        _, time, hook, _, _, facts, _, verdict, more, handlers, microseconds, _, _ = decision
        if type(facts) is not dict or type(more) is not dict or type(handlers) is not list:
            raise ValueError("a decision with values of other types")
        series = self._series
        _number(time, "time")
        _number(microseconds, "microseconds")
        if verdict is None:
            _number(more.get("unobserved", 0), "unobserved")
            self._add(hook=hook)
        elif (hook, verdict) not in series:
            self._add(hook=hook, verdict=verdict)
        for name, outcome, took, _, others in handlers:
            _number(took, "microseconds")
            if (hook, name, outcome) not in series:
                self._add(hook=hook, handler=name, outcome=outcome)
            if type(others) is not dict:
                raise ValueError("a handler with values of other types")
        return decision

    def event(self, data: bytes) -> dict[str, Any]:
        """Return an event (slurmhooks/collector/collector.py).

        Raises:
            ValueError, TypeError, KeyError: it is not an event. RecursionError and MemoryError are possible, too.
        """
        content: dict[str, Any] = _decoded(data, dict)
        _number(content.get("time"), "time")
        self._add(event=content.get("event"))
        match content["event"]:
            case "unserved":
                hook = content.get("hook")
                self._add(hook=hook, verdict=content.get("verdict"))
                self._add(cause=content.get("cause"))
                for each in content.get("handlers", ()):
                    self._add(hook=hook, handler=each["handler"], cause=content["cause"])
            case "worker_ended":
                self._add(reason=content.get("reason"))
            case "dropped":
                _number(content.get("count"), "count")
        return content

    def _add(self, **names: Any) -> None:
        """Add a combination of names, unless there are too many."""
        for key, name in names.items():
            if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or visible(name) != name:
                raise ValueError(f"{key} is not a name")
        combination = tuple(names.values())
        if combination in self._series:
            return
        if len(self._series) >= MOST_SERIES:
            raise ValueError(f"{', '.join(names)}: the combination number {MOST_SERIES + 1}")
        self._series.add(combination)


def _decoded(data: bytes, kind: type) -> Any:
    if len(data) > LONGEST:
        raise ValueError(f"{len(data)} bytes; at most {LONGEST} are possible")
    content = json_lines.decode(data)
    if type(content) is not kind:
        raise ValueError(f"a report is not a {kind.__name__}")
    return content


def _number(value: Any, key: str) -> None:
    if type(value) not in (int, float) or not 0 <= value < 1 << 53:
        raise ValueError(f"{key} is not a number")
