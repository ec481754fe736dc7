# SPDX-License-Identifier: GPL-2.0-or-later
"""--renice=PRIO and the variable SLURM_RENICE set the nice value of tasks.

Arguments of the line in plugstack.conf: [min_prio=PRIO] [default=PRIO]; without min_prio, -20 is permitted.
"""

import os

from slurmhooks import Reject, hook, log
from slurmhooks.types import Spank


def priority(text: str, source: str = "") -> int:
    """Return a nice value; refuse anything else before the job is submitted."""
    if not text.removeprefix("-").isdecimal() or not -20 <= int(text) <= 20:
        raise Reject(f"{source}{text!r} is not a nice value from -20 to 20")
    return int(text)


renice = hook.spank.option("renice", "PRIO", type=priority, usage="[site] nice value of the tasks, -20 to 20 (last)")


def asked_and_lowest(spank: Spank) -> tuple[int, int]:
    """Return what the option, the variable or the site asks for, and the lowest value that the site permits."""
    site = dict(word.split("=", 1) for word in spank.args)
    lowest = priority(site.get("min_prio", "-20"), "min_prio in plugstack.conf: ")
    if renice.value is not None:
        return renice.value, lowest
    if "SLURM_RENICE" in spank.env:
        return priority(spank.env["SLURM_RENICE"], "SLURM_RENICE: "), lowest
    return priority(site.get("default", "0"), "default in plugstack.conf: "), lowest


@hook.spank.init_post_opt(contexts=["local", "allocator"])
def tell(spank: Spank) -> None:
    """Runs in the user's command, whose log the user reads."""
    asked, lowest = asked_and_lowest(spank)
    if asked < lowest:
        log.user("nice value %d is not permitted here: your tasks get %d", asked, lowest)


@hook.spank.task_init_privileged
def apply(spank: Spank) -> None:
    """Runs in the task as root, which may lower the value."""
    os.setpriority(os.PRIO_PROCESS, 0, max(asked_and_lowest(spank)))
