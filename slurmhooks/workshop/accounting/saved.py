# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the output of the script of export.py, which may be longer than memory."""

from __future__ import annotations

import mmap
import re
from array import array
from typing import TYPE_CHECKING

from slurmhooks.errors import SlurmhooksError
from slurmhooks.workshop.accounting.export import END, FIRST, LAST, SCRIPTS, VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = re.compile(rb"slurm\S* (\d{1,4}\.\d{1,4}(?:\.\d{1,4})?(?:[.-]\S*)?)\n")
HEADER = re.compile(rf"{FIRST}(.{{1,64}}?)JobID\1[^\n]*?\1{LAST}\n".encode())
KEPT = re.compile(
    rb"(?:Batch Script for|Environment used for) (\d{1,10}+)(?!\d)\S*+(?: \(must be batch to display\))?\n-{80}\n"
)
NOT_KEPT = b"NONE\n"
EXTRA_NEWLINE_UNTIL = (24, 5, 5)
"""The first release whose sacct adds no line break to scripts and environments."""
NEEDED = frozenset({"JobID", "Submit", "GID", "SubmitLine", LAST})
COMPONENT = "component"
"""Beside the columns: not empty if the job may be a component of the heterogeneous job before it, whose line it has.
sacct does not always show it."""
LONGEST = 64 << 20
"""Maximum bytes of a record."""
LAST_ID = (1 << 32) - 1
LAST_SECOND = 253402300799
"""The end of the year 9999."""
DIGITS = 20
_STEP = 4096


class SavedError(SlurmhooksError):
    """The file is not the output of the script, or not all of it."""


