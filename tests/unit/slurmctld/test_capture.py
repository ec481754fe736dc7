# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of workers while requests are recorded, and while they are not."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.collector import recording_orders, reporting
from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import Service
from slurmhooks.processes.settings import Settings
from slurmhooks.recording import page as shared
from slurmhooks.recording.page import RecordingPage
from slurmhooks.recording.request import decode_facts, decode_recorded, decode_rows
from slurmhooks.slurmctld import capture
from slurmhooks.slurmctld.capture import Capture
from slurmhooks.testing import FakeJob
from slurmhooks.wire.message import Message, decode, text_value
from slurmhooks.wire.protocol import DEFERRED, Fact, Type, What
from slurmhooks.worker import commands
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of

TABLES = tables_of("24.11")
ORDERS = {"number": 1, "file": "/nowhere", "until": 1e12, "size": 1 << 20, "with": ["script"], "tables": ["partitions"]}
Reports = Callable[[], list[tuple[bytes, int, bytes]]]
SECRET = b"#!/bin/sh\nlong"


class Slurmctld:
    """Answers with texts, and keeps the questions."""

    def __init__(self) -> None:
        self.asked: list[Message] = []

    def __call__(self, question: bytes) -> bytes:
        """Answer a question."""
        asked = decode(question, TABLES)
        self.asked.append(asked)
        items = {What.MEMBER: ((0, text_value(SECRET)),), What.FACT: ((0, text_value(b"known")),)}
        return Message(Type.RESULT, items=items.get(What(asked.first), ())).encode(TABLES)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> RecordingPage:
    """The page of this process."""
    page = RecordingPage()
    monkeypatch.setattr(shared, "page", page)
    return page


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reports]:
    """Return the reports: kind, losses and data."""
    reporter, connection = reporting.pair()
    monkeypatch.setattr(reporting, "reporter", reporter)
    connection.setblocking(False)

    def read() -> list[tuple[bytes, int, bytes]]:
        found: list[tuple[bytes, int, bytes]] = []
        while True:
            try:
                report = reporting.receive(connection)
            except BlockingIOError:
                return found
            assert report is not None
            assert report.kind == reporting.RECORDED
            found.append((report.data[:1], int.from_bytes(report.data[1:5], "little"), report.data[5:]))

    with connection:
        yield read
    reporter.close()


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A service with one handler."""
    (tmp_path / "limits.py").write_text(
        "from slurmhooks import hook\n@hook.job_submit\ndef sets(job):\n    job.comment = 'seen'\n"
    )
    return Service(TABLES, loader.load([loader.Source(path=str(tmp_path / "limits.py"))]), Settings(hooks="hash"))


def request(user: int = 1000, long: str = "script", **fields: Any) -> bytes:
    """Return a submission of which a member was too long to be sent, by default the script."""
    struct = request_of(FakeJob(release="24.11", user_id=user, script="x", **fields), "job_submit")
    data = bytearray(struct.data)
    place = TABLES["job"].places[long]
    data[8 * place : 8 * place + 8] = DEFERRED.to_bytes(8, "little")
    return Message(Type.REQUEST, 0, user, user, ((0, bytes(data)),)).encode(TABLES)


def test_nothing_is_done_without_a_recording(service: Service, page: RecordingPage, reports: Reports) -> None:
    """Before and after a recording, nothing is asked, kept or reported."""
    for orders in ({}, ORDERS):
        if orders:
            page.begin(orders)
            service.handle(request(), Slurmctld())
            service.after()
            assert reports()
            page.end()
        slurmctld = Slurmctld()
        service.handle(request(), slurmctld)
        assert service.call is None
        assert service.followers == []
        service.after()
        assert slurmctld.asked == []
        assert reports() == []


def test_a_request_is_reported_after_its_answer(service: Service, page: RecordingPage, reports: Reports) -> None:
    """The report has request, answer and the long secret that was asked for; tables and facts come once."""
    page.begin(ORDERS)
    slurmctld = Slurmctld()
    answer = service.handle(request(account="Physics"), slurmctld)
    assert [kind for kind, _, _ in reports()] == [b"f", b"r"]
    service.after()
    ((kind, lost, data),) = reports()
    assert (kind, lost) == (b"q", 0)
    found = decode_recorded(data)
    assert (found.hook, found.hooks, found.decided, found.answer) == ("job_submit", "hash", "", answer)
    assert [decode(result, TABLES).items[0][1] for _, result in found.questions] == [SECRET + b"\0"]
    service.handle(request(account="Physics"), slurmctld)
    assert [asked.first for asked in slurmctld.asked].count(What.PAGE) == 1
    facts = [asked for asked in slurmctld.asked if asked.first == What.FACT]
    assert [asked.second for asked in facts] == [
        Fact.USER_NAME,
        Fact.DEFAULT_ACCOUNT,
        Fact.DEFAULT_QOS,
        Fact.ASSOC_COMMENT,
        Fact.ASSOC_QOS,
        Fact.DEFAULT_PARTITION,
        Fact.CHARGED_ACCOUNT,
        Fact.CHOSEN_QOS,
        Fact.ASSOC_COMMENT,
        Fact.ASSOC_QOS,
    ]
    assert facts[2].items == ((0, b"Physics\0"), (1, b""))
    assert facts[6].items == ((0, b"physics\0"), (1, b"known\0"))
    service.after()
    assert [kind for kind, _, _ in reports()] == [b"q"]
    service.handle(request(1001), slurmctld)
    assert [kind for kind, _, _ in reports()] == [b"f"]


def test_a_request_that_is_too_long_is_lost_at_once(
    service: Service, page: RecordingPage, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not copied, and a report without it says that it is lost, even if no other request follows."""
    monkeypatch.setattr(capture, "MAX_SIZE", capture.ROOM + 2000)
    page.begin({**ORDERS, "with": [], "tables": []})
    slurmctld = Slurmctld()
    for length in (10, 2000, 10):
        service.handle(request(comment="x" * length), slurmctld)
        service.after()
    found = [(lost, bool(data)) for kind, lost, data in reports() if kind == b"q"]
    assert found == [(0, True), (1, False), (0, True)]


