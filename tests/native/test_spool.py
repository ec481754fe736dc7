# SPDX-License-Identifier: GPL-2.0-or-later
"""The spool: Python reads what C writes, even if either of them is killed at any moment."""

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks.jobcomp.spool import Spool
from tests.native.building import PLAIN, preloaded
from tests.native.conftest import built
from tests.native.spooling import LIMIT, Writer, deliver, jobs, read

Start = Callable[..., Writer]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a spool."""
    return tmp_path / "spool"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts writers, and ends them."""
    writers: list[Writer] = []

    def begin(limit: int = LIMIT, fsync: str = "never") -> Writer:
        writers.append(Writer(folder, limit, fsync))
        return writers[-1]

    yield begin
    for writer in writers:
        writer.process.kill()
        writer.process.communicate()


@pytest.mark.parametrize("fsync", ["never", "interval", "always"])
def test_records_are_read_as_they_were_written(folder: Path, start: Start, fsync: str) -> None:
    """A reader finds each record once, in order, with its message, even if records are appended while it reads."""
    writer = start(fsync=fsync)
    spool = read_when_there(folder, writer)
    assert jobs(spool) == [1]
    assert writer.append(2, 0)
    assert writer.append(3, 1000)
    spool.refresh()
    assert jobs(spool) == jobs(read(folder)) == [1, 2, 3]
    for record in spool.records():
        message = record.segment.message(record.frame)
        assert message.startswith(b"record %d" % record.frame.job_id)
        assert abs(record.frame.time - time.time_ns()) < 600 * 10**9
    assert len({record.frame.id for record in spool.records()}) == 3
    writer.end()


def read_when_there(folder: Path, writer: Writer) -> Spool:
    """Append a first record, and read the spool."""
    assert writer.append(1)
    return read(folder)


def test_a_new_process_goes_on_behind_a_torn_record(folder: Path, start: Start) -> None:
    """A record that was cut off when its process ended does not prevent later records from being read."""
    first = start()
    assert first.append(1)
    assert first.append(2)
    first.kill()
    (segment,) = folder.glob("*.spool")
    os.truncate(segment, segment.stat().st_size - 10)
    second = start()
    assert second.append(3)
    spool = read(folder)
    assert jobs(spool) == [1, 3]
    deliver(spool)
    spool.refresh()
    assert jobs(read(folder)) == []
    assert not segment.exists()
    second.end()


def test_what_is_delivered_is_removed(folder: Path, start: Start) -> None:
    """A full segment is removed with its last record.

    The segment that slurmctld appends to stays, whatever is delivered.
    """
    writer = start()
    for job_id in range(1, 301):
        assert writer.append(job_id, 1000)
    assert len(list(folder.glob("*.spool"))) == 3
    spool = read(folder)
    assert deliver(spool) == list(range(1, 301))
    spool.refresh()
    assert len(list(folder.glob("*.spool"))) == 1
    assert writer.append(301)
    spool.refresh()
    assert jobs(spool) == jobs(read(folder)) == [301]
    writer.end()


def test_a_full_spool_keeps_what_it_has(folder: Path, start: Start) -> None:
    """Without room, the newest records are dropped: the log says so, lost.jsonl names the jobs; room is used again."""
    writer = start(limit=64 << 10)
    kept = [job_id for job_id in range(1, 201) if writer.append(job_id, 1000)]
    assert 0 < len(kept) < 200
    assert kept == list(range(1, len(kept) + 1))
    spool = read(folder)
    assert jobs(spool) == kept
    assert [each["job_id"] for each in spool.lost()] == list(range(len(kept) + 1, 201))
    deliver(spool)
    spool.refresh()
    job_id = 201
    until = time.monotonic() + 30
    while not writer.append(job_id, 1000):
        assert time.monotonic() < until
        job_id += 1
        time.sleep(0.05)
    log = writer.end()
    assert "records were not kept" in log
    assert len(log.splitlines()) < 5  # not a line for each
    assert jobs(read(folder)) == [job_id]


