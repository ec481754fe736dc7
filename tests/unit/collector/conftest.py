# SPDX-License-Identifier: GPL-2.0-or-later
"""A running collector that writes a decision log."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.collector import reporting
from slurmhooks.collector.checked import Decision
from slurmhooks.collector.collector import Collector
from slurmhooks.processes import backoff

Lines = Callable[[], list[dict[str, Any]]]


DECISION = Decision(
    id="0123456789ab",
    time=1.5,
    hook="job_submit",
    job=None,
    record=None,
    facts={"user_id": 0},
    by=None,
    verdict="accepted",
    more={},
    handlers=[("limits:account", "passed", 30, None, {})],
    microseconds=40,
    generation=1,
    hooks="abc",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the decision log, whose folder does not exist yet."""
    return tmp_path / "log" / "job_submit.jsonl"


@pytest.fixture
def lines(file: Path) -> Lines:
    """Return the lines of the decision log."""

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []

    return read


@pytest.fixture
def errors(tmp_path: Path) -> Path:
    """The file that a collector has as its standard error."""
    return tmp_path / "errors"


@pytest.fixture
def running(
    file: Path, errors: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Collector]:
    """A running collector that writes a decision log; a parameter has settings for it.

    Later orders may arrive after a report, which has another socket.
    """
    monkeypatch.setattr(backoff, "MOST", 0.0)
    collector = Collector()
    collector.order(orders(file, **getattr(request, "param", {})))
    stderr_before = os.dup(2)
    with errors.open("w") as stderr:
        os.dup2(stderr.fileno(), 2)
    collector.tend(lambda: None)
    os.dup2(stderr_before, 2)
    os.close(stderr_before)
    yield collector
    collector.finish()


def orders(file: Path, **settings: Any) -> dict[str, Any]:
    """Return orders to write a decision log."""
    decisions = {"file": str(file), "max_size": 1 << 30, "keep": 2, "sample": 1.0, **settings}
    return {"point": "job_submit", "include": [], "generation": 1, "hooks": "abc", "decisions": decisions}


def report(running: Collector, **changed: Any) -> bool:
    """Report a decision."""
    return running.reporter.report(reporting.DECISION, json.dumps(DECISION._replace(**changed)).encode())
