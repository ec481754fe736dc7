# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the records in a segment of the spool. native/jobcomp/spool.h describes the format.

Records have texts of users, who may try to write what looks like another record. They do not know the key of a segment,
with which each frame begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from slurmhooks.jobcomp.layout import CHECKED, HEAD, KEY, MAGIC, NUMBERS, REST

if TYPE_CHECKING:
    from collections.abc import Iterator


class Frame(NamedTuple):
    """One record, without its message.

    Attributes:
        hook: ``job_end``, ``job_start``, or that of a program, such as ``power.resume``.
        time: nanoseconds since 1970.
        job_id: 0 if the build cannot read it, and if the call concerns no job.
        position: where the frame begins in its segment.
        start: where its message begins.
        size: of the message in bytes.
    """

    hook: str
    time: int
    job_id: int
    position: int
    start: int
    size: int

    @property
    def id(self) -> str:
        """The id of the record, which is the same in every process."""
        return f"{self.job_id}.{self.time}"

    @property
    def end(self) -> int:
        """The position of the next frame."""
        return self.start + (self.size + 7 & ~7)


def key_of(data: bytes) -> bytes:
    """Return what each frame of a segment begins with; ``data`` has at least its first frame."""
    key, same = data[len(MAGIC) : HEAD], data[HEAD : HEAD + KEY]
    # A damaged header: its key begins no frame, but is similar to that of the first frame.
    damaged = data.find(key, HEAD) < 0 and sum(map(int.__eq__, key, same)) >= KEY // 2
    return same if damaged else key


def frames(data: bytes, key: bytes, start: int = 0) -> Iterator[Frame]:
    """Yield the complete and undamaged frames of a segment, or of its end.

    ``start`` is the position of ``data`` in the segment, a multiple of 8.
    """
    at = 0
    while (place := data.find(key, at)) >= 0:
        frame = _frame(data, place, len(key), start)
        if frame is not None:
            yield frame
            at = frame.end - start
        else:
            at = place + 1


def _frame(data: bytes, at: int, key: int, start: int) -> Frame | None:
    """Return the frame at a position; None if it is damaged or incomplete.

    ``key`` is the size of the key; ``start`` is the position of ``data`` in the segment.
    """
    message = at + key + REST.size
    if at % 8 or len(data) < message:
        return None
    size, checksum, hook, time, job_id, _ = REST.unpack_from(data, at + key)
    end = message + size
    if len(data) < end or hook not in NUMBERS or crc32(memoryview(data)[at + key + CHECKED : end]) != checksum:
        return None
    return Frame(NUMBERS[hook], time, job_id, start + at, start + message, size)
