# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Two options, one only for srun and one for all commands, and handlers that record where they have values."""

import json
import os

from slurmhooks import hook, log

RECORDS = "/opt/spank/records"

of_step = hook.spank.option("count-step", "[N]", usage="counts for a step", type=int, contexts=["local", "remote"])
of_job = hook.spank.option("count-job", "[N]", usage="counts for a job, registered everywhere", type=int)


@of_step.check
def step_taken(value):
    """Say so."""
    log.info("taken: count-step=%d", value)
    return value


@of_job.check
def not_zero(value):
    """Refuse one value; record others."""
    if value == 0:
        raise ValueError("a number other than zero is required")
    log.info("taken: count-job=%d", value)
    return value


def record(spank, **fields):
    """Append one line."""
    line = json.dumps({"callback": spank.callback, "context": spank.context, **fields}) + "\n"
    descriptor = os.open(RECORDS, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def counts():
    """Return the values of both options."""
    return [of_job.value, of_step.value]


@hook.spank.init_post_opt(contexts=["local", "allocator"])
def control(spank):
    """Set, read, change and delete in the job control environment, whose names differ in case too."""
    control = spank.job_control_env
    control.update({"DROPPED": "1", "KEPT": "upper", "kept": "lower"})
    del control["DROPPED"]
    control["KEPT"] += " case"
    log.info("control: %s %s %s", control["KEPT"], control["kept"], control.get("DROPPED"))


@hook.spank.local_user_init
def known(spank):
    """Record that srun has its step."""
    log.info("local_user_init: counts=%s", counts())


@hook.spank.task_init
def task(spank):
    """Record the values in a task."""
    record(spank, counts=counts(), uid=spank.job_uid, argv=spank.job_argv, node=os.environ.get("SLURMD_NODENAME"))


@hook.spank.job_prolog
def prolog(spank):
    """Record the job control environment."""
    control = spank.job_control_env
    record(spank, control=[control.get(name) for name in ("KEPT", "kept", "DROPPED")])


@hook.spank.exit
def end(spank):
    """Record the values at the end."""
    if spank.context == "remote":
        record(spank, counts=counts(), step=spank.step_name)
    else:
        log.info("exit: counts=%s", counts())
