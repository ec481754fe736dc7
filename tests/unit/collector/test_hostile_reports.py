# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers report is damaged, endless or hostile: the collector goes on."""

import fcntl
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.collector import checked, reporting
from slurmhooks.collector.collector import Collector
from slurmhooks.processes import descriptors
from tests.native.workers import wait_for
from tests.unit.collector.conftest import DECISION, Lines, report


def sparse() -> int:
    """Return the descriptor of memory that is larger than the machine, and sealed."""
    fd = os.memfd_create("sparse", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 1 << 40)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, descriptors.SEALS)
    return fd


def damaged(**changed: object) -> bytes:
    """Return a report with other values."""
    return json.dumps(DECISION._replace(**changed)).encode()  # type: ignore[arg-type]


DAMAGED: dict[str, Callable[[], tuple[bytes, list[int]]]] = {
    "empty": lambda: (b"{}", []),
    "no JSON": lambda: (b"\xff", []),
    "a list": lambda: (b"[]", []),
    "deeply nested": lambda: (b"", [descriptors.sealed(b"[" * (1 << 20))]),
    "many small values": lambda: (b"", [descriptors.sealed(b"[" + b"[]," * (20 << 20) + b"0]")]),
    "no end": lambda: (b"", [os.open("/dev/zero", os.O_RDONLY)]),
    "a pipe": lambda: (b"", [os.pipe()[0]]),
    "not sealed": lambda: (b"", [os.memfd_create("open")]),
    "huge": lambda: (b"", [sparse()]),
    "two descriptors": lambda: (b"", [descriptors.sealed(b"{}"), descriptors.sealed(b"{}")]),
    "no number": lambda: (damaged(time="now"), []),
    "not finite": lambda: (damaged(time=float("nan")), []),
    "an infinite time": lambda: (damaged().replace(b"1.5", b"1e999"), []),
    "a year that does not exist": lambda: (damaged(time=1e15), []),
    "a value too few": lambda: (json.dumps(DECISION[:-1]).encode(), []),
    "handlers that are no list": lambda: (damaged(handlers=7), []),
    "a handler without a name": lambda: (damaged(handlers=[[]]), []),
    "a handler whose other keys are a list": lambda: (damaged(handlers=[["x", "passed", 1, None, []]]), []),
    "a name that is a list": lambda: (damaged(hook=[1]), []),
    "other keys that are a list": lambda: (damaged(more=[["event", "dropped"]]), []),
    "facts that are a list": lambda: (damaged(facts=[["event", "dropped"]]), []),
    "values of a job that are a number": lambda: (damaged(job=5), []),
    "a user id of the wrong type": lambda: (damaged(facts={"user_id": {}}), []),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_report_ends_nothing(running: Collector, lines: Lines, damage: str) -> None:
    """Whatever a worker reports, and with whatever descriptors, the next decision is logged by the same process."""
    pid = running.pid
    data, fds = DAMAGED[damage]()
    for kind in (reporting.DECISION, reporting.RECORDED, 77):
        socket.send_fds(running.reporter.socket, [reporting.HEADER.pack(kind, 0) + data], fds)
    running.reporter.socket.send(b"x")
    report(running, id="after")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the next decision")
    assert running.pid == pid


def test_a_socket_that_was_shut_down_is_replaced(running: Collector, lines: Lines) -> None:
    """A sender that shuts down the socket, which all share, ends reports only until generations get the next one."""
    first = running.pid
    running.reporter.socket.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: os.waitid(os.P_PID, first, os.WEXITED | os.WNOHANG | os.WNOWAIT), "the end of the collector")
    assert running.ended(*os.waitpid(first, 0))
    assert running.is_renewed
    running.tend(lambda: None)
    report(running, id="after")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the next decision")


def test_damaged_reports_are_told(running: Collector, errors: Path) -> None:
    """slurmctld's log says that reports were invalid, in one line that a hostile worker cannot shape."""
    running.reporter.report(reporting.DECISION, damaged(hook="\x1b[2J" * 9999))
    said = wait_for(lambda: errors.read_text(), "a line")
    assert "reports of workers were invalid, and are ignored" in said
    assert said.count("\n") == 1
    assert said.removeprefix("\0").rstrip("\n").isprintable()


@pytest.mark.parametrize("few", [False, True], ids=["many names", "many combinations of few names"])
def test_names_are_limited(running: Collector, lines: Lines, few: bool) -> None:
    """Reports of ever more handlers do not fill the memory of the collector; decisions with known names still count."""
    report(running)
    for number in range(checked.MOST_SERIES // 100 + 1):
        names = [f"{each}" if few else f"{number}:{each}" for each in range(100)]
        handlers: Any = [(name, "passed", 1, None, {}) for name in names]
        hook = f"hook{number}" if few else "job_submit"
        wait_for(lambda many=handlers, of=hook: report(running, handlers=many, hook=of), "room")  # type: ignore[misc]
    wait_for(lambda: report(running, id="after"), "room for a report")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the last decision")
    combinations = {(line["hook"], each["handler"]) for line in lines() for each in line["handlers"]}
    assert checked.MOST_SERIES - 200 < len(combinations) <= checked.MOST_SERIES
