# SPDX-License-Identifier: GPL-2.0-or-later
"""The argument ``event`` of handlers of job start and end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """``event``: the start or the end of a job, and its delivery.

    Attributes:
        name: ``job_start`` or ``job_end``.
        id: of the record, a text; the same for each delivery, so that a service can recognize a record that it has
            already.
        time: when slurmctld reported it, in seconds since the epoch.
        attempt: counts deliveries of the record, from 1.
    """

    name: str
    id: str
    time: float
    attempt: int