class Saved:
    """The output of the script.

    Attributes:
        release: of Slurm, such as "24.11.5".
        records: number of records of sacct.
        jobs: number of submissions: an array, or a job that was requeued, is one.
    """

    def __init__(self, fd: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Find the jobs; the descriptor may be closed afterwards.

        ``progress`` gets the number of bytes that are done, and the number of all bytes.

        Raises:
            SavedError: the file is not the output of the script, or not all of it.
        """
        try:
            self._data = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        except ValueError:
            raise SavedError("the file is empty") from None
        version = VERSION.match(self._data)
        header = version and HEADER.match(self._data, version.end())
        if version is None or header is None:
            raise SavedError("this does not begin as the output of the script that 'slurmhooks import --print' prints")
        self.release = version[1].decode()
        self._separator = header[1]
        try:
            self._names = header[0][:-1].decode().split(self._separator.decode())
        except UnicodeDecodeError:
            raise SavedError("its line of column names is not text") from None
        if len(set(self._names)) < len(self._names):
            raise SavedError("a column of sacct is there twice")
        if not NEEDED.issubset(self._names):
            raise SavedError(f"these columns of sacct are missing: {', '.join(sorted(NEEDED.difference(self._names)))}")
        parts = [int(number) for number in re.findall(r"\d{1,4}", self.release)[:3]]
        self._extra = tuple([*parts, 0][:3]) < EXTRA_NEWLINE_UNTIL
        self._offsets = array("q")
        self._times = array("q")
        self._components: set[int] = set()
        self._kept: dict[str, dict[int, int]] = {SCRIPTS: {}, VARIABLES: {}}
        self.records = 0
        self._index(version.end(), progress)
        self._order = sorted(range(len(self._times)), key=self._times.__getitem__)

    @property
    def jobs(self) -> int:
        """The number of submissions."""
        return len(self._times)

    def part(self, numbers: range) -> Iterator[dict[str, str]]:
        """Yield the columns of some jobs by their numbers in the order of submission."""
        for number in numbers:
            place = self._order[number]
            if number % _STEP == 0:
                self._data.madvise(mmap.MADV_DONTNEED)
            columns, _ = self._record(self._offsets[place])
            named = zip(self._names, columns, strict=True)
            job = {name: value.decode("utf-8", "surrogateescape") for name, value in named}
            yield {**job, COMPONENT: "?"} if place in self._components else job

    def keeps(self, kind: str) -> bool:
        """Tell whether the file has scripts (SCRIPTS) or environments (VARIABLES)."""
        return bool(self._kept[kind])

    def kept(self, kind: str, job: str) -> str | None:
        """Return the script or the environment of a job; None if accounting has none, or it is not certain whose it is.

        ``kind`` is SCRIPTS or VARIABLES, ``job`` the column JobID.
        """
        place = self._kept[kind].get(base_of(job.encode(), 0), 0)
        if not place:
            return None
        start, size = place >> 32, place & 0xFFFFFFFF
        text = self._data[start : start + size]
        if self._extra:
            text = text.removesuffix(b"\n")
        # Neither a script nor a variable has a NUL byte.
        return None if text == NOT_KEPT or 0 in text else text.decode("utf-8", "surrogateescape")

    def _index(self, at: int, progress: Callable[[int, int], None] | None) -> None:
        """Find all jobs, scripts and environments."""
        data, separator, size = self._data, self._separator, len(self._data)
        job_id, submit, line, user = (self._names.index(name) for name in ("JobID", "Submit", "SubmitLine", LAST))
        numbers = [self._names.index(name) for name in ("GID", LAST)]
        places: dict[int, int] = {}
        before: tuple[int, object] = (0, None)
        while at < size:
            if data[at : at + len(separator)] == separator:
                word, asked, at = self._marker(at)
                if word == END:
                    return
                end = data.find(separator, at)
                if end < 0:
                    break
                self._index_kept(self._kept[word], asked, at, end)
                at = end
                self._passed(at, progress)
                continue
            columns, end = self._record(at)
            if columns[0] == FIRST.encode() or b"." in columns[job_id]:  # a header, or a step
                at = end
                continue
            self.records += 1
            if any(0 in column for column in columns):
                raise SavedError(f"the record at byte {at} has a NUL byte")
            for place in numbers:
                _number(columns[place], self._names[place], at, LAST_ID)
            time = _number(columns[submit], "Submit", at, LAST_SECOND)
            raw_id, id_ = (base_of(columns[place], at) for place in (0, job_id))
            key = hash((id_, columns[user], columns[line], b"+" in columns[job_id] and columns[0]))
            same = (columns[user], columns[line], time)
            place = places.setdefault(key, len(self._times))
            if before[1] == same and columns[0] == b"%d" % (before[0] + 1):
                self._components.add(place)
            before = (raw_id, same)
            if place == len(self._times):
                self._times.append(time)
                self._offsets.append(at)
            elif time < self._times[place]:  # before it was requeued
                self._times[place], self._offsets[place] = time, at
            at = end
            if self.records % _STEP == 0:
                self._passed(at, progress)
        raise SavedError("the file has no end: sacct failed, or the output was cut off")

    def _passed(self, at: int, progress: Callable[[int, int], None] | None) -> None:
        """Give back the memory of what has been read, and report the progress."""
        self._data.madvise(mmap.MADV_DONTNEED)
        if progress is not None:
            progress(at, len(self._data))

    def _marker(self, at: int) -> tuple[str, set[int], int]:
        """Return the word of a line of the script, the jobs in it, and where the next line begins."""
        line = self._data[at : self._data.find(b"\n", at) + 1]
        words = line[len(self._separator) :].decode("utf-8", "replace").split()
        if not words or words[0] not in (SCRIPTS, VARIABLES, END):
            raise SavedError(f"the line at byte {at} is not of the script")
        jobs = {_number(each.partition(":")[2].encode(), "job id", at, LAST_ID) for each in words[1:]}
        return words[0], jobs, at + len(line)

    def _record(self, at: int) -> tuple[list[bytes], int]:
        """Return the columns of the record at an offset, and where it ends."""
        data, separator, count = self._data, self._separator, len(self._names)
        place, most = at, at + LONGEST
        for _ in range(count - 1):
            place = data.find(separator, place, most)
            if place < 0:
                raise SavedError(f"the record at byte {at} has no end")
            place += len(separator)
        end = data.find(b"\n", place, most) + 1  # users write line breaks into all columns but the last one
        if not end:
            raise SavedError(f"the record at byte {at} has no end")
        columns = data[at : end - 1].split(separator)
        if len(columns) != count:
            raise SavedError(f"the record at byte {at} has {len(columns)} columns, not {count}")
        return columns, end

    def _index_kept(self, kept: dict[int, int], asked: set[int], at: int, end: int) -> None:
        """Find scripts or environments; of two that claim to be of one job, none counts.

        Users write what looks like a title, so it only counts for a job that was asked for, unless the output is of an
        earlier release, which does not say for which jobs it asked.
        """
        headers = [each for each in KEPT.finditer(self._data, at, end) if not asked or int(each[1]) in asked]
        for header, following in zip(headers, [*(each.start() for each in headers), end][1:], strict=True):
            job = int(header[1])
            kept[job] = 0 if job in kept else header.end() << 32 | (following - header.end())


def base_of(job: bytes, at: int) -> int:
    """Return the number of a job without its task or component. Raises as :func:`_number`."""
    match = re.match(rb"\d*", job)
    return _number(b"" if match is None else match[0], "job id", at, LAST_ID)


def _number(text: bytes, what: str, at: int, most: int) -> int:
    """Return the number of a column.

    Raises:
        SavedError: it is none, or too large.
    """
    number = int(text) if text.isdigit() and len(text) < DIGITS else None
    if number is None or number > most:
        hint = ": is SLURM_TIME_FORMAT=%s set?" if what == "Submit" else ""
        shown = text[:DIGITS].decode("ascii", "backslashreplace")
        raise SavedError(f"the record at byte {at}: its {what} is no number up to {most}, but {shown!r}{hint}")
    return number
