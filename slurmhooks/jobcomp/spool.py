# SPDX-License-Identifier: GPL-2.0-or-later
"""The spool: records on disk that wait for their delivery, in segments that segment.py reads."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slurmhooks.files import regular
from slurmhooks.files.durable import force, write
from slurmhooks.jobcomp.frames import frames, key_of
from slurmhooks.jobcomp.layout import HEAD
from slurmhooks.jobcomp.segment import AGAIN, SEGMENT, STATE, Record, Segment
from slurmhooks.log import log
from slurmhooks.wire.tables import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slurmhooks.wire.tables import Tables

DEAD = "dead"
LOST = "lost.jsonl"
MOST = 1 << 33
"""Numbers in dead letters are less: ids of jobs, and seconds since the epoch."""


class Spool:
    """The folder of the spool; several processes may read it at once, and each notes what it has delivered."""

    def __init__(self, folder: Path, *, in_memory: bool = True) -> None:
        """Read nothing yet.

        ``in_memory``: on a full disk, keep in memory what became of records; otherwise this process ends before there
        is room, so that it is an error.
        """
        self.folder = folder
        self._in_memory = in_memory
        self._segments: dict[str, Segment] = {}
        self._tables: dict[int, Tables] = {}
        self._refreshed = -math.inf

    def refresh(self, interval: float = 0.0) -> None:
        """Read new data, and remove segments that are finished.

        Nothing is done within ``interval`` seconds of the last time: a folder may have thousands of files.

        Raises:
            OSError: the folder or a file in it cannot be read.
        """
        now = time.monotonic()
        if now - self._refreshed < interval:
            return
        self._refreshed = now
        names = set(os.listdir(self.folder))
        there = {name for name in names if name.endswith(SEGMENT)}
        if there != self._segments.keys():
            segments = {}
            for name in sorted(there):
                # Another worker may have removed it meanwhile.
                with suppress(FileNotFoundError):
                    segments[name] = self._segments.get(name) or self._opened(self.folder / name)
            self._segments = segments
            self._remove_orphans(names)
        for name, segment in list(self._segments.items()):
            if segment.is_untouched and name.removesuffix(SEGMENT) + STATE not in names:
                continue
            segment.refresh()
            if segment.over:
                damaged = segment.damaged()
                if damaged:
                    log.error("%s: %d bytes of it are no complete records", segment.path, damaged)
                segment.remove()
                del self._segments[name]

    def _opened(self, path: Path) -> Segment:
        segment = Segment(path, in_memory=self._in_memory)
        segment.refresh()  # closes the file of a program
        return segment

    def _remove_orphans(self, names: set[str]) -> None:
        """Remove state files left by a process that ended after it had removed their segments."""
        for name in names:
            stem = name.removesuffix(STATE)
            if stem != name and stem.isdecimal() and stem + SEGMENT not in names:
                (self.folder / name).unlink(missing_ok=True)

    def records(self) -> Iterator[Record]:
        """Return all records that are to be delivered, in the order in which they were written."""
        for segment in self._segments.values():
            yield from segment.records.values()

    def tables(self, identity: int) -> Tables:
        """Return the tables that a message was written with, perhaps by an earlier build.

        Raises:
            OSError: the tables cannot be read.
            TableError: the tables are damaged.
        """
        tables = self._tables.get(identity)
        if tables is None:
            text = regular.read(self.folder / f"{identity:016x}.table").decode()
            tables = self._tables[identity] = parse(text)
        return tables

    # Dead letters

    @property
    def _dead(self) -> Path:
        return self.folder / DEAD

    def bury(self, record: Record) -> None:
        """Keep a record that cannot be delivered as a dead letter, and end its delivery.

        Raises:
            OSError: the dead letter cannot be written.
        """
        frame = record.frame
        about = {
            "id": frame.id,
            "hook": frame.hook,
            "job_id": frame.job_id,
            "time": frame.time // 10**9,
            "tries": record.tries,
            "reasons": record.reasons,
            "passed": sorted(record.passed),
        }
        if not self._dead.is_dir():
            self._dead.mkdir(mode=0o700, exist_ok=True)
            force(self.folder)
        write(self._dead / f"{frame.id}.json", json.dumps(about).encode())
        write(self._dead / f"{frame.id}{SEGMENT}", record.segment.raw(frame))
        record.segment.note(record, "dead")

    @property
    def dead(self) -> int:
        """The number of dead letters: there may be so many that nobody who only counts them should read them."""
        with suppress(FileNotFoundError):
            return sum(name.endswith(SEGMENT) for name in os.listdir(self._dead))
        return 0

    def letters(self) -> list[dict[str, Any]]:
        """Return the dead letters, oldest first, each with id, hook, job_id, time, tries, reasons and passed."""
        paths = self._dead.glob(f"*{SEGMENT}") if self._dead.is_dir() else ()
        letters = [self._letter(path.name.removesuffix(SEGMENT)) for path in paths]
        return sorted(letters, key=lambda about: str(about["id"]).rpartition(".")[2])

    def _letter(self, name: str) -> dict[str, Any]:
        about: object = None
        with suppress(OSError, ValueError, RecursionError):  # the letter itself is what matters
            about = json.loads(regular.read(self._dead / f"{name}.json"))
        return {"reasons": {}, **(_sound(about) if isinstance(about, dict) else {}), "id": name}

    def message(self, letter: str) -> bytes:
        """Return the message of a dead letter; b"" if it cannot be read."""
        with suppress(OSError):
            data = regular.read(self._dead / f"{letter}{SEGMENT}")
            for frame in frames(data, key_of(data)):
                return data[frame.start : frame.start + frame.size]
        return b""

    def redeliver(self, letter: str) -> None:
        """Queue a dead letter for delivery to the handlers that do not have it.

        Raises:
            FileNotFoundError: there is no such letter.
        """
        about = self._letter(letter)
        os.close(regular.opened(self._dead / f"{letter}{SEGMENT}"))  # before anything is written: there is one
        passed = "".join(f"{json.dumps([HEAD, 'passed', label])}\n" for label in about.get("passed", ()))
        again = self.folder / f"{AGAIN}{letter}{SEGMENT}"
        # Workers take the letter as soon as the segment exists, so write that last.
        write(again.with_suffix(STATE), passed.encode())
        os.rename(self._dead / f"{letter}{SEGMENT}", again)
        force(self.folder)
        (self._dead / f"{letter}.json").unlink(missing_ok=True)

    def discard(self, letter: str) -> None:
        """Remove a dead letter.

        Raises:
            FileNotFoundError: there is no such letter.
        """
        (self._dead / f"{letter}{SEGMENT}").unlink()
        (self._dead / f"{letter}.json").unlink(missing_ok=True)

    def lost(self) -> list[dict[str, Any]]:
        """Return the jobs whose records were not kept, each with job_id, hook, time and reason."""
        try:
            lines = regular.read(self.folder / LOST).split(b"\n")
        except FileNotFoundError:
            return []
        jobs = []
        for line in lines:
            with suppress(ValueError, RecursionError):
                jobs.append(json.loads(line))
        return [job for job in jobs if isinstance(job, dict)]


def _sound(about: dict[str, Any]) -> dict[str, Any]:
    """Return what is known about a dead letter, without values of a damaged file that nobody expects."""
    texts = {"hook": about.get("hook")}
    numbers = {name: about.get(name) for name in ("job_id", "time", "tries")}
    reasons, passed = about.get("reasons"), about.get("passed")
    sound: dict[str, Any] = {name: value for name, value in texts.items() if isinstance(value, str)}
    sound |= {name: value for name, value in numbers.items() if isinstance(value, int) and 0 <= value < MOST}
    if isinstance(reasons, dict):
        sound["reasons"] = {name: reason for name, reason in reasons.items() if isinstance(reason, str)}
    if isinstance(passed, list):
        sound["passed"] = [label for label in passed if isinstance(label, str)]
    return sound