def test_what_is_reported_can_be_read(service: Service, page: RecordingPage, reports: Reports) -> None:
    """Recorded facts and rows are those that slurmctld sent."""
    page.begin(ORDERS)
    service.handle(request(), Slurmctld())
    (_, _, facts), (_, _, rows) = reports()
    assert {decode(result, TABLES).items[0][1] for _, result in decode_facts(facts).questions} == {b"known\0"}
    assert decode_rows(rows).table == "partition"


def test_facts_are_asked_again_after_the_clock_was_ahead(
    service: Service, page: RecordingPage, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts and rows are recorded again in time, whatever the clock of the machine was before it was put right."""
    page.begin(ORDERS)
    now, since = time.time(), time.monotonic()
    for ahead, passed in ((1e8, 1.0), (2.0, 2.0), (capture.ROWS_EVERY + 3.0,) * 2):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: now + ahead)
        monkeypatch.setattr(time, "monotonic", lambda passed=passed: since + passed)
        reports()
        service.handle(request(), Slurmctld())
        kinds = [kind for kind, _, _ in reports()]
    assert kinds == [b"f", b"r"]


def test_losses_are_counted(
    service: Service, page: RecordingPage, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that finds no room in the buffer is counted in the next report."""
    page.begin({**ORDERS, "tables": []})
    assert reporting.reporter is not None
    report = reporting.reporter.report
    monkeypatch.setattr(reporting.reporter, "report", lambda *_: False)
    for _ in range(2):
        service.handle(request(), Slurmctld())
        service.after()
    monkeypatch.setattr(reporting.reporter, "report", report)
    service.handle(request(), Slurmctld())
    service.after()
    assert [lost for _, lost, _ in reports()] == [2]


@pytest.mark.parametrize("member", ["account", "partition"])
def test_a_name_that_was_too_long_to_be_sent(
    service: Service, page: RecordingPage, reports: Reports, member: str
) -> None:
    """A request with such an account is recorded and answered; nothing else is asked about its user."""
    page.begin(ORDERS)
    slurmctld = Slurmctld()
    service.handle(request(long=member, account="x", partition="x"), slurmctld)
    service.after()
    assert [kind for kind, _, _ in reports()] == [b"r", b"q"]
    assert What.FACT not in [asked.first for asked in slurmctld.asked]


def test_a_table_that_takes_too_long_is_left_out() -> None:
    """slurmctld waits no longer than PATIENCE for the rows of tables, and is asked nothing afterwards."""
    capture, slurmctld = Capture(TABLES, (), ""), Slurmctld()
    capture.begin(slurmctld)
    ticks = itertools.count(0, 0.04)
    found, left = capture.rows(["partition", "qos", "node"], lambda: next(ticks))
    assert [rows.table for rows in found] == ["partition", "qos"]
    assert left == ["node"]
    assert [asked.second for asked in slurmctld.asked] == [TABLES.place(name) for name in ("partition", "qos")]


def test_one_recording_at_a_time(page: RecordingPage, tmp_path: Path) -> None:
    """The supervisor orders a recording, refuses a second one, and reports the state of the first one.

    It touches no file, because a file system may hang.
    """
    wanted = '{"file": "%s", "seconds": 60, "size": 1048576, "with": [], "tables": []}'
    first, second = tmp_path / "new" / "one", tmp_path / "two"
    assert recording_orders.answer(recording_orders.STATUS, page) == {"recording": {}, "status": {}, "runs": False}
    answer = recording_orders.answer(recording_orders.START + wanted % first, page)
    assert answer["runs"]
    assert not first.parent.exists()
    assert "is being recorded" in recording_orders.answer(recording_orders.START + wanted % second, page)["findings"][0]
    assert page.number == 1
    recording_orders.answer(recording_orders.STOP, page)
    assert page.number == 0
    page.status = {"ended": "it was stopped"}
    assert recording_orders.answer(recording_orders.START + wanted % second, page)["recording"]["number"] == 2


@pytest.mark.parametrize("size", [4000, 4080])
def test_a_name_that_is_too_long(page: RecordingPage, size: int) -> None:
    """A name for which the page or the request has no room is refused, and the supervisor continues."""
    wanted = '{"seconds": 60, "size": 1048576, "with": [], "tables": [], "file": "/%s"}'
    text = (recording_orders.START + wanted % ("n" * size))[: commands.MAX_REQUEST]
    assert recording_orders.answer(text, page) == {"findings": ["the name of FILE is too long"]}
    assert not page.number
    assert not recording_orders.is_running(page)


def test_a_command_of_another_release(page: RecordingPage) -> None:
    """The supervisor survives a request that it does not understand."""
    assert "of another release" in recording_orders.answer(recording_orders.START + "{}", page)["findings"][0]
    assert "of another release" in recording_orders.answer(recording_orders.START + "7", page)["findings"][0]
