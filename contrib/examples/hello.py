# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers for jobs, SPANK and scrun."""

from slurmhooks import Reject, hook, log

greet = hook.spank.option("greet", "NAME", usage="who to greet")


@hook.job
def limits(job):
    """Runs for each submission and each update of a job, in a worker process that slurmctld started."""
    if job.leaves_out("account"):
        raise Reject("please name a project with --account", code="ESLURM_INVALID_ACCOUNT")
    if job.leaves_out("time_limit"):
        job.time_limit = 60  # minutes
        log.user("no --time given: limited to 60 minutes")


@hook.spank.task_init
def say_hello(spank):
    """Runs in slurmstepd, for each task, as its user."""
    if greet.value is not None:
        spank.env["HELLO"] = f"hello {greet.value}, task {spank.task_global_id} of job {spank.job_id}"


@hook.scrun.stage_in
def shared_only(container):
    """Runs in scrun, before a container is started."""
    if not container.bundle.startswith("/shared/"):
        raise Reject("unpack the container below /shared, where every node sees it")
