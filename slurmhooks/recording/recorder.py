# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording, within limits of size and time; runs in the collector."""

from __future__ import annotations

import grp
import json
import os
import pwd
import sys
import time
from contextlib import suppress
from struct import Struct, error
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks._version import __version__
from slurmhooks.recording.file import FIRST_LINE, Kind, RecordingError, compressed, encoded
from slurmhooks.recording.request import decode_facts, decode_recorded, decode_rows
from slurmhooks.wire.message import decode
from slurmhooks.wire.protocol import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.wire.tables import Tables

BLOCK = 256 << 10
"""Minimum bytes of requests that are compressed together."""
PAUSE = 1.0
"""Maximum seconds that a request waits to be written."""
MOST_FACTS = 1_000_000
"""Maximum number of UserFacts that are remembered, so that they are written only when they change."""
MOST_LOST = 1_000_000
"""Maximum number of lost requests that one report may claim."""
RESERVE = 4096
"""Bytes of the size limit that are reserved for the last frame."""
REQUEST, ROWS, FACTS = b"q", b"r", b"f"
"""Kinds of reports: a request, the rows of a table, or facts about a user."""
_REPORT = Struct("<cI")


class Limits(NamedTuple):
    """When a recording ends by itself: at a ``size`` in bytes, and in seconds since the epoch."""

    size: int
    until: float


