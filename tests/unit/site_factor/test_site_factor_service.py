# SPDX-License-Identifier: GPL-2.0-or-later
"""The answers of workers when slurmctld asks for the site factors of jobs."""

import signal
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from slurmhooks.fields.number_rows import NICE_OFFSET
from slurmhooks.handlers import loader
from slurmhooks.processes.settings import Settings
from slurmhooks.site_factor.service import KEEP, MOST_FAILURES, Service
from slurmhooks.testing import FakeRecord, run
from slurmhooks.wire.message import Message, decode, pack
from slurmhooks.wire.protocol import MEMBERS, FactorsItem, Type
from slurmhooks.wire.tables import Table
from slurmhooks.worker import worker
from slurmhooks.workshop.testing.job_tables import fake_jobs
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld
from slurmhooks.workshop.testing.tables import tables_of

TABLES = tables_of("24.11")
RECORD = TABLES["record"]

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a hook file."""

    def write(text: str) -> Path:
        file = tmp_path / "points.py"
        file.write_text(f"from slurmhooks import hook\n{text}")
        return file

    return write


class Slurmctld:
    """Stands in for slurmctld: sends batches of jobs, with these members, and counts the questions that it gets."""

    def __init__(self, file: Path, jobs: Sequence[FakeRecord]) -> None:
        self.members: Sequence[int] = [RECORD.places["job_id"]]
        self.asked = 0
        self._jobs = jobs
        self._records = FakeSlurmctld(TABLES, {"record": fake_jobs(jobs, release="24.11")})
        self._service = Service(TABLES, loader.load([loader.Source(path=str(file))]), Settings())

    def batch(self) -> list[int | None]:
        """Return the factors of all jobs (None: the job keeps its own), and store which members to send from now on."""
        table = Table("record", tuple(RECORD.members[place] for place in self.members))
        items = [(MEMBERS, array("I", self.members).tobytes())]
        for job in self._jobs:
            raws = {member.name: job._struct.raw(member.name) for member in table.members}
            items.append((TABLES.place("record"), pack(table, raws)))
        request = Message(Type.REQUEST, items=tuple(items)).encode(TABLES)
        answer = decode(self._service.handle(request, self._ask), TABLES)
        found = dict(answer.items)
        self.members = array("I", found[FactorsItem.USED_MEMBERS])
        return [None if value == KEEP else value - NICE_OFFSET for value in array("I", found[FactorsItem.VALUES])]

    def _ask(self, question: bytes) -> bytes:
        self.asked += 1
        return self._records(question)


def job(number: int, **fields: object) -> FakeRecord:
    """Return a job."""
    return FakeRecord(release="24.11", job_id=number, **fields)


def test_only_what_handlers_read_is_sent(write: Write) -> None:
    """If a member was not sent, the worker asks for it.

    The next batch has the member, and needs no question.
    """
    file = write(
        "@hook.priority\ndef points(record):\n"
        "    return record.job_id + len(record.partition) + record.min_nodes if record.name == 'a' else None\n"
    )
    slurmctld = Slurmctld(
        file, [job(1, name="a", partition="debug", min_nodes=2), job(2, name="b", partition="x", min_nodes=3)]
    )
    assert slurmctld.batch() == [8, None]
    assert slurmctld.asked == 4
    names = {RECORD.members[place].name for place in slurmctld.members}
    assert names == {"job_id", "name", "partition", "details", "details.min_nodes", "details.submit_time"}
    assert slurmctld.batch() == [8, None]
    assert slurmctld.asked == 4


def test_a_field_that_does_not_exist_is_a_bug(write: Write) -> None:
    """A misspelt field in a batch raises the usual error, and the job keeps its factor."""
    slurmctld = Slurmctld(write("@hook.priority\ndef points(record):\n    return record.acount\n"), [job(1)])
    captured = CapturedLog()
    with captured.capturing():
        assert slurmctld.batch() == [None]
    assert "record has no 'acount'; " in "".join(captured.lines)


def test_a_timer_is_not_left(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer of a handler neither interrupts the next one nor ends the worker; the log names the handler."""
    monkeypatch.setattr(worker, "ends_timers", True)
    file = write(
        "import signal\n@hook.priority(order=1)\ndef leaves(record):\n    signal.setitimer(signal.ITIMER_REAL, 1000)\n"
        "@hook.priority(order=2)\ndef other(record):\n    return int(signal.getitimer(signal.ITIMER_REAL)[0])\n"
    )
    before = signal.setitimer(signal.ITIMER_REAL, 0)  # that of pytest-timeout
    captured = CapturedLog()
    try:
        with captured.capturing():
            assert Slurmctld(file, [job(1)]).batch() == [0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
    assert "priority handler points:leaves has left a timer, which is ended" in "".join(captured.lines)


def test_children_that_come_back_call_no_handler(write: Write, tmp_path: Path) -> None:
    """A handler that forks is called once for each job: its child does not go on with the other jobs."""
    calls = tmp_path / "calls"
    file = write(
        "import os\n@hook.priority\ndef points(record):\n"
        f"    with open({str(calls)!r}, 'a') as file:\n        file.write('x')\n"
        "    child = os.fork()\n    if child:\n        os.waitpid(child, 0)\n"
    )
    slurmctld = Slurmctld(file, [job(number) for number in range(1, 6)])
    captured = CapturedLog()
    with captured.capturing():
        assert slurmctld.batch() == [None] * 5
    assert calls.read_text() == "x" * 5


def test_one_bad_job_does_not_spoil_the_others(write: Write) -> None:
    """If a handler raises for some jobs, these keep their factors; all others get new ones."""
    slurmctld = Slurmctld(
        write("@hook.priority\ndef points(record):\n    return 10 // (record.job_id - 2)\n"), [job(1), job(2), job(3)]
    )
    with CapturedLog().capturing():
        assert slurmctld.batch() == [-10, None, 10]


@pytest.mark.parametrize(("on_error", "factor"), [("fail", None), ("ignore", 5)])
def test_a_bug_that_all_jobs_meet_does_not_fill_the_log(on_error: str, factor: int | None, write: Write) -> None:
    """After ten failed jobs, a handler is not called for the rest.

    With on_error="ignore", other handlers still count.
    """
    file = write(
        f"@hook.priority(on_error={on_error!r})\ndef bad(record):\n    raise KeyError\n"
        "@hook.priority(order=60)\ndef good(record):\n    return 5\n"
    )
    captured = CapturedLog()
    with captured.capturing():
        assert Slurmctld(file, [job(number) for number in range(1, 101)]).batch() == [factor] * 100
    raised = [line for line in captured.lines if "raised KeyError" in line]
    assert len(raised) == MOST_FAILURES
    assert any("failed for 10 jobs: it is not called for the other 90" in line for line in captured.lines)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("'7'", "a handler of hook.priority returns an int or None; this one returned '7'"),
        ("True", "a handler of hook.priority returns an int or None; this one returned True"),
        ("1 << 31", "site_factor takes -2147483645 to 2147483645, not 2147483648"),
    ],
)
def test_what_a_handler_may_return(returned: str, said: str, write: Write) -> None:
    """Anything but a number that fits is a bug of the handler: the job keeps its factor."""
    result = run(write(f"@hook.priority\ndef points(record):\n    return {returned}\n"), "priority")
    assert (result.accepted, result.changes) == (False, {})
    assert said in "".join(result.log)


def test_a_sum_that_does_not_fit(write: Write) -> None:
    """The job keeps its factor, and the log says why."""
    text = "@hook.priority\ndef {}(record):\n    return 2147483645\n"
    result = run(write(text.format("one") + text.format("two")), "priority")
    assert result.changes == {}
    assert "the sum of what priority handlers return does not fit: site_factor takes" in result.log[0]
