# SPDX-License-Identifier: GPL-2.0-or-later
"""Spools without slurmctld; tests/native/test_spool.py shows that C writes the same."""

import fcntl
import os
from pathlib import Path
from struct import Struct
from zlib import crc32

from slurmhooks.jobcomp.layout import HOOKS, KEY, MAGIC
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.testing import FakeRecord
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.testing.tables import tables_of

KEYED = bytes(range(100, 100 + KEY))
HEAD = Struct("=IQII")
FIRST = 1_700_000_000


class SpoolFolder:
    """A spool to which a test appends."""

    def __init__(self, path: Path) -> None:
        """Create the spool, with one segment that is locked as slurmctld locks it."""
        self.path = path
        path.mkdir()
        self._segment = path / "0000000001.spool"
        self._lock = os.open(self._segment, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.write(self._lock, MAGIC + KEYED)
        self._count = 0

    def append(
        self,
        job_id: int = 1,
        hook: str = "job_end",
        release: str = "24.11",
        message: bytes | None = None,
        **fields: object,
    ) -> None:
        """Append a record with some fields."""
        if message is None:
            tables = tables_of(release)
            struct = FakeRecord(release=release, job_id=job_id, **fields)._struct
            message = Message(Type.REQUEST, items=((tables.place("record"), struct.data),)).encode(tables)
            (self.path / f"{tables.identity:016x}.table").write_text(tables.text)
        self._count += 1
        head = HEAD.pack(HOOKS.index(hook), (FIRST + self._count) * 10**9, job_id, 0)
        checksum = crc32(message, crc32(head))
        frame = KEYED + Struct("=II").pack(len(message), checksum) + head + message
        os.write(self._lock, frame + bytes(-len(frame) % 8))

    def close(self) -> None:
        """Unlock the segment, as the end of slurmctld does."""
        os.close(self._lock)

    def read(self) -> Spool:
        """Return the spool as a process that has just started reads it."""
        spool = Spool(self.path)
        spool.refresh()
        return spool