def test_a_full_disk_tears_no_record(folder: Path, start: Start) -> None:
    """If the disk has too little room for a record, all of it is removed again, and the next one that fits is kept."""
    writer = start()
    assert writer.append(1)
    (segment,) = folder.glob("*.spool")
    pid = writer.process.pid
    # The limit for file sizes stands in for a full disk: it cuts off the write. Its signal must not end the writer.
    subprocess.run(["prlimit", f"--fsize={segment.stat().st_size + 600}", f"--pid={pid}"], check=True)
    assert not writer.append(2, 2000)
    assert writer.append(3, 10)
    log = writer.end()
    assert "not kept" in log
    assert jobs(read(folder)) == [1, 3]


def test_a_full_disk_tears_no_line(folder: Path, start: Start) -> None:
    """The jobs whose records are lost can all be read, except those for which the disk had no room."""
    writer = start(limit=64 << 10)
    assert writer.append(1)
    lost = folder / "lost.jsonl"
    lost.write_text('{"job_id": 0}\n' * 10000)
    limit = ["prlimit", f"--pid={writer.process.pid}"]
    subprocess.run([*limit, f"--fsize={lost.stat().st_size + 40}:unlimited"], check=True)
    assert not writer.append(2, 100000)
    subprocess.run([*limit, "--fsize=unlimited"], check=True)
    assert not writer.append(3, 100000)
    assert "not kept" in writer.end()
    assert lost.read_bytes().count(b"\n") == 10001
    assert read(folder).lost()[-1]["job_id"] == 3


def test_two_processes_append_at_once(folder: Path, start: Start) -> None:
    """While 'scontrol reconfigure' replaces slurmctld, both processes append, and no segment in use is removed."""
    old, new = start(), start()
    assert old.append(1)
    assert new.append(2)
    spool = read(folder)
    assert sorted(deliver(spool)) == [1, 2]
    spool.refresh()
    assert old.append(3)
    assert new.append(4)
    spool.refresh()
    assert sorted(jobs(spool)) == sorted(jobs(read(folder))) == [3, 4]
    old.end()
    new.end()


def test_state_is_shared(folder: Path, start: Start) -> None:
    """Other workers soon know what one worker has recorded: handlers that have the record, attempts, and the time."""
    writer = start()
    for job_id in (1, 2, 3):
        assert writer.append(job_id)
    one, other = read(folder), read(folder)
    first, second, _ = one.records()
    first.segment.note(first, "done")
    second.segment.note(second, "begun", "a:h")
    second.segment.note(second, "passed", "a:h")
    second.segment.note(second, "failed", "b:h", "no network")
    second.segment.note(second, "retry", 1, 17.5)
    for spool in (other, read(folder)):
        spool.refresh()
        assert jobs(spool) == [2, 3]
        record = next(spool.records())
        assert (record.passed, record.tries, record.due, record.begun) == ({"a:h"}, 1, 17.5, None)
        assert record.reasons == {"b:h": "no network"}
    with next(folder.glob("*.state")).open("ab", buffering=0) as state:
        for part in (b"[%d," % second.frame.position, b'"done"]\n'):  # perhaps a worker reads between two pages
            state.write(part)
            other.refresh()
    assert jobs(other) == [3]
    writer.end()


def test_a_line_of_the_state_that_was_torn_says_nothing(tmp_path: Path, folder: Path, start: Start) -> None:
    """If the state file is cut off after any byte, at worst a delivered record is delivered again."""
    writer = start()
    for job_id in (1, 2, 3):
        assert writer.append(job_id)
    writer.end()
    spool = read(folder)
    records = list(spool.records())
    for record in records[:2]:
        record.segment.note(record, "done")
    del spool
    (state,) = folder.glob("*.state")
    text = state.read_bytes()
    first = text.index(b"\n", 1) + 1  # the file begins with an empty line
    for size in range(len(text) + 1):
        copy = shutil.copytree(folder, tmp_path / str(size))
        (copy / state.name).write_bytes(text[:size])
        found = read(copy)
        expected = [1, 2, 3] if size < first else [2, 3] if size < len(text) else [3]
        assert jobs(found) == expected, size
        # The incomplete line does not damage the next one.
        last = list(found.records())[-1]
        last.segment.note(last, "done")
        assert set(jobs(read(copy))) <= set(expected[:-1]), size


