# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files whose handlers note their callback, context and process, and what tests do with these notes."""

from collections import Counter
from typing import Any

from tests.cluster.spank.site import Site, settle

IN_STEP = 8
"""The number of callbacks in a step of one task."""
HEAD = """
import json, os, sys, threading, time
from slurmhooks import Reject, hook, log

def note(spank, **fields):
    line = json.dumps({"callback": spank.callback, "context": spank.context, "pid": os.getpid(), **fields}) + "\\n"
    descriptor = os.open("/opt/spank/records", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)

def in_step(handler):
    for callback in ("init", "init_post_opt", "user_init", "task_init_privileged", "task_init", "task_post_fork",
                     "task_exit", "exit"):
        handler = getattr(hook.spank, callback)(contexts=["remote"])(handler)
    return handler
"""


def use(lent: Site, text: str) -> None:
    """Install one hook file, and remove records."""
    settle(lent)
    lent.hooks(hooks=HEAD + text)
    lent.forget_records()


def run(lent: Site, command: str, **env: str) -> str:
    """Run a command that must succeed; return its output after its job has ended."""
    done = lent.shell(command, **env)
    assert done.returncode == 0, done.stdout
    lent.wait_until_idle()
    return done.stdout


def remote(lent: Site, records: int) -> list[dict[str, Any]]:
    """Wait for a number of records of steps, and return them."""
    lent.cluster.wait(
        lambda: sum(record["context"] == "remote" for record in lent.records()) >= records,
        what=f"{records} records, {Counter(record['callback'] for record in lent.records())}",
    )
    return [record for record in lent.records() if record["context"] == "remote"]
