# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: ignore-errors
"""Hooks with bugs, for the scenes that show the effect of a bug."""

from slurmhooks import hook

bug = hook.spank.option("bug", "WHERE", usage="[broken] which handler is to fail")


@hook.job_submit
def bug_in_job_submit(job):
    """Fail for one job name."""
    if job.name == "bug":
        {}["no such key"]


@hook.spank.task_init
def bug_in_task_init(spank):
    """Fail if the option asks for it."""
    if bug.value == "task_init":
        spank.task_id / 0


@hook.scrun.stage_in(order=10)
def bug_in_stage_in(container):
    """Fail for one container."""
    if container.id == "bug":
        raise RuntimeError("disk on fire")
