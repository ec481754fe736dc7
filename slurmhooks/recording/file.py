# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of a recording: a line, then frames that are only ever appended.

A frame is its size, a checksum of the rest, and its kind; then its content. What cannot be read to the end is a frame
that is being written, or that was being written when the machine stopped; everything before it can be read.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIRST_LINE = b"slurmhooks recording 1\n"
LARGEST = 256 << 20
"""Bytes of a frame, and of what it expands to."""
_HEADER = Struct("<IIB")
_SIZE = Struct("<I")
_LEVEL = 3
"""Of zlib: higher levels save 5 % and take three times as long."""


class RecordingError(SlurmhooksError):
    """A file is no recording, is damaged, or may be read by others."""


class Kind(IntEnum):
    """What a frame holds.

    START: JSON; when, where and what for. The first frame.
    TABLES: the text of slurmhooks.wire.tables, before the first message that was made with these tables.
    REQUESTS: compressed items, each a request with its questions (slurmhooks.recording.request).
    ROWS: compressed items, all rows of a table of slurmctld at some time (slurmhooks.recording.request).
    USER: JSON; what the name service says of a user.
    FACTS: compressed items, each some questions that belong to no request (slurmhooks.recording.request).
    END: JSON; why it ends. The last frame, unless slurmctld has ended.
    """

    START = 1
    TABLES = 2
    REQUESTS = 3
    ROWS = 4
    USER = 5
    END = 6
    FACTS = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    Attributes:
        kind: of its content.
        content: as it lies in the file.
        offset: of the frame, in bytes.
    """

    kind: Kind
    content: bytes
    offset: int = 0

    def json(self) -> dict[str, Any]:
        """Return the JSON object that it holds.

        Raises:
            RecordingError: it holds none.
        """
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"the frame at byte {self.offset} is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise RecordingError(f"the frame at byte {self.offset} is no JSON object")
        return found

    def items(self) -> list[bytes]:
        """Return the items that it holds, compressed.

        Raises:
            RecordingError: it holds none.
        """
        try:
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(self.content, LARGEST)
        except zlib.error as error:
            raise RecordingError(f"the frame at byte {self.offset} cannot be expanded: {error}") from None
        if not unpacking.eof:
            raise RecordingError(f"the frame at byte {self.offset} expands to more than {LARGEST} bytes, or is cut off")
        return split(data)


def compressed(items: Iterable[bytes]) -> bytes:
    """Return the content of a frame of items."""
    return zlib.compress(join(items), _LEVEL)


def join(items: Iterable[bytes]) -> bytes:
    """Return items as one; see :func:`split`."""
    return b"".join(part for item in items for part in (_SIZE.pack(len(item)), item))


def split(data: bytes) -> list[bytes]:
    """Return the items that were joined.

    Raises:
        RecordingError: they were not.
    """
    items = []
    position = 0
    while position < len(data):
        start = position + _SIZE.size
        if start > len(data):
            raise RecordingError("an item is cut off")
        (size,) = _SIZE.unpack_from(data, position)
        position = start + size
        if position > len(data):
            raise RecordingError("an item is cut off")
        items.append(data[start:position])
    return items


def encoded(kind: Kind, content: bytes) -> bytes:
    """Return the bytes of a frame.

    Raises:
        ValueError: it is too large.
    """
    if len(content) > LARGEST:
        raise ValueError(f"a frame of {len(content)} bytes; {LARGEST} is the limit")
    return _HEADER.pack(len(content), _checksum(len(content), kind, content), kind) + content


def _checksum(size: int, kind: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(b"%d %d" % (size, kind)))


def create(path: str) -> int:
    """Create a file for a recording that only its owner may read, and return its descriptor.

    Raises:
        OSError: it exists, or cannot be created.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_APPEND, 0o600)


class Reader:
    """Reads the frames of a file, which may be growing.

    Attributes:
        unread: bytes at the end that are no whole frame; None: the end was not reached yet.
    """

    def __init__(self, fd: int) -> None:
        """Read from a descriptor, which stays open and may be shared: its position does not matter.

        Raises:
            RecordingError: it is no recording.
        """
        self._fd = fd
        self.unread: int | None = None
        if os.pread(fd, len(FIRST_LINE), 0) != FIRST_LINE:
            raise RecordingError("this is no recording of this release of slurmhooks")

    def frames(self) -> Iterator[Frame]:
        """Yield the frames that are there.

        Raises:
            RecordingError: one before the last is damaged.
        """
        size = os.fstat(self._fd).st_size
        offset = len(FIRST_LINE)
        while offset < size:
            found = self._at(offset, size)
            if found is None:
                self.unread = size - offset
                return
            yield found
            offset += _HEADER.size + len(found.content)
        self.unread = 0

    def frame(self, offset: int) -> Frame:
        """Return the frame at an offset that :meth:`frames` has yielded.

        Raises:
            RecordingError: it is not there any more.
        """
        found = self._at(offset, os.fstat(self._fd).st_size)
        if found is None:
            raise RecordingError(f"there is no whole frame at byte {offset}")
        return found

    def _at(self, offset: int, end: int) -> Frame | None:
        """Return the frame at an offset; None: it is the last one and not whole.

        Raises:
            RecordingError: it is damaged, and not because it is being written.
        """
        header = os.pread(self._fd, _HEADER.size, offset)
        if len(header) < _HEADER.size:
            return None
        size, checksum, kind = _HEADER.unpack(header)
        following = offset + _HEADER.size + size
        if size > LARGEST:
            raise RecordingError(f"the frame at byte {offset} is damaged: it claims {size} bytes")
        if following > end:
            return None
        content = os.pread(self._fd, size, offset + _HEADER.size)
        if len(content) < size:
            return None
        if _checksum(size, kind, content) != checksum:
            if following == end:
                return None  # the machine stopped while it was written
            raise RecordingError(f"the frame at byte {offset} is damaged: its checksum is wrong")
        try:
            return Frame(Kind(kind), content, offset)
        except ValueError:
            raise RecordingError(
                f"the frame at byte {offset} is of the unknown kind {kind}: a later release of slurmhooks wrote it"
            ) from None


def check_access(fd: int, path: str) -> None:
    """Refuse a recording that others than its owner may read or write: it shows what users submit.

    Raises:
        RecordingError: they may.
    """
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise RecordingError(f"{path}: not a regular file")
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise RecordingError(
            f"{path}: others than its owner may read or write it: run 'chmod 600 {path}', and think about who has"
        )
