# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads one segment of the spool, and notes what became of its records. frames.py reads their format.

Beside each segment NUMBER.spool is NUMBER.state, with lines of JSON that say what became of its records. A record
without such a line is still to be delivered, so a process may be killed at any time without a loss or a repair.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

from slurmhooks.files import regular
from slurmhooks.jobcomp.frames import Frame, frames, key_of
from slurmhooks.jobcomp.layout import HEAD, MAGIC
from slurmhooks.processes import deliverer

if TYPE_CHECKING:
    from pathlib import Path


SEGMENT = deliverer.SEGMENT
STATE = ".state"
AGAIN = "again-"
"""Begins the name of a segment whose record was a dead letter."""
_STATE_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_PUNCH_HOLE = 0x02 | 0x01
"""For fallocate(2): free the space of a range, which then reads as zeros, and keep the size of the file."""
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


class Record:
    """A record that is not delivered yet.

    Attributes:
        segment: the segment that contains it.
        frame: its frame.
        passed: labels of the handlers that have it.
        begun: label of the handler that is running, or was running when its process ended.
        is_open: an attempt has begun, and what follows from it was not noted yet.
        tries: number of failed attempts.
        due: when the next attempt begins, in seconds since 1970.
        hurried: a pause of it was ended early.
        reasons: why the last attempt failed, by handler.
    """

    __slots__ = ("begun", "due", "frame", "hurried", "is_open", "passed", "reasons", "segment", "tries")

    def __init__(self, segment: Segment, frame: Frame) -> None:
        self.segment = segment
        self.frame = frame
        self.passed: set[str] = set()
        self.begun: str | None = None
        self.is_open = False
        self.tries = 0
        self.due = 0.0
        self.hurried = False
        self.reasons: dict[str, str] = {}

    def apply(self, change: list[Any]) -> bool:
        """Apply a line of the state file; tell whether the record is still to be delivered.

        Raises:
            ValueError: the line is damaged; nothing has changed.
        """
        match change:
            case ["begun", str(label)]:
                self.begun, self.is_open = label, True
            case ["passed", str(label)]:
                self.passed.add(label)
                self.begun = None
            case ["failed", str(label), str(reason)]:
                self.reasons[label] = reason
                self.begun, self.is_open = None, True
            case ["retry", int(tries), int(due) | float(due)] if tries >= 0 and due == due:  # no NaN
                self.tries, self.due, self.is_open = tries, due, False
            case ["now"]:
                self.due, self.hurried = 0.0, True
            case ["done" | "dead"]:
                return False
            case _:
                raise ValueError("a damaged line")
        return True


