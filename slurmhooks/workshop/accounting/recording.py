# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording of jobs from accounting."""

from __future__ import annotations

import errno
import json
import os
import platform
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks._version import __version__
from slurmhooks.job_submit.strings import NotationError
from slurmhooks.processes import process
from slurmhooks.recording.file import FIRST_LINE, Kind, compressed, encoded
from slurmhooks.recording.recorder import BLOCK, name_service
from slurmhooks.recording.request import Recorded, blanked, encode_partial
from slurmhooks.wire.message import Message, answer, pack
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.accounting.export import SCRIPTS, VARIABLES
from slurmhooks.workshop.accounting.saved import SavedError
from slurmhooks.workshop.accounting.submission import AccountedRequest, Computing, Kept, kept
from slurmhooks.workshop.recorded import ACCOUNTING
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slurmhooks.workshop.accounting.saved import Saved

TEXTS = ("script", "environment")
"""Members that a batch job has even if accounting does not know them."""
PART = 2048
"""Jobs that a process imports at a time."""


@dataclass
class Counts:
    """What an import has found.

    Attributes:
        jobs: number of submissions.
        records: number of records of sacct.
        scripts: number of jobs whose script is known.
        environments: number of jobs whose environment is known.
        known: number of jobs for which each field is known, by field.
    """

    jobs: int = 0
    records: int = 0
    scripts: int = 0
    environments: int = 0
    known: dict[str, int] = field(default_factory=dict)