def test_dead_letters(folder: Path, start: Start) -> None:
    """A dead letter has its reason; it can be delivered again, to the handlers that did not get it, or be discarded."""
    writer = start()
    for job_id in (1, 2):
        assert writer.append(job_id)
    spool = read(folder)
    record, other = spool.records()
    message = record.segment.message(record.frame)
    record.segment.note(record, "passed", "a:h")
    record.segment.note(record, "failed", "b:h", "no network")
    record.tries = 3
    spool.bury(record)
    spool.bury(other)
    assert jobs(spool) == jobs(read(folder)) == []
    letter, second = spool.letters()
    assert (letter["job_id"], letter["tries"], letter["reasons"]) == (1, 3, {"b:h": "no network"})
    spool.redeliver(letter["id"])
    spool.discard(second["id"])
    assert spool.letters() == []
    for each in (spool, read(folder)):
        each.refresh()
        assert jobs(each) == [1]
        again = next(each.records())
        assert again.segment.message(again.frame) == message
        assert again.frame.id == record.frame.id
        assert (again.passed, again.tries) == ({"a:h"}, 0)
    deliver(spool)
    spool.refresh()
    assert list(folder.glob("again*")) == []
    writer.end()


def test_a_letter_is_buried_once(folder: Path, start: Start) -> None:
    """If a worker is killed between writing a dead letter and recording that, there is one dead letter in the end."""
    writer = start()
    assert writer.append(1)
    writer.end()
    spool = read(folder)
    (record,) = spool.records()
    (folder / "dead").mkdir()
    (folder / "dead" / f"{record.frame.id}.spool").write_bytes(record.segment.raw(record.frame))
    assert jobs(read(folder)) == [1]
    spool.bury(record)
    assert [letter["id"] for letter in spool.letters()] == [record.frame.id]
    assert json.loads((folder / "dead" / f"{record.frame.id}.json").read_text())["job_id"] == 1


def test_the_spool_keeps_what_it_is_read_by(folder: Path, start: Start) -> None:
    """The text of the tables is stored beside the records, so a later build can read them."""
    writer = start()
    writer.end()
    spool = read(folder)
    (path,) = folder.glob("*.table")
    tables = spool.tables(int(path.stem, 16))
    assert f"{tables.identity:016x}" == path.stem
    assert tables.text == path.read_text()


def test_kills_lose_nothing(folder: Path, start: Start) -> None:
    """If a writer is killed at any moment, every record that it has acknowledged remains, and readers damage none."""
    rng = random.Random(17)
    acknowledged: list[int] = []
    delivered: list[int] = []
    job_id = 0
    spool: Spool | None = None
    for _ in range(60):
        writer = start(limit=64 << 20)
        for _ in range(rng.randrange(1, 40)):
            job_id += 1
            writer.begin(job_id, rng.randrange(2000))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.004)  # any moment: the test asserts nothing about it
        acknowledged += writer.kill()
        if not folder.exists():  # the first writer was killed before it created the folder
            assert acknowledged == []
            continue
        spool = read(folder) if spool is None or rng.random() < 0.3 else spool
        spool.refresh()
        delivered += deliver(spool, rng.randrange(60))
        spool.refresh()
    delivered += deliver(read(folder))
    assert len(delivered) == len(set(delivered))
    assert set(acknowledged) <= set(delivered)


def test_an_unusable_folder_is_named(tmp_path: Path) -> None:
    """A spool that cannot be opened says which folder, and why."""
    (tmp_path / "file").write_text("")
    writer = Writer(tmp_path / "file")
    output, _ = writer.process.communicate(timeout=60)
    assert writer.process.returncode == 1
    assert str(tmp_path / "file").encode() in output


def test_a_file_system_without_locks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, because readers could not know which segments are complete, and no file is left in it."""
    library = preloaded("nolocks", tmp_path)
    host = built(PLAIN).host.with_name("spooler")
    done = subprocess.run(
        [host, folder, str(LIMIT), "never"],
        env=os.environ | {"LD_PRELOAD": str(library)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "Function not implemented" in done.stdout
    assert [path.name for path in folder.iterdir() if path.suffix == ".spool"] == []


def test_a_segment_that_is_removed_before_it_is_locked(
    folder: Path, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that takes a new segment for one that was left costs no record: the writer begins another one."""
    built(PLAIN)
    monkeypatch.setenv("LD_PRELOAD", str(preloaded("removes", tmp_path)))
    writer = start()
    assert writer.append(1)
    assert jobs(read(folder)) == [1]
