# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Does in each callback what /opt/spank/plan says, and records the results; plans.c does the same in C."""

import os
from typing import Any

from slurmhooks import Reject, hook
from slurmhooks.errors import SpankError

CALLBACKS = (
    *("init", "job_prolog", "init_post_opt", "local_user_init", "user_init", "task_init_privileged", "task_init"),
    *("task_post_fork", "task_exit", "exit", "job_epilog"),
)
options: list[Any] = []


def text_of(digits):
    """Return a text that is written in hexadecimal digits."""
    return os.fsdecode(bytes.fromhex(digits.strip("-")))


def shown(value):
    """Write a value as the plugin in C does."""
    return "none" if value is None else os.fsencode("" if value is True else value).hex() or "-"


def rows():
    """Return the rows of the plan."""
    with open("/opt/spank/plan") as plan:
        return [row.split() for row in plan]


for word, *more in rows():
    if word == "option":
        name, kind = text_of(more[0]), int(more[1])
        make: Any = hook.spank.option
        options.append(make(name, "ARG" if kind else None, usage="for a test", optional=kind == 2))


def item(read):
    """Return an item, or 0 where Slurm does not have it."""
    try:
        return read()
    except SpankError:
        return 0


def act(spank, op, name, value):
    """Do one thing, and return its result."""
    env, control = spank.env, spank.job_control_env
    if op == "options":
        return "".join(shown(option.value) + "," for option in options) + "ok"
    try:
        if op == "get":
            return shown(env.get(name))
        if op == "control_get":
            return shown(control.get(name))
        if op == "set":
            env[name] = value
        elif op == "put":
            env.setdefault(name, value)
        elif op == "del":
            env.pop(name, None)
        elif op == "control_set":
            control[name] = value
        elif op == "control_del":
            control.pop(name, None)
    except (SpankError, ValueError):
        return "error"
    return "ok"


def run(spank):
    """Do what the plan has for a callback."""
    remote = spank.context == "remote"
    who = (spank.job_stepid if remote else 0, item(lambda: spank.job_nodeid), item(lambda: spank.task_global_id))
    line = f"{spank.callback} {spank.context} {who[0]} {who[1]} {who[2]}:"
    fails = False
    for row in rows():
        if row[:2] != [spank.callback, spank.context]:
            continue
        if row[2] == "fail":
            fails = True
        else:
            line += f" {row[2]}=" + act(spank, row[2], text_of(row[3]), text_of(row[4]))
    records = os.open("/opt/spank/records", os.O_WRONLY | os.O_APPEND)
    os.write(records, (line + "\n").encode())
    os.close(records)
    if fails:
        raise Reject("planned")


for callback in CALLBACKS:
    contexts = ["local", "remote", "allocator"] if callback == "init" else None
    mark = getattr(hook.spank, callback)
    (mark(contexts=contexts) if contexts else mark)(run)