def write(
    fd: int,
    saved: Saved,
    assume: frozenset[str] = frozenset(),
    *,
    users_here: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """Write the recording.

    ``fd`` is of an empty file. ``users_here``: the name service of this machine is that of the cluster. ``progress``
    gets the number of jobs that are done, and the number of all jobs.

    Raises:
        OSError: the file cannot be written.
        SavedError: a job has values that no job can have.
    """
    return _Writing(fd, saved, assume, users_here).run(progress)


@dataclass
class _Part:
    """A part of the jobs of an import, as a process returns it.

    ``frames`` are the contents of their frames, ``users`` names by user id; ``unknown`` says how many of them have the
    same unknown members.
    """

    frames: list[bytes] = field(default_factory=list)
    users: dict[int, str] = field(default_factory=dict)
    unknown: Counter[frozenset[str]] = field(default_factory=Counter)
    scripts: int = 0
    environments: int = 0


class _Writing:
    """One import."""

    def __init__(self, fd: int, saved: Saved, assume: frozenset[str], users_here: bool) -> None:
        self._fd = fd
        self._saved = saved
        self._assume = assume
        self._users_here = users_here
        self._tables = tables_of(saved.release)
        self._table = self._tables["job"]
        self._places = {name: self._table.places[name] for name in TEXTS}
        self._computing = Computing(self._tables.release, assume)
        self._accepted = answer(self._tables, 0)
        self._users: set[int] = set()

    def run(self, progress: Callable[[int, int], None] | None) -> Counts:
        """Write all frames."""
        saved, counts = self._saved, Counts(records=self._saved.records)
        unknown: Counter[frozenset[str]] = Counter()
        self._write(FIRST_LINE)
        self._frame(Kind.START, json.dumps(self._start()).encode())
        self._frame(Kind.TABLES, self._tables.text.encode())
        for part in self._parts():
            for number, name in part.users.items():
                self._user(number, name)
            for content in part.frames:
                self._frame(Kind.PARTIAL, content)
            counts.jobs += part.unknown.total()
            counts.scripts += part.scripts
            counts.environments += part.environments
            unknown += part.unknown
            if progress is not None:
                progress(counts.jobs, saved.jobs)
        end = {"time": time.time(), "reason": "it has all jobs", "requests": counts.jobs, "lost": 0}
        self._frame(Kind.END, json.dumps(end).encode())
        for name in self._table.places:
            counts.known[name] = sum(number for members, number in unknown.items() if name not in members)
        return counts

    def _parts(self) -> Iterator[_Part]:
        """Yield the parts in order; a process for each processor makes them, if there are several, and can be.

        Raises:
            OSError: such a process was killed.
        """
        global _shared
        jobs = self._saved.jobs
        parts = [range(start, min(start + PART, jobs)) for start in range(0, jobs, PART)]
        processes = min(len(os.sched_getaffinity(0)), len(parts))
        if processes < 2:
            yield from map(self.part, parts)
            return
        from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
        from multiprocessing import get_context

        _shared = self  # forked processes have it, and the mapped file
        try:
            executor = ProcessPoolExecutor(processes, get_context("fork"), _begin, (os.getpid(),))
        except (OSError, NotImplementedError):  # no semaphores, as in a container whose /dev/shm is read-only
            yield from map(self.part, parts)
            return
        with executor as pool:
            try:
                yield from pool.map(_part, parts)
            except BrokenExecutor:
                raise OSError(errno.ECHILD, "a process that computed a part of it was killed") from None

    def part(self, numbers: range) -> _Part:
        """Return a part of the jobs.

        Raises:
            SavedError: a job has values that no job can have.
        """
        saved, part = self._saved, _Part()
        pending: list[bytes] = []
        size = 0
        for columns in saved.part(numbers):
            texts = kept(saved.kept(SCRIPTS, columns["JobID"]), saved.kept(VARIABLES, columns["JobID"]))
            part.scripts += texts.script is not None
            part.environments += texts.variables is not None
            try:
                data = encode_partial(self._recorded(columns, texts, part))
            except (ValueError, OverflowError, NotationError) as error:
                raise SavedError(f"job {columns['JobID']}: {error}") from error
            pending.append(data)
            size += len(data)
            if size >= BLOCK:
                part.frames.append(compressed(pending))
                pending, size = [], 0
        if pending:
            part.frames.append(compressed(pending))
        return part

    def _start(self) -> dict[str, Any]:
        return {
            "time": time.time(),
            "slurmhooks": __version__,
            "python": platform.python_version(),
            "slurm": self._saved.release,
            "tier": self._tables.tier,
            "source": ACCOUNTING,
            "assumed": sorted(self._assume),
            "with": [*(["script"] if self._saved.keeps(SCRIPTS) else [])],
        }

    def _recorded(self, columns: Mapping[str, str], texts: Kept, part: _Part) -> Recorded:
        request = self._computing.request(columns, texts)
        user = int(columns["UID"])
        part.users.setdefault(user, columns.get("User", ""))
        part.unknown[request.unknown] += 1
        struct, unknown = self._struct(request)
        message = Message(Type.REQUEST, 0, 0 if request.sender_is_root else user, user, ((0, struct),))
        return Recorded(
            time=float(columns["Submit"]),
            hook="job_submit",
            id=columns["JobID"],
            hooks="",
            decided="",
            bugs=(),
            request=message.encode(self._tables),
            answer=self._accepted,
            unknown=unknown,
        )

    def _struct(self, request: AccountedRequest) -> tuple[bytes, frozenset[str]]:
        """Return the packed request, and its unknown members without those that are marked in it."""
        raws, unknown = request.raws, request.unknown
        missing = [name for name in TEXTS if request.batch and name in unknown]
        if missing:
            raws = {**raws, **{name: [b"?"] if name == "environment" else b"?" for name in missing}}
            unknown = unknown.difference(missing)
        struct = pack(self._table, raws, self._computing.slots)
        return (blanked(self._table, struct, [self._places[name] for name in missing]) if missing else struct), unknown

    def _user(self, number: int, name: str) -> None:
        if number in self._users:
            return
        self._users.add(number)
        entry = name_service(number) if self._users_here else None
        if entry is None and name:
            entry = {"id": number, "name": name}
        if entry is not None:
            self._frame(Kind.USER, json.dumps(entry).encode())

    def _frame(self, kind: Kind, content: bytes) -> None:
        self._write(encoded(kind, content))

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]


_shared: _Writing | None = None
"""The import whose parts a process makes."""


def _begin(parent: int) -> None:
    """Let this process end with its parent, which alone reports that a user has interrupted the import."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process.die_with(parent)


def _part(numbers: range) -> _Part:
    """Return a part of the import, in a process of its own."""
    assert _shared is not None
    return _shared.part(numbers)
