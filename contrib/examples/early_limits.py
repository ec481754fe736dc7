# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply one rule twice: in the user's own command, before anything is sent, and in slurmctld, where it binds."""

from slurmhooks import Reject, hook, log

LONGEST = {"debug": 60, "night": 12 * 60}
"""Minutes that a job may ask for in a partition."""

asked = {}


@hook.job_submit
@hook.cli_filter.pre_submit
def limits(job):
    """Runs at both places: the options of a command have the names of a job's fields."""
    most = LONGEST.get(job.partition)
    if most is not None and job.time_limit is None:
        job.time_limit = most
    elif most is not None and job.time_limit > most:
        raise Reject(f"partition {job.partition} takes at most {most} minutes: lower --time")


@hook.cli_filter.pre_submit(order=90)
def remember(options, offset):
    """Keep it for post_submit, which runs in the same process."""
    asked[offset] = options.time_limit


@hook.cli_filter.post_submit
def tell(offset, job_id):
    """Runs when the job exists."""
    log.info("job may run %s minutes", asked[offset], job=job_id)
