# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording of jobs from accounting."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks._version import __version__
from slurmhooks.accounting.export import SCRIPTS, VARIABLES
from slurmhooks.accounting.saved import SavedError
from slurmhooks.accounting.submission import Computing, Kept, Request, kept
from slurmhooks.job_submit.strings import NotationError
from slurmhooks.recording.contents import ACCOUNTING
from slurmhooks.recording.file import FIRST_LINE, Kind, compressed, encoded
from slurmhooks.recording.recorder import BLOCK, name_service
from slurmhooks.recording.request import Recorded, blanked, encode_partial
from slurmhooks.testing.tables import tables_of
from slurmhooks.wire.message import Message, answer, pack
from slurmhooks.wire.protocol import Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.accounting.saved import Saved

TEXTS = ("script", "environment")
"""Members that a batch job has even if accounting does not know them."""
_STEP = 256


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

    Args:
        fd: of the file, which is empty.
        saved: the jobs.
        assume: see Computing.
        users_here: the name service of this machine is that of the cluster.
        progress: called with the number of jobs that are done, and the number of all jobs.

    Raises:
        OSError: the file cannot be written.
        SavedError: a job has values that no job can have.
    """
    return _Writing(fd, saved, assume, users_here).run(progress)


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
        self._unknown: dict[frozenset[str], int] = {}

    def run(self, progress: Callable[[int, int], None] | None) -> Counts:
        """Write all frames."""
        saved, counts = self._saved, Counts(records=self._saved.records)
        self._write(FIRST_LINE)
        self._frame(Kind.START, json.dumps(self._start()).encode())
        self._frame(Kind.TABLES, self._tables.text.encode())
        pending: list[bytes] = []
        size = 0
        for columns in saved:
            texts = kept(saved.kept(SCRIPTS, columns["JobID"]), saved.kept(VARIABLES, columns["JobID"]))
            counts.scripts += texts.script is not None
            counts.environments += texts.variables is not None
            try:
                data = encode_partial(self._recorded(columns, texts))
            except (ValueError, OverflowError, NotationError) as error:
                raise SavedError(f"job {columns['JobID']}: {error}") from error
            pending.append(data)
            size += len(data)
            counts.jobs += 1
            if size >= BLOCK:
                self._frame(Kind.PARTIAL, compressed(pending))
                pending, size = [], 0
            if progress is not None and counts.jobs % _STEP == 0:
                progress(counts.jobs, saved.jobs)
        if pending:
            self._frame(Kind.PARTIAL, compressed(pending))
        end = {"time": time.time(), "reason": "it has all jobs", "requests": counts.jobs, "lost": 0}
        self._frame(Kind.END, json.dumps(end).encode())
        for name in self._table.places:
            counts.known[name] = sum(number for unknown, number in self._unknown.items() if name not in unknown)
        return counts

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

    def _recorded(self, columns: Mapping[str, str], texts: Kept) -> Recorded:
        request = self._computing.request(columns, texts)
        user = int(columns["UID"])
        self._user(user, columns.get("User", ""))
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

    def _struct(self, request: Request) -> tuple[bytes, frozenset[str]]:
        """Return the packed request, and its unknown members without those that are marked in it."""
        self._unknown[request.unknown] = self._unknown.get(request.unknown, 0) + 1
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
