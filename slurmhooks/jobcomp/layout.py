# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a segment of the spool, and a segment with one frame. native/jobcomp/spool.h describes the format.

Programs that Slurm runs import this: until a call is kept, it is lost if the program is killed, so it imports little.
"""

from __future__ import annotations

import os
from struct import Struct
from zlib import crc32

from slurmhooks.hooks.points import POINTS

HOOKS = POINTS["jobcomp"].called
"""Hooks of slurmctld's plugin by their numbers in a frame."""
FIRST = {"power": 16, "mail": 32, "reservation": 40}
"""The number of the first hook of a plugin point whose programs hand their calls over, in a frame."""
NUMBERS = {
    **dict(enumerate(HOOKS)),
    **{first + place: spec.name for point, first in FIRST.items() for place, spec in enumerate(POINTS[point].hooks)},
}
"""All hooks by their numbers in a frame."""
MAGIC = b"SHS2"
KEY = 20
"""Bytes of the key of a segment."""
HEAD = len(MAGIC) + KEY
"""Bytes of the header of a segment."""
REST = Struct("=IIIQII")
"""A frame without its key and its message."""
CHECKED = 8
"""Offset in it of the bytes that the checksum covers: they begin after the checksum itself."""


def segment(hook: str, time: int, message: bytes, job_id: int = 0) -> bytes:
    """Return a segment with one frame, that of a call.

    ``time`` is in nanoseconds since 1970. A ``job_id`` of 0 is none.
    """
    number = next(number for number, name in NUMBERS.items() if name == hook)
    key = os.urandom(KEY)
    checked = REST.pack(len(message), 0, number, time, job_id, 0)[CHECKED:] + message
    begin = Struct("=II").pack(len(message), crc32(checked))
    return MAGIC + key + key + begin + checked + bytes(-len(message) % 8)
