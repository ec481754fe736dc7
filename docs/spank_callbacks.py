# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of callbacks and contexts: which program runs them, as whom and when, and what a failure does.

Tests check it on real daemons.
"""

from __future__ import annotations

ROOT = "root"
USER = "the user"
DROPPED = "root, effectively the user"


class Place:
    """A callback in a context.

    Attributes:
        callback: name of the callback, without ``slurm_spank_``.
        context: name of the context, see spank_context().
        program: the programs that run it.
        user: the user as which they run it.
        when: the time of the call, in words.
        failure: the effect of a refusal or a bug, with a ``required`` line in plugstack.conf.
        options: whether ``Option.value`` is set in this callback, except in extern steps.
    """

    __slots__ = ("callback", "context", "failure", "options", "program", "user", "when")

    def __init__(
        self, callback: str, context: str, program: str, user: str, when: str, failure: str, options: bool = True
    ) -> None:
        self.callback = callback
        self.context = context
        self.program = program
        self.user = user
        self.when = when
        self.failure = failure
        self.options = options


_ENDS = "The command ends with 1; nothing is submitted."
_NODE = (
    "The step does not start, and nobody sees the text. Batch step: the node is drained; from 25.05 on not with"
    ' code="ESPANK_JOB_FAILURE". srun of 22.05 ends with 0. Extern step: the prolog counts as failed.'
)
_TASK = "The step fails with 1, with the text."
_EARLY = "The step fails, with the text. Batch step: the node is drained. srun of 22.05 ends with 0."
_DRAIN = "The node is drained, with the text of a refusal; after a failed prolog the job does not run there."
_NOTHING = "Nothing but the text."
_UNSEEN = "Nothing; users of srun do not see the text."
_SRUN = "srun"
_ALLOCATOR = "sbatch, salloc, scrontab, scrun"
_STEPD = "slurmstepd"

PLACES = (
    Place("init", "local", _SRUN, USER, "at the start, before options are read", _ENDS, False),
    Place("init", "allocator", _ALLOCATOR, USER, "at the start, before options are read", _ENDS, False),
    Place("init", "remote", _STEPD, ROOT, "at the start of each step, before options are read", _NODE, False),
    Place(
        "init",
        "slurmd",
        "slurmd",
        ROOT,
        "at the start of slurmd, also of the new one that 'scontrol reconfigure' starts from 23.11 on",
        "slurmd does not start.",
        False,
    ),
    Place(
        "job_prolog",
        "job_script",
        "slurmstepd, a process of its own",
        ROOT,
        "with the job's prolog: before the first step on a node; with PrologFlags=Alloc, Contain or X11 on each node of"
        " the job, at its start",
        _DRAIN,
    ),
    Place("init_post_opt", "local", _SRUN, USER, "after options are read, once a component of a het job", _ENDS),
    Place(
        "init_post_opt",
        "allocator",
        "sbatch, salloc, scrun",
        USER,
        "after options are read, once a component; in scrun while they are read",
        _ENDS,
    ),
    Place("init_post_opt", "remote", _STEPD, ROOT, "after options are read", _NODE),
    Place(
        "local_user_init",
        "local",
        _SRUN,
        USER,
        "when the step exists, before its tasks are launched",
        "srun ends with 1; the job is cancelled if srun made it.",
    ),
    Place("user_init", "remote", _STEPD, DROPPED, "once a node, before tasks are forked; not in extern steps", _EARLY),
    Place(
        "task_init_privileged",
        "remote",
        "the task's process, forked from slurmstepd",
        ROOT,
        "in each task, while task_post_fork may run; not in extern steps",
        _TASK,
    ),
    Place(
        "task_init",
        "remote",
        "the task's process, forked from slurmstepd",
        USER,
        "in each task, just before its program; not in extern steps",
        _TASK,
    ),
    Place("task_post_fork", "remote", _STEPD, ROOT, "for each task, before its program; once in extern steps", _EARLY),
    Place("task_exit", "remote", _STEPD, ROOT, "for each task that has ended; not in extern steps", _NOTHING),
    Place("exit", "local", _SRUN, USER, "when srun ends", _NOTHING),
    Place("exit", "allocator", _ALLOCATOR, USER, "when the command ends; twice in scrun", _NOTHING),
    Place("exit", "remote", _STEPD, ROOT, "at the end of each step", _UNSEEN),
    Place(
        "job_epilog",
        "job_script",
        "slurmstepd, a process of its own",
        ROOT,
        "with the job's epilog, on each node of the job, also where no prolog has run",
        _DRAIN,
    ),
    Place(
        "slurmd_exit",
        "slurmd",
        "slurmd",
        ROOT,
        "at the end of slurmd; not if 'scontrol reconfigure' replaces it",
        _NOTHING,
        False,
    ),
)
"""In the order in which Slurm calls them in each context."""
