# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a large log, the newest first, in blocks: what cannot be wanted is skipped without looking at each line."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = 1 << 18
"""Bytes that are read at once."""
LONGEST = 1 << 24
"""Longer lines, in bytes, are left out: the collector writes none."""
DAY = 86400.0
"""Seconds; local time is less than this from UTC, and each line has its own offset."""
DATE = len("2027-05-01")
_TIME = re.compile(rb'"time":\s*"([^"\\]*)"')
_START = re.compile(rb'\{"time":\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)')


class Window(NamedTuple):
    """A time, in seconds since the epoch: from ``least`` until before ``end``."""

    least: float = -inf
    end: float = inf

    @classmethod
    def between(cls, since: datetime | None, until: datetime | None) -> Window:
        """Return the time between two moments; None: no limit."""
        return cls(-inf if since is None else since.timestamp(), inf if until is None else until.timestamp())

    def may_have(self, line: bytes) -> bool:
        """Tell whether a line may be of this time, without parsing all of it."""
        if self == ALWAYS:
            return True
        time = _TIME.search(line)
        try:
            return time is None or self.least <= datetime.fromisoformat(time[1].decode()).timestamp() < self.end
        except (ValueError, OverflowError):
            return True

    def may_have_some(self, lines: bytes) -> bool:
        """Tell whether some of many lines may be of this time.

        The first and the last one do not decide it, because clocks are set back. But if all have the date of one of
        these, all are of these two days, wherever they were written.
        """
        if self == ALWAYS:
            return True
        first, last = _START.match(lines), _START.match(lines, lines.rfind(b"\n", 0, len(lines) - 1) + 1)
        if first is None or last is None:
            return True
        begins = {each[0][: each.start(1) - each.start() + DATE] for each in (first, last)}
        if sum(lines.count(b"\n" + begin) + lines.startswith(begin) for begin in begins) != lines.count(b"\n"):
            return True
        dates = sorted(each[1][:DATE].decode() for each in (first, last))
        try:
            return _midnight(dates[0]) - DAY < self.end and self.least < _midnight(dates[1]) + 2 * DAY
        except ValueError:
            return True


ALWAYS = Window()


def _midnight(date: str) -> float:
    return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()


def backwards(path: Path, needle: bytes = b"", window: Window = ALWAYS) -> Iterator[bytes]:
    """Yield the lines of a file that have a text, without their ends, the last one first.

    The last line is left out while it is unfinished, and so are those that are too long. It is never looked at all of
    the file at once.

    An empty ``needle`` is in all lines. ``window`` leaves out lines that are of another time; some of them may be
    yielded.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb", buffering=0) as stream:
        position = stream.seek(0, os.SEEK_END)
        ends: list[bytes] | None = None  # the parts of the line that begins before the block, the last part first
        size = 0
        while position:
            start = max(position - BLOCK, 0)
            stream.seek(start)
            block = stream.read(position - start)
            if len(block) < position - start:
                return  # somebody has emptied the file
            position = start
            cut = block.find(b"\n") if start else -1
            if start and cut < 0:
                if ends is not None and size <= LONGEST:
                    ends.append(block)
                    size += len(block)
                continue
            lines = block[cut + 1 :]
            if ends is None or size + len(lines) - lines.rfind(b"\n") > LONGEST:  # an unfinished line
                lines = lines[: lines.rfind(b"\n") + 1]
            else:
                lines = b"".join([lines, *reversed(ends), b"\n"])
            ends, size = [block[:cut]] if start else [], max(cut, 0)
            if lines and window.may_have_some(lines):
                yield from _having(lines, needle)


def _having(lines: bytes, needle: bytes) -> Iterator[bytes]:
    if not needle:
        yield from reversed(lines[:-1].split(b"\n"))
        return
    end = len(lines)
    while (at := lines.rfind(needle, 0, end)) >= 0:
        begin = lines.rfind(b"\n", 0, at) + 1
        yield lines[begin : lines.index(b"\n", at)]
        end = begin
