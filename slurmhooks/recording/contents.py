# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording holds, but for its requests, which are read one frame after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.recording.file import Kind, Reader, RecordingError
from slurmhooks.recording.request import decode_facts, decode_recorded, decode_rows
from slurmhooks.wire.message import identity_of
from slurmhooks.wire.tables import TableError, Tables, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.recording.request import Recorded, Rows, UserFacts


class Contents:
    """A recording, as far as it was written when it was opened.

    Attributes:
        start: what the recorder knew when it began: release of slurmhooks, of Python, what it was told to record.
        end: why it ended; None: it goes on, or slurmctld has ended.
        tables: of its messages, by their identity.
        users: what the name service said, by user id.
        rows: tables of slurmctld as they were at some times.
        facts: what slurmctld knew of users at some times.
        offsets: of the frames with requests.
        unread: bytes at the end that are no whole frame.
    """

    def __init__(self, fd: int) -> None:
        """Read all but the requests; the descriptor stays open.

        Raises:
            RecordingError: it is no recording, or is damaged.
        """
        self._reader = Reader(fd)
        self.start: dict[str, Any] = {}
        self.end: dict[str, Any] | None = None
        self.tables: dict[int, Tables] = {}
        self.users: dict[int, dict[str, Any]] = {}
        self.rows: list[Rows] = []
        self.facts: list[UserFacts] = []
        self.offsets: list[int] = []
        for frame in self._reader.frames():
            if frame.kind == Kind.REQUESTS:
                self.offsets.append(frame.offset)
            elif frame.kind == Kind.TABLES:
                self._take_tables(frame.content)
            elif frame.kind == Kind.ROWS:
                self.rows += map(decode_rows, frame.items())
            elif frame.kind == Kind.FACTS:
                self.facts += map(decode_facts, frame.items())
            elif frame.kind == Kind.USER:
                user = frame.json()
                if not isinstance(user.get("id"), int):
                    raise RecordingError(f"the frame at byte {frame.offset} is about a user, but does not say which")
                self.users[user["id"]] = user
            elif frame.kind == Kind.START:
                self.start = frame.json()
            else:
                self.end = frame.json()
        self.unread = self._reader.unread or 0
        if not self.tables:
            raise RecordingError("the recording says nothing of the release of Slurm that it was made on")

    def _take_tables(self, text: bytes) -> None:
        try:
            tables = parse(text.decode())
        except (TableError, UnicodeError) as error:
            raise RecordingError(f"the tables of the recording cannot be read: {error}") from None
        self.tables[tables.identity] = tables

    def of(self, message: bytes) -> Tables:
        """Return the tables of a message.

        Raises:
            MessageError: it is none.
            RecordingError: the recording does not have them.
        """
        found = self.tables.get(identity_of(message))
        if found is None:
            raise RecordingError("a message was made with tables that the recording does not have")
        return found

    def newest(self) -> Tables:
        """Return the tables that the recording names last."""
        return list(self.tables.values())[-1]

    def requests(self, offset: int) -> Iterator[Recorded]:
        """Yield the requests of a frame.

        Raises:
            RecordingError: it is damaged.
        """
        return map(decode_recorded, self._reader.frame(offset).items())

    @property
    def remarks(self) -> list[str]:
        """What the user of the recording should know."""
        found = []
        if self.unread:
            found.append(f"the last {self.unread} bytes are no whole frame: the file is being written, or was cut off")
        if self.end is None:
            found.append("the recording has no end: it goes on, or slurmctld or the machine stopped while it did")
        elif self.end.get("lost"):
            found.append(f"{self.end['lost']} requests are not in the recording: it could not keep up")
        return found
