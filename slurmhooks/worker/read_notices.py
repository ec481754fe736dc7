# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that all workers share: which notices users have read today.

It outlives workers and generations, but not slurmctld. A process of the configured user may write anything here, which
only decides whether users read a notice again.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from mmap import mmap

SLOTS = 1 << 16
"""Number of notices that are remembered, 8 bytes each."""
WAYS = 8
"""Slots in which a notice may be; if all are taken, one of them is forgotten."""
_SIZE = 8


class ReadNotices:
    """The memory; processes that are forked after its creation share it.

    Two workers that tell a user the same notice in the same instant may both find that it is the first time.
    """

    def __init__(self) -> None:
        self._slots = mmap(-1, SLOTS * _SIZE)

    def has(self, user_id: int, label: str, day: str) -> bool:
        """Tell whether a user has read a notice on a day; see :meth:`add`."""
        key, places = _places(user_id, label, day)
        return any(self._slots[place : place + _SIZE] == key for place in places)

    def add(self, user_id: int, label: str, day: str) -> bool:
        """Note that a user reads a notice; tell whether it is the first time on that day."""
        key, places = _places(user_id, label, day)
        free = None
        for place in places:
            value = self._slots[place : place + _SIZE]
            if value == key:
                return False
            if free is None and not any(value):
                free = place
        place = places[key[-1] % WAYS] if free is None else free
        self._slots[place : place + _SIZE] = key
        return True


def _places(user_id: int, label: str, day: str) -> tuple[bytes, range]:
    """Return what stands for a notice, and where it may be."""
    key = blake2b(f"{day} {user_id} {label}".encode("utf-8", "surrogateescape"), digest_size=_SIZE).digest()
    start = int.from_bytes(key, "little") % (SLOTS // WAYS) * WAYS * _SIZE
    return key, range(start, start + WAYS * _SIZE, _SIZE)


def day_of(seconds: float) -> str:
    """Return the local date of a time in seconds since the epoch, as in 2027-05-01."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


shared: ReadNotices | None = None
"""The memory of this process, which forked processes inherit; None in a process without a supervisor."""
