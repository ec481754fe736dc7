# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a recording except its requests, which are read frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.recording.file import Frame, Kind, Reader, RecordingError
from slurmhooks.recording.request import decode_facts, decode_partial, decode_recorded, decode_rows
from slurmhooks.wire.message import identity_of
from slurmhooks.wire.tables import TableError, Tables, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.recording.request import Recorded, Rows, UserFacts

ACCOUNTING = "accounting"
"""The ``source`` of a recording whose requests come from Slurm's accounting: all were accepted, and of most only a part
is known."""
ONLY_ACCEPTED = (
    "the requests come from accounting: refused ones are missing, and what hooks changed then is unknown; "
    "--old compares with hooks"
)


START: dict[str, tuple[type, ...]] = {
    "time": (int, float),
    "slurmhooks": (str,),
    "python": (str,),
    "slurm": (str,),
    "tier": (str,),
    "host": (str,),
    "source": (str,),
    "assumed": (list,),
    "with": (list,),
    "tables": (list,),
}
"""The types of what a recording says about its start."""
END: dict[str, tuple[type, ...]] = {"time": (int, float), "reason": (str,), "requests": (int,), "lost": (int,)}
"""The types of what it says about its end."""


def _checked(frame: Frame, types: dict[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return the JSON of a frame.

    Raises:
        RecordingError: it is none, or a value has another type.
    """
    content = frame.json()
    for key, expected in types.items():
        if key in content and (type(content[key]) not in expected):
            raise RecordingError(f"the frame at byte {frame.offset} has {key!r} of a wrong type: {content[key]!r:.100}")
    return content


class Contents:
    """A recording, as far as it was written when it was opened.

    Attributes:
        start: data about the start: releases of slurmhooks and Python, and what was to be recorded.
        end: why it ended; None if it is still running, or slurmctld has ended.
        tables: of its messages, by their identity.
        users: the answers of the name service, by user id.
        rows: tables of slurmctld, each as it was at some time.
        facts: facts about users that slurmctld knew at some time.
        offsets: of the frames with requests.
        unread: number of bytes at the end that are not a complete frame.
    """

    def __init__(self, fd: int) -> None:
        """Read everything except the requests; the descriptor stays open.

        Raises:
            RecordingError: the file is not a recording, or is damaged.
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
            if frame.kind in (Kind.REQUESTS, Kind.PARTIAL):
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
                self.start = _checked(frame, START)
            else:
                self.end = _checked(frame, END)
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
            MessageError: the data is not a message.
            RecordingError: the recording does not have the tables.
        """
        tables = self.tables.get(identity_of(message))
        if tables is None:
            raise RecordingError("a message was made with tables that the recording does not have")
        return tables

    def newest(self) -> Tables:
        """Return the last tables in the recording."""
        return list(self.tables.values())[-1]

    def requests(self, offset: int) -> Iterator[Recorded]:
        """Yield the requests of a frame.

        Raises:
            RecordingError: the frame is damaged.
        """
        frame = self._reader.frame(offset)
        return map(decode_partial if frame.kind == Kind.PARTIAL else decode_recorded, frame.items())

    @property
    def remarks(self) -> list[str]:
        """Notes for the user of the recording."""
        remarks = []
        if self.start.get("source") == ACCOUNTING:
            remarks.append(ONLY_ACCEPTED)
            if self.start.get("assumed"):
                remarks.append(f"assumed instead of known: {', '.join(map(str, self.start['assumed']))}")
        if self.unread:
            remarks.append(
                f"the last {self.unread} bytes are not a complete frame: the file is being written, or was cut off"
            )
        if self.end is None:
            remarks.append(
                "the recording has no end: it is still running, or slurmctld or the machine stopped during it"
            )
        elif self.end.get("lost"):
            remarks.append(
                f"{self.end['lost']} requests are not in the recording: too many at once, or longer than 63 MiB"
            )
        return remarks
