# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that all workers share: what quotas have accepted in the last seconds.

slurmctld's queue does not show a job at once: between the answer of job_submit() and the job's record, slurmctld lets
other requests in. So a request whose job is not in the queue yet counts from its answer on, for KEPT_SECONDS, because
slurmctld may refuse it afterwards and tells nobody. A process of the configured user may write anything here, which
only decides about quotas.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from hashlib import blake2b
from mmap import mmap
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_SECONDS = 10.0
"""How long slurmctld may take from an answer to the record of the job; its commands wait no longer (MessageTimeout)."""
KEPT_SECONDS = 2 * MOST_SECONDS + 1
"""How long an entry counts unless its job is in the queue. Jobs have the second of their creation: one of an entry that
is forgotten is older than each request that still waits for its job, so it is not taken for that one's."""
CLOCK_REALTIME_COARSE = 5
"""That of time() in C (time.h of Linux), by which slurmctld gives a job its second: behind others until a tick."""
AMOUNTS = 6
"""Number of amounts of an entry."""
BUCKETS = 1024
WAYS = 256
"""Entries of a bucket: slurmctld serves at most as many requests at once (MAX_SERVER_THREADS)."""
_ENTRY = Struct(f"=8sddQ{AMOUNTS}d")


class Entry(NamedTuple):
    """A request that was accepted.

    Attributes:
        key: what stands for the quota and whose it is.
        until: when it is forgotten, in seconds of the monotonic clock.
        at: when it was accepted, in seconds since the epoch, by the clock of slurmctld.
        user_id: the owner of its job.
        amounts: what its job will have.
    """

    key: bytes
    until: float
    at: float
    user_id: int
    amounts: tuple[float, ...]


class Accepted:
    """The memory; processes that are forked after its creation share it."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("accepted", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, BUCKETS * WAYS * _ENTRY.size)
        self._memory = mmap(self._fd, BUCKETS * WAYS * _ENTRY.size)
        self._staged: list[int] = []

    @contextmanager
    def held(self, key: bytes) -> Iterator[None]:
        """Keep other processes from deciding about the same key; the kernel ends that if this process is killed."""
        place = _bucket(key)
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, place)

    def of(self, key: bytes) -> list[Entry]:
        """Return what was accepted for a key and is not forgotten."""
        now = time.monotonic()
        return [
            Entry(name, until, at, user_id, tuple(amounts))
            for name, until, at, user_id, *amounts in self._rows(key)
            if name == key and now < until
        ]

    def add(self, key: bytes, user_id: int, amounts: Sequence[float]) -> None:
        """Note that the present request is accepted, unless :meth:`settle` says otherwise; the key must be held."""
        ends = [row[1] for row in self._rows(key)]
        way = ends.index(min(ends))  # of one that was never written, or is over
        place = _bucket(key) * WAYS + way
        at = time.clock_gettime(CLOCK_REALTIME_COARSE)
        values = key, time.monotonic() + KEPT_SECONDS, at, user_id, *amounts
        _ENTRY.pack_into(self._memory, place * _ENTRY.size, *values)
        self._staged.append(place)

    def settle(self, *, passed: bool) -> None:
        """Note the end of the present request: whether all handlers have accepted it."""
        if not passed:
            for place in self._staged:
                self._memory[place * _ENTRY.size : (place + 1) * _ENTRY.size] = bytes(_ENTRY.size)
        self._staged.clear()

    def _rows(self, key: bytes) -> list[tuple[Any, ...]]:
        start = _bucket(key) * WAYS * _ENTRY.size
        return list(_ENTRY.iter_unpack(self._memory[start : start + WAYS * _ENTRY.size]))


def key_of(label: str, whose: str) -> bytes:
    """Return the key of a quota, and of the user or account that has it."""
    return blake2b(f"{label}\0{whose}".encode("utf-8", "surrogateescape"), digest_size=8).digest()


def _bucket(key: bytes) -> int:
    return int.from_bytes(key, "little") % BUCKETS


shared: Accepted | None = None
"""The memory of this process, which forked processes inherit; None in a process without a supervisor."""
