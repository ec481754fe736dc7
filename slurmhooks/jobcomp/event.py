# SPDX-License-Identifier: GPL-2.0-or-later
"""The argument ``event`` of handlers whose calls wait in a spool: of job start and end, and of programs."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """``event``: the start or the end of a job, or a call of a program; and its delivery.

    Attributes:
        name: ``job_start``, ``job_end``, or such as ``power.resume`` or ``mail``.
        id: of the record or call, a text; the same for each delivery, so that a service can recognize what it has
            already.
        time: when slurmctld reported it or made the call, in seconds since the epoch.
        attempt: counts deliveries, from 1.
    """

    name: str
    id: str
    time: float
    attempt: int
