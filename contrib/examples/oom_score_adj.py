# SPDX-License-Identifier: GPL-2.0-or-later
"""Let the kernel kill tasks before daemons when memory runs out.

Argument of the line in plugstack.conf: oom_score_adj=N, from -1000 to 1000.
"""

from slurmhooks import hook, log
from slurmhooks.types import Spank


@hook.spank.task_init_privileged
def adjust(spank: Spank) -> None:
    """Runs in the task as root, which may also lower the score; programs inherit it."""
    scores = [word.removeprefix("oom_score_adj=") for word in spank.args if word.startswith("oom_score_adj=")]
    for score in scores:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(score)  # the kernel refuses what is no score
        log.info("oom_score_adj of task %d is %s", spank.task_global_id, score)