class Recorder:
    """One recording.

    Attributes:
        ended: why it has ended; None while it is running.
    """

    def __init__(
        self,
        fd: int,
        tables: Tables,
        limits: Limits,
        what: dict[str, Any],
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the recording.

        ``fd`` is of a file that is empty and has no other writer; taken over. ``what`` is recorded, for readers of the
        file.
        """
        self._fd = fd
        self._tables = tables
        self._limits = limits
        self._clock = clock
        self._monotonic = monotonic
        self._ends = monotonic() + limits.until - clock()
        self._size = 0
        self._pending: list[tuple[bytes, set[int]]] = []
        self._pending_size = 0
        self._pending_since = 0.0
        self._users: set[int] = set()
        self._rows: dict[str, bytes] = {}
        self._facts: dict[bytes, bytes] = {}
        self._requests = self._lost = 0
        self.ended: str | None = None
        start = {
            "time": clock(),
            "slurmhooks": __version__,
            "python": sys.version.partition(" ")[0],
            "slurm": tables.release,
            "tier": tables.tier,
            "until": limits.until,
            "size": limits.size,
            **what,
        }
        self._write(FIRST_LINE)
        self._frame(Kind.START, json.dumps(start).encode())
        self._frame(Kind.TABLES, tables.text.encode())

    def take(self, report: bytes) -> None:
        """Take a report of a worker; after the end, drop it.

        Raises:
            RecordingError: the report is damaged, and is not recorded.
            MessageError: its message is.
        """
        if self.ended is not None:
            return
        try:
            kind, lost = _REPORT.unpack_from(report)
        except error:
            raise RecordingError("a report is damaged") from None
        data = report[_REPORT.size :]
        if not data:
            pass  # a worker could not report something
        elif kind == ROWS:
            self._take_rows(data)
        elif kind == FACTS:
            self._take_facts(data)
        else:
            self._take_request(data)
        self._lost += min(lost, MOST_LOST)

    def tick(self) -> None:
        """Write pending requests, and end the recording if it is due; to be called about once a second."""
        now = self._clock()
        if self.ended is None and self._pending and not 0 <= now - self._pending_since < PAUSE:
            self._flush()
        if self.ended is None and (now >= self._limits.until or self._monotonic() >= self._ends):
            self.end("its time is over")

    def end(self, reason: str) -> None:
        """End the recording, and close the file."""
        if self.ended is not None:
            return
        self._flush()
        if self.ended is None:
            self._finish(reason)

    def status(self) -> dict[str, Any]:
        """Return the progress of the recording."""
        return {
            "requests": self._requests,
            "lost": self._lost,
            "bytes": self._size,
            "until": self._limits.until,
            "limit": self._limits.size,
            "ended": self.ended,
        }

    def _take_request(self, data: bytes) -> None:
        users = users_of(data, self._tables)
        if not self._pending:
            self._pending_since = self._clock()
        self._pending.append((data, users))
        self._pending_size += len(data)
        if self._pending_size >= BLOCK:
            self._flush()

    def _take_rows(self, data: bytes) -> None:
        rows = decode_rows(data)
        if rows.table not in self._tables:
            raise RecordingError(f"rows of a table {rows.table[:40]!r}")
        content = b"".join(rows.structs)
        # Several workers send the same rows, and most tables hardly change.
        if self._rows.get(rows.table) != content:
            self._rows[rows.table] = content
            self._frame(Kind.ROWS, compressed([data]))

    def _take_facts(self, data: bytes) -> None:
        questions = decode_facts(data).questions
        changed = [question for question, result in questions if self._facts.get(question) != result]
        if changed and len(self._facts) < MOST_FACTS:
            self._facts.update(questions)
            self._frame(Kind.FACTS, compressed([data]))

    def _flush(self) -> None:
        """Write pending requests, and what the name service says about their users."""
        pending, self._pending, self._pending_size = self._pending, [], 0
        if not pending:
            return
        for _, users in pending:
            for user in users - self._users:
                self._users.add(user)
                entry = name_service(user)
                if entry is not None:
                    self._frame(Kind.USER, json.dumps(entry).encode())
        if self._frame(Kind.REQUESTS, compressed([data for data, _ in pending])):
            self._requests += len(pending)

    def _frame(self, kind: Kind, content: bytes) -> bool:
        """Write a frame, unless the file would get too large; tell whether it was written."""
        if self.ended is not None:
            return False
        data = encoded(kind, content)
        if self._size + len(data) + RESERVE > self._limits.size:
            self._finish("it has reached its size")
            return False
        return self._write(data)

    def _write(self, data: bytes) -> bool:
        """Append to the file; if that fails, remove what was written partly, and end the recording."""
        try:
            done = os.write(self._fd, data)
            why = "the file system is full"
        except OSError as error:
            done, why = 0, os.strerror(error.errno or 0)
        if done == len(data):
            self._size += done
            return True
        with suppress(OSError):  # a disk that fails; readers notice that the last frame is not complete
            os.ftruncate(self._fd, self._size)
        self._finish(why)
        return False

    def _finish(self, reason: str) -> None:
        self.ended = reason
        last = {"time": self._clock(), "reason": reason, "requests": self._requests, "lost": self._lost}
        data = encoded(Kind.END, json.dumps(last).encode())
        try:
            if os.write(self._fd, data) < len(data):
                os.ftruncate(self._fd, self._size)
            else:
                self._size += len(data)
            os.fsync(self._fd)
        except OSError as error:  # without this frame, readers notice that the end is missing
            why = os.strerror(error.errno or 0)
            self.ended = reason if why == reason else f"{reason}; {why}"
        finally:
            with suppress(OSError):  # of NFS; it is closed
                os.close(self._fd)


def pack_report(kind: bytes, lost: int, data: bytes) -> bytes:
    """Return a report of a worker.

    ``kind`` is REQUEST, ROWS or FACTS, ``lost`` the number of requests that this worker could not report since its last
    report. ``data`` is empty if it cannot be reported.
    """
    return _REPORT.pack(kind, lost) + data


def users_of(data: bytes, tables: Tables) -> set[int]:
    """Return the ids of the sender and of the owner of a recorded request."""
    message = decode(decode_recorded(data).request, tables)
    return {message.sender, message.owner} if message.type == Type.REQUEST else set()


def name_service(user: int) -> dict[str, Any] | None:
    """Return what the name service says about a user: name, and group ids by name; None if the user is unknown."""
    try:
        entry = pwd.getpwuid(user)
    except (KeyError, OverflowError):
        return None
    groups = {}
    for number in os.getgrouplist(entry.pw_name, entry.pw_gid):
        try:
            groups[grp.getgrgid(number).gr_name] = number
        except KeyError:
            groups[str(number)] = number
    return {"id": user, "name": entry.pw_name, "groups": groups}
