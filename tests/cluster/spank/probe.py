# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""A hook file that records everything it can read, in every callback and context."""

import json
import os

from slurmhooks import hook
from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ITEMS
from slurmhooks.values import ExitStatus

RECORDS = "/opt/spank/records"
CALLBACKS = (
    "init",
    "job_prolog",
    "init_post_opt",
    "local_user_init",
    "user_init",
    "task_init_privileged",
    "task_init",
    "task_post_fork",
    "task_exit",
    "exit",
    "job_epilog",
    "slurmd_exit",
)
FUNCTIONS = ("spank_prepend_task_argv", "slurm_spank_task_init", "slurm_spank_no_such")

flag = hook.spank.option("probe-flag", usage="takes no argument")
word = hook.spank.option("probe-word", "WORD", usage="needs an argument")
maybe = hook.spank.option("probe-maybe", "WORD", usage="may have an argument", optional=True)
number = hook.spank.option("probe-number", "N", usage="a number", type=int)


def record(fields):
    """Append one line."""
    line = json.dumps(fields) + "\n"
    descriptor = os.open(RECORDS, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def plain(value):
    """Return a value that JSON can represent."""
    if isinstance(value, ExitStatus):
        return [value.raw, value.exit_code, value.signal, value.core_dumped]
    return value


def attempt(read):
    """Return {"value": ...} or {"error": code, "text": ...}."""
    try:
        return {"value": plain(read())}
    except SpankError as error:
        return {"error": error.code, "item": error.item, "text": str(error)}


def items(spank):
    """Return every item.

    Items that take an argument are read for task 0, for this process, and beyond the last task.
    """
    found = {}
    for item in ITEMS:
        if item.argument is None:
            found[item.name] = attempt(lambda name=item.name: getattr(spank, name))
        elif item.argument == "pid":
            pid = attempt(lambda: spank.task_pid).get("value", 1)
            found[item.name] = attempt(lambda name=item.name, pid=pid: getattr(spank, name)(pid))
        else:
            found[item.name] = attempt(lambda name=item.name: getattr(spank, name)(0))
            count = attempt(lambda: spank.job_total_task_count).get("value") or 1
            for number in (count, 4000000000):
                found[f"{item.name}({number})"] = attempt(
                    lambda name=item.name, number=number: getattr(spank, name)(number)
                )
    found["step_name"] = attempt(lambda: spank.step_name)
    env = found["job_env"].pop("value", None)
    if env is not None:
        found["job_env"]["value"] = {name: env.get(name) for name in ("HOME", "SLURM_JOB_ID")}
    return found


def process():
    """Return the user and process of this call."""
    with open("/proc/self/status") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    with open("/proc/self/cmdline", "rb") as file:
        command = file.read().decode().split("\0")
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "uid": os.getuid(),
        "euid": os.geteuid(),
        "gid": os.getgid(),
        "egid": os.getegid(),
        "command": " ".join(command).strip(),
        "name": fields["Name"],
    }


def probe(spank):
    """Record one call."""
    spank.env["PROBE_ENV"] = f"{spank.env.get('PROBE_ENV', '')}{spank.callback} "
    record(
        {
            "callback": spank.callback,
            "context": spank.context,
            "args": list(spank.args),
            "node": os.environ.get("SLURMD_NODENAME") or attempt(lambda: spank.env.get("SLURMD_NODENAME")).get("value"),
            "items": items(spank),
            "process": process(),
            "options": {option.name: [option.given, option.value] for option in (flag, word, maybe, number)},
            "env": {name: spank.env.get(name) for name in ("MARK", "HOME", "NO_SUCH_VARIABLE")},
            "control": attempt(lambda: spank.job_control_env.get("PROBE_CONTROL")),
            "symbols": {name: spank.symbol_supported(name) for name in FUNCTIONS},
        }
    )


for name in CALLBACKS:
    getattr(hook.spank, name)(probe)


@hook.spank.init_post_opt(contexts=["local", "allocator"], order=60)
def control(spank):
    """Write values for prolog and epilog, for which an srun in an allocation would be too late."""
    spank.job_control_env["PROBE_CONTROL"] = "from " + spank.context
