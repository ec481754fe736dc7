# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of workers to the collector."""

import os
import socket
from collections.abc import Iterator

import pytest

from slurmhooks.collector import reporting
from slurmhooks.collector.reporting import DECISION, MAX_INLINE, RECORDED, Report, Reporter

Ends = tuple[Reporter, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Both ends; the receiving one never waits."""
    reporter, connection = reporting.pair()
    connection.setblocking(False)
    yield reporter, connection
    reporter.close()
    connection.close()


@pytest.mark.parametrize("size", [0, 1, MAX_INLINE, MAX_INLINE + 1, 3 << 20])
def test_a_report_arrives_whole(ends: Ends, size: int) -> None:
    """Reports of all sizes arrive unchanged and leave no descriptor behind."""
    reporter, connection = ends
    before = len(os.listdir("/proc/self/fd"))
    data = os.urandom(size)
    assert reporter.report(RECORDED, data)
    assert reporting.receive(connection) == Report(RECORDED, data, 0)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("size", [100, MAX_INLINE + 1])
def test_a_full_buffer_drops_reports_and_counts_them(ends: Ends, size: int) -> None:
    """No worker waits for a collector that does not read; the first report after that tells how many are missing."""
    reporter, connection = ends
    sent = 0
    while reporter.report(DECISION, bytes(size)):
        sent += 1
    assert not reporter.report(DECISION, bytes(size))
    assert sent
    assert reporter.dropped == 2
    for _ in range(sent):
        report = reporting.receive(connection)
        assert report is not None
        assert report.dropped == 0
    assert reporter.report(DECISION, b"next")
    assert reporting.receive(connection) == Report(DECISION, b"next", 2)
    assert reporter.report(DECISION, b"last")
    assert reporting.receive(connection) == Report(DECISION, b"last", 0)


def test_the_end_of_all_senders_is_seen(ends: Ends) -> None:
    """Once every sender has ended and all reports are read, there is no further report."""
    reporter, connection = ends
    reporter.report(DECISION, b"x")
    reporter.close()
    assert reporting.receive(connection) is not None
    assert reporting.receive(connection) is None
