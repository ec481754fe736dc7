# SPDX-License-Identifier: GPL-2.0-or-later
"""The contexts and callbacks in which SPANK items and functions work."""

from __future__ import annotations


class Where:
    """The contexts and callbacks in which a function or an item works.

    Attributes:
        text: description for messages and the documentation; completes "it works ...".
        places: the callbacks of each context; None for all callbacks of a context.
    """

    __slots__ = ("places", "text")

    def __init__(self, text: str, **places: tuple[str, ...] | None) -> None:
        """Store both; see the class."""
        self.text = text
        self.places = places

    def includes(self, context: str, callback: str) -> bool:
        """Tell whether these places include a callback in a context."""
        if context not in self.places:
            return False
        callbacks = self.places[context]
        return callbacks is None or callback in callbacks


_LAUNCH = ("local_user_init",)
_TASK = ("task_init_privileged", "task_init", "task_post_fork", "task_exit")

REMOTE = Where("in slurmstepd (context remote)", remote=None)
USER = Where("in slurmstepd, srun's local_user_init, prolog and epilog", remote=None, local=_LAUNCH, job_script=None)
LAUNCH = Where("in slurmstepd and srun's local_user_init", remote=None, local=_LAUNCH)
TASK = Where("in the task callbacks of slurmstepd, but not of an extern step", remote=_TASK)
EXIT = Where("in task_exit", remote=("task_exit",))
FORKED = Where("in slurmstepd's task_post_fork, task_exit and exit", remote=("task_post_fork", "task_exit", "exit"))
ANYWHERE = Where("everywhere", local=None, remote=None, allocator=None, slurmd=None, job_script=None)
CONTROL_WRITE = Where(
    "in sbatch's and salloc's init and init_post_opt, and in srun's init_post_opt; srun forgets what init writes, and"
    " later calls come after the job was submitted",
    allocator=("init", "init_post_opt"),
    local=("init_post_opt",),
)
STATE = Where("in slurmstepd, prolog and epilog", remote=None, job_script=None)
STATE_WRITE = Where(
    "in prolog and epilog, and in slurmstepd's init, init_post_opt, task_post_fork, task_exit and exit",
    remote=("init", "init_post_opt", "task_post_fork", "task_exit", "exit"),
    job_script=None,
)
PREPEND = Where("in task_init_privileged and task_init", remote=("task_init_privileged", "task_init"))
