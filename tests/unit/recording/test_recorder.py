# SPDX-License-Identifier: GPL-2.0-or-later
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.collector.recording_sink import RecordingSink
from slurmhooks.recording import page as shared
from slurmhooks.recording import recorder as module
from slurmhooks.recording.file import create
from slurmhooks.recording.page import RecordingPage
from slurmhooks.recording.recorder import REQUEST, ROWS, Limits, Recorder, pack_report
from slurmhooks.recording.request import Recorded, Rows
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.testing.tables import tables_of

TABLES = tables_of("24.11")


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def request(name: str = "", user: int = 0) -> bytes:
    """Return an encoded request."""
    message = Message(Type.REQUEST, 0, user, user).encode(TABLES)
    return Recorded(1.0, "job_submit", name, "", "", (), message, b"").encode()


def ids(path: Path) -> list[str]:
    """Return the ids of the requests in a file."""
    with path.open("rb") as file:
        contents = Contents(file.fileno())
        return [found.id for offset in contents.offsets for found in contents.requests(offset)]


def started(
    path: Path, size: int = 1 << 20, until: float = 2000.0, clock: Callable[[], float] | None = None
) -> Recorder:
    """Return a recorder with a clock that stands still."""
    return Recorder(create(str(path)), TABLES, Limits(size, until), {}, clock or Clock())


def test_requests_wait_at_most_a_second(tmp_path: Path) -> None:
    """Reports are in the file after PAUSE seconds, while the recording continues."""
    clock = Clock()
    recorder = started(tmp_path / "file", clock=clock)
    recorder.take(pack_report(REQUEST, 0, request("one")))
    recorder.tick()
    assert ids(tmp_path / "file") == []
    clock.now += module.PAUSE
    recorder.tick()
    assert ids(tmp_path / "file") == ["one"]
    recorder.end("")


def test_it_ends_in_time(tmp_path: Path) -> None:
    """A recording ends at its time limit, says so, and accepts nothing more."""
    clock = Clock()
    recorder = started(tmp_path / "file", clock=clock)
    recorder.take(pack_report(REQUEST, 3, request("one")))
    clock.now = 2000.0
    recorder.tick()
    recorder.take(pack_report(REQUEST, 0, request("two")))
    recorder.end("something else")
    assert ids(tmp_path / "file") == ["one"]
    with (tmp_path / "file").open("rb") as file:
        contents = Contents(file.fileno())
    assert contents.end is not None
    assert (contents.end["reason"], contents.end["requests"]) == ("its time is over", 1)
    assert any("3 requests are not in the recording" in remark for remark in contents.remarks)


def test_it_ends_in_time_if_the_clock_is_put_back(tmp_path: Path) -> None:
    """A recording is never longer than it was asked for, and pending requests are written."""
    clock, steady = Clock(), Clock()
    recorder = Recorder(create(str(tmp_path / "file")), TABLES, Limits(1 << 20, 2000.0), {}, clock, steady)
    clock.now -= 500.0
    steady.now += 2000.0 - clock.now - 501.0
    recorder.tick()
    assert recorder.ended is None
    steady.now += 1.0
    recorder.tick()
    assert recorder.ended == "its time is over"


def test_it_ends_at_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file never gets larger than its limit, and has an end that says why."""
    monkeypatch.setattr(module, "BLOCK", 1)
    limit = len(TABLES.text) + 16384
    recorder = started(tmp_path / "file", limit)
    for _ in range(1000):
        recorder.take(pack_report(REQUEST, 0, request(os.urandom(200).hex())))
    assert recorder.ended == "it has reached its size"
    assert (tmp_path / "file").stat().st_size <= limit
    status = recorder.status()
    assert 0 < status["requests"] == len(ids(tmp_path / "file")) < 1000


def test_a_full_disk_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that cannot be written completely is removed, and the recording ends."""
    recorder = started(tmp_path / "file")
    write, size = os.write, (tmp_path / "file").stat().st_size
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    recorder.take(pack_report(REQUEST, 0, request("one")))
    recorder.end("")
    assert recorder.ended == "the file system is full"
    assert (tmp_path / "file").stat().st_size == size


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ESTALE])
def test_a_disk_that_fails_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """On a disk on which nothing can be changed any more, the recording ends, and not the process of other sinks."""
    recorder = started(tmp_path / "file")

    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    for name in ("write", "ftruncate", "fsync"):
        monkeypatch.setattr(os, name, fail)
    monkeypatch.setattr(os, "close", lambda fd, close=os.close: (close(fd), fail()))
    recorder.take(pack_report(REQUEST, 0, request("one")))
    recorder.end("")
    assert recorder.ended == os.strerror(number)