class Segment:
    """One file of the spool, and what has become of its records.

    Attributes:
        path: of the file.
        records: the records that are not delivered yet, by position.
    """

    def __init__(self, path: Path, *, in_memory: bool) -> None:
        """Open the file; for ``in_memory`` see :class:`slurmhooks.jobcomp.spool.Spool`.

        Raises:
            OSError: it cannot be opened, or is no file.
        """
        self._in_memory = in_memory
        self._file = self._state = -1
        self._file = regular.opened(path, os.O_NOFOLLOW)
        self.path = path
        self.records: dict[int, Record] = {}
        self._key = b""
        self._end = 0  # position after the last frame that was read
        self._unwritten = b""  # lines of the state file for which the disk had no room
        self._closed = False
        self._noted = 0  # number of bytes of the state file that were read

    def __del__(self) -> None:
        """Close the files."""
        self._close()

    def _close(self) -> None:
        fds, self._file, self._state = (self._file, self._state), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)

    @property
    def over(self) -> bool:
        """Whether all records are delivered, and no more will be added."""
        return self._closed and not self.records

    @property
    def is_again(self) -> bool:
        """Whether a command has queued its record, which was a dead letter."""
        return self.path.name.startswith(AGAIN)

    @property
    def is_untouched(self) -> bool:
        """Whether only a state file can bring anything new: no record is delivered, and no more will be added."""
        return self._closed and bool(self.records) and not self._unwritten

    def refresh(self) -> None:
        """Read what slurmctld and other workers have added.

        Raises:
            OSError: a file cannot be read.
        """
        if self._unwritten:
            self._write_state()
        # Read these before the segment, so that each line's record is known.
        lines = self._new_lines()
        if not self._closed:
            self._closed = self._is_left()
            size = os.fstat(self._file).st_size - self._end
            data = os.pread(self._file, size, self._end) if size else b""
            if not self._end:
                self._key = key_of(data)
            for frame in frames(data, self._key, self._end) if self._key else ():
                self.records[frame.position] = Record(self, frame)
                self._end = frame.end
        for line in lines:
            self._apply(line)
        self._save_descriptors()

    def _save_descriptors(self) -> None:
        """Close the files of a program, of which thousands may wait; what needs one opens it again."""
        if self._closed and not self._in_memory:
            self._close()

    def _read(self, size: int, at: int) -> bytes:
        """Return bytes of the segment, from a position; a negative size: all. None are left once it is removed."""
        if self._file < 0:
            try:
                self._file = regular.opened(self.path, os.O_NOFOLLOW)
            except FileNotFoundError:
                return b""
            try:
                return self._read(size, at)
            finally:
                os.close(self._file)
                self._file = -1
        return os.pread(self._file, size if size >= 0 else os.fstat(self._file).st_size, at)

    def damaged(self) -> int:
        """Return how many bytes belong to no frame that can be read. The space of delivered records may be zeros."""
        data = self._read(-1, 0)
        at, damaged = HEAD, 0
        for frame in frames(data, self._key) if self._key else ():
            damaged += frame.position - at - data.count(0, at, frame.position)
            at = frame.end
        return damaged + max(0, len(data) - at - data.count(0, at))

    def holds(self, frame: Frame) -> bool:
        """Tell whether a frame is still there; if not, another worker has delivered it and freed its space."""
        return self._read(len(self._key), frame.position) == self._key

    def free(self) -> None:
        """Free the disk space of delivered records, as far as the file system can.

        Raises:
            OSError: the file cannot be opened for writing.
        """
        left = sorted((record.frame.position, record.frame.end) for record in self.records.values())
        file = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            at = HEAD
            for position, end in [*left, (self._end, self._end)]:
                if position > at:
                    _libc.fallocate(file, _PUNCH_HOLE, at, position - at)
                at = end
        finally:
            os.close(file)

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
                self._state = os.open(self._state_path, _STATE_FLAGS)
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
        except (ValueError, TypeError, RecursionError):
            return

    @property
    def _state_path(self) -> Path:
        return self.path.with_suffix(STATE)

    def note(self, record: Record, *change: Any) -> None:
        """Write the state of a record to the state file, and apply it.

        If the disk is full, perhaps because of the spool itself, the state may only be kept in memory until there is
        room: to end the delivery of records is what makes room.

        Raises:
            OSError: the file cannot be written.
        """
        line = json.dumps([record.frame.position, *change], separators=(",", ":")).encode()
        self._unwritten += line + b"\n"
        if not record.apply(list(change)):
            self.records.pop(record.frame.position, None)
        self._write_state()
        self._save_descriptors()

    def _write_state(self) -> None:
        """Write the lines that are not in the state file yet; keep them if the disk is full."""
        try:
            if self._state < 0:
                self._state = os.open(self._state_path, _STATE_FLAGS | os.O_CREAT, 0o600)
            try:
                self._append_state()
            except OSError as error:
                if not is_full(error):
                    raise
                # Other processes do not find what has been delivered any more, even if this makes no room.
                self.free()
                self._append_state()
        except OSError as error:
            # The state of a segment that is over is not needed any more: its files are removed, which takes no room.
            if not is_full(error) or not (self._in_memory or self.over):
                raise

    def _append_state(self) -> None:
        # The previous line may be incomplete because its process was killed; it must not join with this line.
        last = os.fstat(self._state).st_size - 1
        start = b"\n" if last >= 0 and os.pread(self._state, 1, last) != b"\n" else b""
        if os.write(self._state, start + self._unwritten) != len(start) + len(self._unwritten):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._state_path))
        self._unwritten = b""

    def message(self, frame: Frame) -> bytes:
        """Return the message of a record."""
        return self._read(frame.size, frame.start)

    def raw(self, frame: Frame) -> bytes:
        """Return a segment with only this frame."""
        return MAGIC + self._key + self._read(frame.end - frame.position, frame.position)

    def remove(self) -> None:
        """Remove the files; close them, because an error of a handler may refer to this segment, and keep them."""
        self.path.unlink(missing_ok=True)
        self._state_path.unlink(missing_ok=True)
        self._close()


def is_full(error: OSError) -> bool:
    """Tell whether an error says that the disk, or this user's part of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
