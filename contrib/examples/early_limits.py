# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply one rule twice: in the user's own command, before anything is sent, and in slurmctld, where it binds."""

from __future__ import annotations

from slurmhooks import Reject, hook, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.types import Job, Options, Unlimited

LONGEST = {"debug": 60, "night": 12 * 60}
"""Minutes that a job may ask for in a partition."""

asked: dict[int, int | Unlimited | None] = {}


@hook.job_submit
@hook.cli_filter.pre_submit
def limits(job: Job | Options) -> None:
    """Runs in both places: the options of a command have the same names as the fields of a job."""
    most = LONGEST.get(job.partition or "")
    if most is None:
        return
    if job.time_limit is None:
        job.time_limit = most
    elif job.time_limit > most:
        raise Reject(f"partition {job.partition} takes at most {most} minutes: lower --time")


@hook.cli_filter.pre_submit(order=90)
def remember(options: Options, offset: int) -> None:
    """Keep it for post_submit, which runs in the same process."""
    asked[offset] = options.time_limit


@hook.cli_filter.post_submit
def tell(offset: int, job_id: int) -> None:
    """Runs when the job exists; slurmctld knows the limit of a job for which nobody has named one."""
    if asked[offset] is not None:
        log.info("job may run %s minutes", asked[offset], job=job_id)
