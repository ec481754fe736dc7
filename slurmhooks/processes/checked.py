# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks reports of workers before the collector uses them: a worker may run as another user, and be hostile.

A worker can still report a wrong decision about its own requests; nobody else knows what its handlers did.
"""

from __future__ import annotations

from typing import Any

from slurmhooks.processes import quick_json

LONGEST = 1 << 20
"""Maximum bytes of a decision or an event: slurmhooks limits all texts in it."""
LONGEST_NAME = 1024
MOST_NAMES = 10_000
"""Maximum number of different names of handlers, verdicts and the like: each is kept in memory for the metrics."""


class Checker:
    """Decodes and checks the reports for one collector."""

    def __init__(self) -> None:
        """Begin without names."""
        self._names: set[str] = set()

    def decision(self, data: bytes) -> dict[str, Any]:
        """Return a decision (slurmhooks/slurmctld/decision.py).

        Raises:
            ValueError: it is not a decision. RecursionError and MemoryError are possible, too.
        """
        content = _dictionary(data)
        _number(content, "time")
        _number(content, "microseconds")
        self._name(content, "hook")
        if content.get("observed"):
            _number(content, "unobserved", 0)
        else:
            self._name(content, "verdict")
        for each in _list(content, "handlers"):
            _number(each, "microseconds")
            self._name(each, "handler")
            self._name(each, "outcome")
        return content

    def event(self, data: bytes) -> dict[str, Any]:
        """Return an event (slurmhooks/collector/collector.py).

        Raises:
            ValueError: it is not an event. RecursionError and MemoryError are possible, too.
        """
        content = _dictionary(data)
        _number(content, "time")
        self._name(content, "event")
        match content["event"]:
            case "unserved":
                for name in ("hook", "verdict", "cause"):
                    self._name(content, name)
                for each in _list(content, "handlers", []):
                    self._name(each, "handler")
            case "worker_ended":
                self._name(content, "reason")
            case "dropped":
                _number(content, "count")
        return content

    def _name(self, content: dict[str, Any], key: str) -> None:
        name = content.get(key)
        if name in self._names:
            return
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise ValueError(f"{key} is not a name")
        if len(self._names) >= MOST_NAMES:
            raise ValueError(f"{key} is the name number {MOST_NAMES + 1}")
        self._names.add(name)


def _dictionary(data: bytes) -> dict[str, Any]:
    if len(data) > LONGEST:
        raise ValueError(f"{len(data)} bytes; at most {LONGEST} are possible")
    content = quick_json.decode(data)
    if not isinstance(content, dict):
        raise ValueError("a report is not a dictionary")
    return content


def _number(content: dict[str, Any], key: str, default: Any = None) -> None:
    value = content.get(key, default)
    if type(value) not in (int, float) or not 0 <= value < 1 << 53:
        raise ValueError(f"{key} is not a number")


def _list(content: dict[str, Any], key: str, default: Any = None) -> list[dict[str, Any]]:
    value = content.get(key, default)
    if isinstance(value, list):
        for each in value:
            if not isinstance(each, dict):
                break
        else:
            return value
    raise ValueError(f"{key} is not a list of dictionaries")
