# SPDX-License-Identifier: GPL-2.0-or-later
"""First light: one file with handlers for job_submit, SPANK and scrun."""

import shutil
from pathlib import Path

from slurmhooks import Reject, hook, log


@hook.job
def limits(job):
    """Require a project, and at most an hour; runs for each submission and each update of a job."""
    if job.leaves_out("account"):
        raise Reject("please name a project with --account", code="ESLURM_INVALID_ACCOUNT")
    if job.leaves_out("time_limit"):
        job.time_limit = 60  # minutes
        log.user("no --time given: limited to 60 minutes")
    elif job.time_limit is None or job.time_limit > 60:
        raise Reject("a job may take at most 60 minutes", code="ESLURM_INVALID_TIME_LIMIT")
    if not job.is_update:
        job.comment = f"project {job.account}"


greet = hook.spank.option("greet", "NAME", usage="[first light] who to greet")


@greet.check
def one_word(name):
    """Refuse invalid names; srun and sbatch do so before anything is submitted."""
    if not name.isalpha():
        raise Reject(f"{name!r} is not a name")
    return name


@hook.spank.task_init
def say_hello(spank):
    """Runs in slurmstepd, for each task, just before the user's command."""
    if greet.value is not None:
        spank.env["HELLO"] = f"hello {greet.value}, task {spank.task_global_id} of job {spank.job_id}"


def staged(container):
    """Return the folder that a container is staged to, which belongs to its user."""
    return Path("/tmp", f"staged-{container.user_id}-{container.id}")


@hook.scrun.stage_in
def copy_in(container):
    """Give the container a private copy of its bundle."""
    place = staged(container)
    shutil.copytree(container.bundle, place, symlinks=True)
    (place / "rootfs" / "etc" / "staged").write_text(f"by slurmhooks, for job {container.job_id}\n")
    container.bundle = str(place)
    container.root_path = str(place / "rootfs")


@hook.scrun.stage_out
def clean_up(container):
    """Remove the copy."""
    shutil.rmtree(staged(container), ignore_errors=True)
    log.info("removed the staged copy", container=container.id)
