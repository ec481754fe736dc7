# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the spool: records on disk that wait for their delivery. native/jobcomp/spool.h describes the format.

Beside each segment NUMBER.spool is NUMBER.state, with lines of JSON that say what became of its records. A record
without such a line is still to be delivered, so a process may be killed at any time without a loss or a repair.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

from slurmhooks.durable import force, write
from slurmhooks.wire.tables import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurmhooks.wire.tables import Tables

HOOKS = ("job_end", "job_start")
"""Hooks by their numbers in a frame."""
SEGMENT = ".spool"
STATE = ".state"
DEAD = "dead"
LOST = "lost.jsonl"
MAGIC = b"SHF1"
_FRAME = Struct("=4sIIIQII")
_CHECKED = 12
"""Offset of the bytes that the checksum covers: they begin after the checksum itself."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One record, without its message.

    Attributes:
        hook: ``job_end`` or ``job_start``.
        time: nanoseconds since 1970.
        job_id: 0 if the build cannot read it.
        position: where the frame begins in its segment.
        size: of the message in bytes.
    """

    hook: str
    time: int
    job_id: int
    position: int
    size: int

    @property
    def id(self) -> str:
        """The id of the record, which is the same in every process."""
        return f"{self.job_id}.{self.time}"

    @property
    def end(self) -> int:
        """The position of the next frame."""
        return self.position + _FRAME.size + (self.size + 7 & ~7)


def frames(data: bytes, start: int = 0) -> Iterator[Frame]:
    """Yield the complete and undamaged frames of a segment, or of its end.

    Args:
        data: bytes of the segment.
        start: position of these bytes in the segment, a multiple of 8.
    """
    at = 0
    while (at := data.find(MAGIC, at)) >= 0:
        frame = _frame(data, at, start)
        if frame is None:
            at += 1
        else:
            yield frame
            at = frame.end - start


def _frame(data: bytes, at: int, start: int) -> Frame | None:
    """Return the frame at a position; None if it is damaged or incomplete."""
    if at % 8 or len(data) < at + _FRAME.size:
        return None
    _, size, checksum, hook, time, job_id, _ = _FRAME.unpack_from(data, at)
    end = at + _FRAME.size + size
    if len(data) < end or hook >= len(HOOKS) or crc32(memoryview(data)[at + _CHECKED : end]) != checksum:
        return None
    return Frame(HOOKS[hook], time, job_id, start + at, size)


@dataclass(slots=True)
class Record:
    """A record that is not delivered yet.

    Attributes:
        segment: the segment that contains it.
        frame: its frame.
        passed: labels of the handlers that have it.
        begun: label of the handler that is running, or was running when its process ended.
        tries: number of failed attempts.
        due: when the next attempt begins, in seconds since 1970.
        reasons: why the last attempt failed, by handler.
    """

    segment: Segment
    frame: Frame
    passed: set[str] = field(default_factory=set)
    begun: str | None = None
    tries: int = 0
    due: float = 0.0
    reasons: dict[str, str] = field(default_factory=dict)

    def apply(self, change: list[Any]) -> bool:
        """Apply a line of the state file; tell whether the record is still to be delivered."""
        what, *rest = change
        if what == "begun":
            self.begun = rest[0]
        elif what == "passed":
            self.passed.add(rest[0])
            self.begun = None
        elif what == "failed":
            self.reasons[rest[0]] = rest[1]
            self.begun = None
        elif what == "retry":
            self.tries, self.due = rest
        return what not in ("done", "dead")


