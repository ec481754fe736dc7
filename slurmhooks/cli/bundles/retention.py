# SPDX-License-Identifier: GPL-2.0-or-later
"""How long sets are kept: a process of a job may read files of the set that was in force when the process began."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from slurmhooks.cli.bundles.history import WATCH, Event
from slurmhooks.files import slurm_conf
from slurmhooks.job_submit import times

KEPT = 5
"""Number of sets that are kept, however old they are."""
SHORTEST, LONGEST = timedelta(days=7), timedelta(days=365)
"""The least and the most time for which a set is kept after it was in force."""
PARTITION = re.compile(r"\s*PartitionName\s*=\s*(\S+)", re.IGNORECASE)


def needed(events: Sequence[Event], period: timedelta, now: datetime) -> set[str]:
    """Return the ids of the sets that were in force within a period, or are among the last ones."""
    after = [event.verb for event in events[1:]]
    counted = [event for event, verb in zip(events, [*after, ""], strict=False) if not event.verb == verb == WATCH]
    last = list(dict.fromkeys(event.bundle for event in reversed(counted)))[:KEPT]
    ends = [event.at for event in events[1:]]
    used = {event.bundle for event, end in zip(events, ends, strict=False) if end is None or now - end < period}
    return {*last, *used}


def period(conf: str) -> timedelta:
    """Return the time that the longest job may take, by MaxTime of the partitions in a slurm.conf, within the limits.

    Jobs take longer that are suspended, or that an administrator or a QOS lets run beyond MaxTime.
    Without a limit, or without partitions there, it is the longest.
    """
    default, longest = LONGEST, timedelta(0)
    for line in slurm_conf.lines(conf):
        name = PARTITION.match(line)
        if name is None:
            continue
        value = slurm_conf.value_in(line, "MaxTime")
        limit = default if value is None else _time(value)
        if name[1].upper() == "DEFAULT":
            default = limit
        else:
            longest = max(longest, limit)
    return min(max(longest, SHORTEST), LONGEST) if longest else LONGEST


def _time(text: str) -> timedelta:
    seconds = times.seconds(text)
    return LONGEST if seconds is None else timedelta(seconds=min(seconds, LONGEST.total_seconds()))


def today() -> datetime:
    """Return the present time."""
    return datetime.now(UTC)