def test_a_server_that_has_taken_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS may say only at the end that it has no room: then the recording does not count as complete."""
    recorder = started(tmp_path / "file")
    recorder.take(pack_report(REQUEST, 0, request("one")))

    def fail(_: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "fsync", fail)
    recorder.end("it was stopped")
    assert recorder.ended == f"it was stopped; {os.strerror(errno.EDQUOT)}"


def test_unchanged_tables_are_written_once(tmp_path: Path) -> None:
    """Rows that several workers report are in the file once, until they change."""
    recorder = started(tmp_path / "file")
    for content in (b"a", b"a", b"b"):
        rows = Rows(1.0, "partition", TABLES.identity, (content,))
        recorder.take(pack_report(ROWS, 0, rows.encode()))
    recorder.end("")
    with (tmp_path / "file").open("rb") as file:
        assert [rows.structs for rows in Contents(file.fileno()).rows] == [(b"a",), (b"b",)]


def test_users_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name service's data about a user are in the file, before the first request of that user."""
    asked = []

    def look_up(user: int) -> dict[str, object] | None:
        asked.append(user)
        return {"id": user, "name": "somebody", "groups": {"staff": 50}} if user else None

    monkeypatch.setattr(module, "name_service", look_up)
    recorder = started(tmp_path / "file")
    for user in (7, 0, 7):
        recorder.take(pack_report(REQUEST, 0, request("one", user)))
    recorder.end("")
    with (tmp_path / "file").open("rb") as file:
        assert Contents(file.fileno()).users == {7: {"id": 7, "name": "somebody", "groups": {"staff": 50}}}
    assert sorted(asked) == [0, 7]


def test_losses_are_counted(tmp_path: Path) -> None:
    """A report may say only how many requests are lost."""
    recorder = started(tmp_path / "file")
    for lost, data in ((0, request("one")), (1, b""), (2, request("two"))):
        recorder.take(pack_report(REQUEST, lost, data))
    recorder.end("")
    assert recorder.status()["lost"] == 3
    assert ids(tmp_path / "file") == ["one", "two"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordingPage:
    """A page that orders a recording."""
    page = RecordingPage()
    monkeypatch.setattr(shared, "page", page)
    monkeypatch.setattr("slurmhooks.collector.recording_sink.installed", lambda: TABLES)
    orders = {"number": 1, "file": str(tmp_path / "file"), "until": 1e12, "size": 1 << 20, "with": [], "tables": []}
    page.begin(orders)
    return page


def test_a_stop_loses_nothing(page: RecordingPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that workers send just before a stop arrive after it, and are in the file."""
    sink = RecordingSink(page)
    page.end()
    sink.turn()
    sink.take(pack_report(REQUEST, 0, request("late")))
    assert page.status.get("ended") is None
    monkeypatch.setattr("slurmhooks.collector.recording_sink.LATE", 0.0)
    sink.turn()
    assert page.status["ended"] == "it was stopped"
    assert ids(tmp_path / "file") == ["late"]


def test_only_its_owner_reads_the_file(page: RecordingPage, tmp_path: Path) -> None:
    """The recording process creates the file, and the folder if it is missing; the status is there at once."""
    file = tmp_path / "new" / "file"
    page.begin({**page.orders, "number": 2, "file": str(file)})
    RecordingSink(page)
    assert page.status["bytes"] == file.stat().st_size > 0
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]


@pytest.mark.parametrize("link", [False, True])
def test_a_file_of_somebody_else_is_not_written(page: RecordingPage, tmp_path: Path, link: bool) -> None:
    """A file that exists already ends the recording with the reason."""
    (tmp_path / "file").symlink_to("precious") if link else None
    (tmp_path / ("precious" if link else "file")).write_text("precious")
    RecordingSink(page)
    assert "File exists; SlurmUser has to be able to create it" in page.status["ended"]
    assert (page.number, page.status["bytes"]) == (0, 0)
    assert (tmp_path / "file").read_text() == "precious"


def test_the_next_process_does_not_continue(page: RecordingPage, tmp_path: Path) -> None:
    """If the recording process is replaced, the recording ends with the reason, and the file keeps what it has."""
    RecordingSink(page)
    before = (tmp_path / "file").read_bytes()
    RecordingSink(page)
    assert "the process that wrote it has ended" in page.status["ended"]
    assert not page.number
    assert (tmp_path / "file").read_bytes() == before
