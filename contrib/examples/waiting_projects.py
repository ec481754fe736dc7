# SPDX-License-Identifier: GPL-2.0-or-later
"""Raise the priority of jobs close to their deadline, and of urgent projects.

With PrioritySiteFactorPlugin=site_factor/python, slurmctld adds the returned numbers to a job's priority.
"""

import time

from slurmhooks import hook
from slurmhooks.types import Record

URGENT = {"weather": 5000, "beamline": 2000}
"""The points of each project."""
DAY = 86400


@hook.priority
def urgent_project(record: Record) -> int | None:
    """Add the points of the project; None means no opinion."""
    return URGENT.get(record.account or "")


@hook.priority
def close_deadline(record: Record) -> int | None:
    """Add points in the week before the deadline."""
    if not record.deadline:
        return None
    left = record.deadline - time.time()
    return 10000 if left < DAY else 1000 if left < 7 * DAY else None
