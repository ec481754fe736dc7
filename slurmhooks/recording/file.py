# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of a recording: a line, then frames, which are only appended.

A frame is its size, a checksum of the rest, and its kind; then its content. An incomplete frame at the end is being
written, or was being written when the machine stopped; everything before it can be read.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.errors import SlurmhooksError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIRST_LINE = b"slurmhooks recording 1\n"
MAX_FRAME = 256 << 20
"""Maximum bytes of a frame, and of its decompressed content."""
_HEADER = Struct("<IIB")
_SIZE = Struct("<I")
_LEVEL = 3
"""Compression level of zlib: higher levels save 5 % and take three times as long."""


class RecordingError(SlurmhooksError):
    """A file is not a recording, is damaged, or can be read by other users."""


class Kind(IntEnum):
    """The content of a frame.

    START: JSON; when and where the recording began, and what it records. The first frame.
    TABLES: the text of slurmhooks.wire.tables, before the first message that was made with these tables.
    REQUESTS: compressed items, each a request with its questions (slurmhooks.recording.request).
    ROWS: compressed items, all rows of a table of slurmctld at some time (slurmhooks.recording.request).
    USER: JSON; what the name service says about a user.
    FACTS: compressed items, each some questions that belong to no request (slurmhooks.recording.request).
    PARTIAL: compressed items, each a request of which only a part is known (slurmhooks.recording.request).
    END: JSON; why the recording ended. The last frame, unless slurmctld ended first.
    """

    START = 1
    TABLES = 2
    REQUESTS = 3
    ROWS = 4
    USER = 5
    END = 6
    FACTS = 7
    PARTIAL = 8


class Frame(NamedTuple):
    """One frame.

    Attributes:
        kind: of its content.
        content: as it is in the file.
        offset: of the frame, in bytes.
    """

    kind: Kind
    content: bytes
    offset: int = 0

    def json(self) -> dict[str, Any]:
        """Return the content as a JSON object.

        Raises:
            RecordingError: the content is not a JSON object.
        """
        try:
            value = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"the frame at byte {self.offset} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise RecordingError(f"the frame at byte {self.offset} is not a JSON object")
        return value

    def items(self) -> list[bytes]:
        """Decompress the content, and return its items.

        Raises:
            RecordingError: the content does not consist of compressed items.
        """
        try:
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(self.content, MAX_FRAME)
        except zlib.error as error:
            raise RecordingError(f"the frame at byte {self.offset} cannot be expanded: {error}") from None
        if not unpacking.eof:
            raise RecordingError(
                f"the frame at byte {self.offset} expands to more than {MAX_FRAME} bytes, or is cut off"
            )
        # Each has at least the time of a request, which costs some bytes even where all the rest is as before.
        return split(data, len(self.content))


def compressed(items: Iterable[bytes]) -> bytes:
    """Return the content of a frame of items."""
    return zlib.compress(join(items), _LEVEL)


def join(items: Iterable[bytes]) -> bytes:
    """Join items to one byte string; see :func:`split`."""
    return b"".join(part for item in items for part in (_SIZE.pack(len(item)), item))


def split(data: bytes, most: int | None = None) -> list[bytes]:
    """Split what :func:`join` has joined, at most ``most`` items; None: any number.

    Raises:
        RecordingError: the data is damaged.
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
        if most is not None and len(items) > most:
            raise RecordingError(f"there are more items than the {most} bytes that they were compressed to")
    return items


def encoded(kind: Kind, content: bytes) -> bytes:
    """Return the bytes of a frame.

    Raises:
        ValueError: the content is too large.
    """
    if len(content) > MAX_FRAME:
        raise ValueError(f"a frame of {len(content)} bytes; {MAX_FRAME} is the limit")
    return _HEADER.pack(len(content), _checksum(len(content), kind, content), kind) + content


def _checksum(size: int, kind: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(b"%d %d" % (size, kind)))


def create(path: str) -> int:
    """Create a file for a recording that only its owner may read, and return its descriptor.

    Raises:
        OSError: the file exists, or cannot be created.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_APPEND, 0o600)


class Reader:
    """Reads the frames of a file, which may be growing.

    Attributes:
        unread: number of bytes at the end that are not a complete frame; None before the end is reached.
    """

    def __init__(self, fd: int) -> None:
        """Read from a descriptor, which stays open and may be shared, because its position does not matter.

        Raises:
            RecordingError: the file is not a recording.
        """
        self._fd = fd
        self.unread: int | None = None
        if os.pread(fd, len(FIRST_LINE), 0) != FIRST_LINE:
            raise RecordingError("this is not a recording of this release of slurmhooks")

    def frames(self) -> Iterator[Frame]:
        """Yield the complete frames.

        Raises:
            RecordingError: a frame before the last one is damaged.
        """
        size = os.fstat(self._fd).st_size
        offset = len(FIRST_LINE)
        while offset < size:
            frame = self._at(offset, size)
            if frame is None:
                self.unread = size - offset
                return
            yield frame
            offset += _HEADER.size + len(frame.content)
        self.unread = 0

    def frame(self, offset: int) -> Frame:
        """Return the frame at an offset that :meth:`frames` has yielded.

        Raises:
            RecordingError: the frame no longer exists.
        """
        frame = self._at(offset, os.fstat(self._fd).st_size)
        if frame is None:
            raise RecordingError(f"there is no complete frame at byte {offset}")
        return frame

    def _at(self, offset: int, end: int) -> Frame | None:
        """Return the frame at an offset; None if it is the last one and incomplete.

        Raises:
            RecordingError: the frame is damaged, not merely incomplete.
        """
        header = os.pread(self._fd, _HEADER.size, offset)
        if len(header) < _HEADER.size:
            return None
        size, checksum, kind = _HEADER.unpack(header)
        following = offset + _HEADER.size + size
        if size > MAX_FRAME:
            raise RecordingError(f"the frame at byte {offset} is damaged: it claims {size} bytes")
        if following > end:
            return None
        content = os.pread(self._fd, size, offset + _HEADER.size)
        if len(content) < size:
            return None
        if _checksum(size, kind, content) != checksum:
            if following == end:
                return None  # the machine stopped while the frame was being written
            raise RecordingError(f"the frame at byte {offset} is damaged: its checksum is wrong")
        try:
            return Frame(Kind(kind), content, offset)
        except ValueError:
            raise RecordingError(
                f"the frame at byte {offset} is of the unknown kind {kind}: a later release of slurmhooks wrote it"
            ) from None


def check_access(fd: int, path: str) -> None:
    """Refuse a recording that users other than its owner may read or write: it shows what users submit.

    Raises:
        RecordingError: other users may read or write it.
    """
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise RecordingError(f"{path}: not a regular file")
    if stat.S_IMODE(state.st_mode) & 0o077:
        raise RecordingError(
            f"{path}: others than its owner may read or write it: run 'chmod 600 {path}', and think about who has"
        )
