# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply one rule twice: in the user's own command, before anything is sent, and in slurmctld, where it binds."""

from __future__ import annotations

from slurmhooks import Reject, hook, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.types import Options, Unlimited, WholeJob

LONGEST = {"debug": 60, "night": 12 * 60}
"""Minutes that a job may ask for in a partition."""

asked: dict[int, int | Unlimited | None] = {}


def limited(partitions: str | None, minutes: int | Unlimited | None, named: bool) -> int | Unlimited | None:
    """Return a time limit that all partitions take; refuse a longer one that the user has named."""
    most = min((LONGEST[name] for name in (partitions or "").split(",") if name in LONGEST), default=None)
    if most is None or (minutes is not None and minutes <= most):
        return minutes
    if named:
        raise Reject(f"partition {partitions} takes at most {most} minutes: lower --time")
    return most


@hook.cli_filter.pre_submit
def early(options: Options) -> None:
    """Runs in the command: options have the names of a job's fields, and only what the user has given."""
    options.time_limit = limited(options.partition, options.time_limit, options.time_limit is not None)


@hook.job
def limits(job: WholeJob) -> None:
    """Runs in slurmctld, also for updates: the job as it would be, with what Slurm fills in."""
    job.time_limit = limited(job.partition, job.time_limit, not job.leaves_out("time_limit"))


@hook.cli_filter.pre_submit(order=90)
def remember(options: Options, offset: int) -> None:
    """Keep it for post_submit, which runs in the same process."""
    asked[offset] = options.time_limit


@hook.cli_filter.post_submit
def tell(offset: int, job_id: int) -> None:
    """Runs when the job exists; slurmctld knows the limit of a job for which nobody has named one."""
    if asked[offset] is not None:
        log.info("job may run %s minutes", asked[offset], job=job_id)