class Segment:
    """One file of the spool, and what has become of its records.

    Attributes:
        path: of the file.
        records: the records that are not delivered yet, by position.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: the file cannot be opened.
        """
        self._file = self._state = -1
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.path = path
        self.records: dict[int, Record] = {}
        self._end = 0  # position after the last frame that was read
        self._closed = False
        self._noted = 0  # number of bytes of the state file that were read

    def __del__(self) -> None:
        """Close the files."""
        for fd in (self._file, self._state):
            if fd >= 0:
                os.close(fd)

    @property
    def over(self) -> bool:
        """Whether all records are delivered, and no more will be added."""
        return self._closed and not self.records

    def refresh(self) -> None:
        """Read what slurmctld and other workers have added.

        Raises:
            OSError: a file cannot be read.
        """
        # Read these before the segment, so that each line's record is known.
        lines = self._new_lines()
        if not self._closed:
            self._closed = self._is_left()
            size = os.fstat(self._file).st_size - self._end
            for frame in frames(os.pread(self._file, size, self._end), self._end) if size else ():
                self.records[frame.position] = Record(self, frame)
                self._end = frame.end
        for line in lines:
            self._apply(line)

    def _is_left(self) -> bool:
        """Tell whether no slurmctld appends to the segment any more: each slurmctld holds a lock on its segment."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # A new segment may not be locked yet. If it is removed, its slurmctld notices that, and creates another one.
        if not os.fstat(self._file).st_size:
            self.path.unlink(missing_ok=True)
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return True

    def _new_lines(self) -> list[bytes]:
        """Return the complete lines of the state file that were not read yet."""
        if self._state < 0:
            try:
                self._state = os.open(self._state_path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            except FileNotFoundError:
                return []
        size = os.fstat(self._state).st_size - self._noted
        lines = os.pread(self._state, size, self._noted).split(b"\n") if size else [b""]
        self._noted += sum(len(line) + 1 for line in lines[:-1])
        return lines[:-1]

    def _apply(self, line: bytes) -> None:
        """Apply a line of the state file; ignore a line that was not written completely."""
        try:
            position, *change = json.loads(line)
            record = self.records.get(position)
            if record is not None and not record.apply(change):
                del self.records[position]
        except (ValueError, TypeError, IndexError):
            return

    @property
    def _state_path(self) -> Path:
        return self.path.with_suffix(STATE)

    def note(self, record: Record, *change: Any) -> None:
        """Write the state of a record to the state file, and apply it.

        Raises:
            OSError: the file cannot be written.
        """
        if self._state < 0:
            self._state = os.open(self._state_path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        line = json.dumps([record.frame.position, *change], separators=(",", ":")).encode()
        # The previous line may be incomplete because its process was killed; it must not join with this line.
        last = os.fstat(self._state).st_size - 1
        start = b"\n" if last >= 0 and os.pread(self._state, 1, last) != b"\n" else b""
        if os.write(self._state, start + line + b"\n") != len(start) + len(line) + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._state_path))
        if not record.apply(list(change)):
            self.records.pop(record.frame.position, None)

    def message(self, frame: Frame) -> bytes:
        """Return the message of a record."""
        return os.pread(self._file, frame.size, frame.position + _FRAME.size)

    def raw(self, frame: Frame) -> bytes:
        """Return a whole frame."""
        return os.pread(self._file, frame.end - frame.position, frame.position)

    def remove(self) -> None:
        """Remove the files."""
        self.path.unlink(missing_ok=True)
        self._state_path.unlink(missing_ok=True)


class Spool:
    """The folder of the spool; several processes may read it at once, and each notes what it has delivered."""

    def __init__(self, folder: Path) -> None:
        """Read nothing yet."""
        self.folder = folder
        self._segments: dict[str, Segment] = {}
        self._tables: dict[int, Tables] = {}

    def refresh(self) -> None:
        """Read new data, and remove segments that are finished.

        Raises:
            OSError: the folder or a file in it cannot be read.
        """
        names = set(os.listdir(self.folder))
        there = {name for name in names if name.endswith(SEGMENT)}
        if there != self._segments.keys():
            segments = {}
            for name in sorted(there):
                # Another worker may have removed it meanwhile.
                with suppress(FileNotFoundError):
                    segments[name] = self._segments.get(name) or Segment(self.folder / name)
            self._segments = segments
            self._remove_orphans(names)
        for name, segment in list(self._segments.items()):
            segment.refresh()
            if segment.over:
                segment.remove()
                del self._segments[name]

    def _remove_orphans(self, names: set[str]) -> None:
        """Remove state files left by a process that ended after it had removed their segments."""
        for name in names:
            stem = name.removesuffix(STATE)
            if stem != name and stem.isdecimal() and stem + SEGMENT not in names:
                (self.folder / name).unlink(missing_ok=True)

    def records(self) -> Iterator[Record]:
        """Return all records that are to be delivered, in the order in which they were written."""
        for segment in self._segments.values():
            yield from segment.records.values()

    def tables(self, identity: int) -> Tables:
        """Return the tables that a message was written with, perhaps by an earlier build.

        Raises:
            OSError: the tables cannot be read.
            TableError: the tables are damaged.
        """
        tables = self._tables.get(identity)
        if tables is None:
            text = (self.folder / f"{identity:016x}.table").read_text()
            tables = self._tables[identity] = parse(text)
        return tables

    # Dead letters

    @property
    def _dead(self) -> Path:
        return self.folder / DEAD

    def bury(self, record: Record) -> None:
        """Keep a record that cannot be delivered as a dead letter, and end its delivery.

        Raises:
            OSError: the dead letter cannot be written.
        """
        frame = record.frame
        about = {
            "id": frame.id,
            "hook": frame.hook,
            "job_id": frame.job_id,
            "time": frame.time // 10**9,
            "tries": record.tries,
            "reasons": record.reasons,
            "passed": sorted(record.passed),
        }
        if not self._dead.is_dir():
            self._dead.mkdir(mode=0o700, exist_ok=True)
            force(self.folder)
        write(self._dead / f"{frame.id}.json", json.dumps(about).encode())
        write(self._dead / f"{frame.id}{SEGMENT}", record.segment.raw(frame))
        record.segment.note(record, "dead")

    def letters(self) -> list[dict[str, Any]]:
        """Return the dead letters, oldest first, each with id, hook, job_id, time, tries, reasons and passed."""
        letters = []
        for path in self._dead.glob(f"*{SEGMENT}") if self._dead.is_dir() else ():
            name = path.name.removesuffix(SEGMENT)
            try:
                about = json.loads((self._dead / f"{name}.json").read_bytes())
            except (OSError, ValueError):
                about = {"id": name, "reasons": {}}
            letters.append(about)
        return sorted(letters, key=lambda about: str(about["id"]).rpartition(".")[2])

    def redeliver(self, letter: str) -> None:
        """Queue a dead letter for delivery to the handlers that do not have it.

        Raises:
            FileNotFoundError: there is no such letter.
        """
        about = next((each for each in self.letters() if each["id"] == letter), {})
        passed = "".join(f"{json.dumps([0, 'passed', label])}\n" for label in about.get("passed", ()))
        again = self.folder / f"again-{letter}{SEGMENT}"
        # Workers take the letter as soon as the segment exists, so write that last.
        write(again.with_suffix(STATE), passed.encode())
        os.rename(self._dead / f"{letter}{SEGMENT}", again)
        force(self.folder)
        (self._dead / f"{letter}.json").unlink(missing_ok=True)

    def discard(self, letter: str) -> None:
        """Remove a dead letter.

        Raises:
            FileNotFoundError: there is no such letter.
        """
        (self._dead / f"{letter}{SEGMENT}").unlink()
        (self._dead / f"{letter}.json").unlink(missing_ok=True)

    def lost(self) -> list[dict[str, Any]]:
        """Return the jobs whose records were not kept, each with job_id, hook, time and reason."""
        try:
            lines = (self.folder / LOST).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        jobs = []
        for line in lines:
            with suppress(ValueError):
                jobs.append(json.loads(line))
        return jobs
