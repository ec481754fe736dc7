# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs old and new hooks over a recording, in processes of their own, and compares their decisions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.recording.file import MAX_FRAME
from slurmhooks.wire.tables import FILE_NAME
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.replay.compare import Comparison
from slurmhooks.workshop.replay.convert import Conversion, Conversions
from slurmhooks.workshop.replay.engine import Decision, Reader, notes_of, unpack_results
from slurmhooks.workshop.replay.side import LENGTH, NOBODY, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.recording.request import Recorded
    from slurmhooks.wire.tables import Tables
    from slurmhooks.workshop.replay.report import ReplayReport

NETWORK = "the kernel does not let the replay disable the network for handlers"
"""A note."""
LOAD_FIRST = 20
"""Maximum number of output lines that are shown of a process that failed."""


class ReplayError(SlurmhooksError):
    """Hooks do not load, or a process that runs them ended."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__("\n".join(findings))
        self.findings = findings


@dataclass(frozen=True)
class Options:
    """How to replay.

    For the hooks see slurmhooks.workshop.replay.hooks; if there are no old ones, the recorded answers are the old
    decisions. ``tables`` are those of the build to replay for; None: those of the recording. ``processes`` run for each
    set of hooks. ``guard``: root refuses hook files that other users could have written. For ``enforce_all`` see
    Engine. For each difference, ``top`` users, accounts and values are reported, and ``examples`` requests.
    """

    new: str
    old: str | None = None
    tables: Tables | None = None
    processes: int = 1
    network: bool = False
    guard: bool = False
    enforce_all: bool = False
    top: int = 10
    examples: int = 3


def replay(fd: int, options: Options, progress: Callable[[int, int], None] | None = None) -> ReplayReport:
    """Replay a recording.

    ``progress`` gets the number of frames that are done, and the number of all frames.

    Raises:
        RecordingError: the file is not a recording, or is damaged.
        ReplayError: hooks do not load, or a handler ended its process.
    """
    contents = Contents(fd)
    tables = options.tables or contents.newest()
    conversions = Conversions(contents, tables)
    comparison = Comparison(tables, contents.users, options.top, options.examples)
    notes = [*contents.remarks, *_differences(contents, tables)]
    owner = os.fstat(fd).st_uid
    user = owner or NOBODY if os.getuid() == 0 else None
    reader = Reader(tables)
    shares = _shares(contents.offsets, options.processes)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurmhooks-")))
        (folder / FILE_NAME).write_text(tables.text)

        def sides(hooks: str) -> list[_Side]:
            tasks = [(hooks, (share[0], share[-1])) for share in shares]
            return [stack.enter_context(_Side(fd, folder, *task, user, options)) for task in tasks]

        new = sides(options.new)
        old = sides(options.old) if options.old is not None else None
        for which, those in (("new", new), ("old", old or [])):
            for side in those:
                note = side.begin(which)
                notes += [note] if note is not None and note not in notes else []
        done = 0
        # Round robin, so that all processes have something to do.
        for row in zip_longest(*shares):
            for at, offset in enumerate(row):
                if offset is None:
                    continue
                requests = [conversions.request(request) for request in contents.requests(offset)]
                after = new[at].decisions(reader, len(requests))
                before = map(_recorded(reader), requests) if old is None else old[at].decisions(reader, len(requests))
                for request, *decisions in zip(requests, before, after, strict=True):
                    comparison.add(request, *decisions)
                done += 1
                if progress is not None:
                    progress(done, len(contents.offsets))
        for side in (*new, *(old or ())):
            side.end()
    return comparison.report(contents.start, notes)


def _recorded(reader: Reader) -> Callable[[Recorded], Decision]:
    """Return the function that returns the recorded decision about a request."""

    def read(request: Recorded) -> Decision:
        return reader.read(
            request.answer, decided=request.decided, bugs=[(label, "recorded") for label in request.bugs]
        )

    return read


def _shares(offsets: list[int], processes: int) -> list[list[int]]:
    """Return contiguous parts, because handlers may remember something from one request to the next."""
    count = max(1, min(processes, len(offsets)))
    bounds = [len(offsets) * at // count for at in range(count + 1)]
    return [offsets[start:end] for start, end in pairwise(bounds) if end > start]


def _differences(contents: Contents, tables: Tables) -> Iterator[str]:
    """Yield notes on the releases that a recording is converted from."""
    for old in contents.tables.values():
        if old.identity == tables.identity:
            continue
        yield f"recorded on Slurm {old.release} ({old.tier}), replayed for {tables.release} ({tables.tier})"
        difference = Conversion(old, tables).difference()
        for release, names in ((old.release, difference.only_old), (tables.release, difference.only_new)):
            if names:
                yield f"only Slurm {release} has these fields of job: {', '.join(names)}"


class _Side:
    """One process, as the command sees it."""

    def __init__(
        self, fd: int, folder: Path, hooks: str, offsets: tuple[int, int], user: int | None, options: Options
    ) -> None:
        self._hooks = hooks
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        ours, theirs = os.pipe()
        task = Task(fd, theirs, hooks, offsets, user, options.network, options.guard, options.enforce_all)
        # -P: the current folder may contain a module of any name.
        command = [sys.executable, "-P", "-X", f"slurmhooks_plugins={folder}", *task.arguments()]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._stderr, pass_fds=(fd, theirs)
        )
        os.close(theirs)
        self._results: IO[bytes] = open(ours, "rb")  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> _Side:
        return self

    def __exit__(self, *failure: object) -> None:
        self._results.close()
        self._process.kill()
        self._process.wait()
        self._stderr.close()

    def begin(self, which: str) -> str | None:
        """Wait until the hooks are loaded; return a note, which has no name and no path.

        Raises:
            ReplayError: the hooks do not load.
        """
        answer: dict[str, Any] = json.loads(self._message())
        if "findings" in answer:
            raise ReplayError([str(finding) for finding in answer["findings"]])
        if not answer["handlers"]:
            return f"the {which} hooks have no handler of job_submit or job_modify: every request is accepted unchanged"
        return None if answer["isolated"] else NETWORK

    def decisions(self, reader: Reader, count: int) -> list[Decision]:
        """Return the decisions on the requests of the next frame.

        Raises:
            ReplayError: the process ended.
        """
        results = unpack_results(self._message())
        if len(results) != count:
            raise ReplayError([f"{self._hooks}: {len(results)} results of {count} requests"])
        return [reader.read(answer, **notes_of(notes)) for answer, notes in results]

    def end(self) -> None:
        """Wait until the process has ended.

        Raises:
            ReplayError: the process failed.
        """
        if self._process.wait():
            self._fail()

    def _message(self) -> bytes:
        header = self._results.read(LENGTH.size)
        if len(header) < LENGTH.size:
            self._fail()
        (size,) = LENGTH.unpack(header)
        data = self._results.read(size) if size <= MAX_FRAME else b""
        if len(data) != size:
            self._fail()
        return data

    def _fail(self) -> None:
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").splitlines()[-LOAD_FIRST:]
        raise ReplayError([f"{self._hooks}: a process of the replay ended with exit code {code}", *lines])
