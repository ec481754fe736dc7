# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of SPANK items. A new item of ``spank_item_t`` is a new row.

The C types are those that spank_get_item() writes. They are the same in all releases from 22.05 to 26.05.
"""

from __future__ import annotations

import posix

from slurmhooks.spank.calls import ANYWHERE, EXIT, FORKED, LAUNCH, REMOTE, TASK, USER
from slurmhooks.values import NO_VAL, ExitStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from slurmhooks.spank.calls import Where

    class Reading(Protocol):
        """What the functions below read of ``spank``."""

        @property
        def context(self) -> str:
            """Where the callback runs."""

        @property
        def callback(self) -> str:
            """The running callback."""

        @property
        def env(self) -> Mapping[str, str]:
            """The environment."""

        @property
        def step_name(self) -> str:
            """The name of the step."""

        @property
        def job_array_task_id(self) -> int | None:
            """Another item."""

    Read = Callable[[Reading, Any], Any]


STEP_NAMES = {0xFFFFFFFB: "batch", 0xFFFFFFFC: "extern", 0xFFFFFFFA: "interactive"}
"""slurm.h: SLURM_BATCH_SCRIPT, SLURM_EXTERN_CONT, SLURM_INTERACTIVE_STEP; the same since 20.11."""


class Item:
    """An item: a read-only attribute of ``spank``, or a method if it has an argument.

    For type checkers, the type of an item is the annotated return type of ``convert`` or of its reader in model.py;
    without one it is str or int, depending on the C type.

    Attributes:
        name: name of the attribute.
        item: Slurm's name.
        ctype: C type of the result; empty for items for which model.py has a reader.
        doc: description in one line.
        where: where it works.
        convert: function of the view and the C result (an int, a str or None); returns the value.
        argument: name of the argument of a method.
    """

    __slots__ = ("argument", "convert", "ctype", "doc", "item", "name", "where")

    def __init__(
        self,
        item: str,
        ctype: str,
        doc: str,
        where: Where = REMOTE,
        convert: Read | None = None,
        argument: str | None = None,
    ) -> None:
        """Store the description; see the class. The attribute has Slurm's name without ``S_``, in lower case."""
        self.name = item.removeprefix("S_").lower()
        self.item = item
        self.ctype = ctype
        self.doc = doc
        self.where = where
        self.convert = convert or _plain
        self.argument = argument


def _plain(spank: Reading, raw: Any) -> Any:
    return raw


def _status(spank: Reading, raw: Any) -> ExitStatus:
    return ExitStatus(raw)


NOBODY = 99
"""slurm.h SLURM_AUTH_NOBODY: srun reports it for the owner unless --uid or --gid was given."""


def _owner(own: Callable[[], int]) -> Read:
    return lambda spank, raw: own() if spank.context == "local" and raw == NOBODY else raw


def _maybe(spank: Reading, raw: Any) -> str | None:
    cores: str | None = raw
    return cores


def _task_pid(spank: Reading, raw: Any) -> int:
    # Slurm stores the process id only after the fork; this process is the task.
    return int(raw) if raw > 0 or spank.callback not in ("task_init_privileged", "task_init") else posix.getpid()


def _restart_count(spank: Reading, raw: Any) -> int | None:
    # All releases report 0. In a batch step, slurmstepd sets the variable between task_init_privileged and task_init.
    variable = spank.env.get("SLURM_RESTART_COUNT", "")
    if raw or (variable.isdecimal() and len(variable) < 10):  # users can set it to anything before the first restart
        return int(raw or variable)
    early = spank.step_name == "batch" and spank.callback not in ("task_init", "task_exit", "exit")
    return None if early or spank.step_name == "extern" else 0


def _array_id(spank: Reading, raw: Any) -> int | None:
    # For a job outside an array, Slurm reports 0 in batch steps and the id of the job in other steps.
    return None if spank.job_array_task_id is None else int(raw)


def _array_task_id(spank: Reading, raw: Any) -> int | None:
    return None if raw == NO_VAL[32] else int(raw)


ITEMS = (
    Item("S_JOB_UID", "uid_t", "User id of the job's owner.", USER, _owner(posix.getuid)),
    Item("S_JOB_GID", "gid_t", "Primary group id of the job's owner.", USER, _owner(posix.getgid)),
    Item("S_JOB_ID", "uint32_t", "Slurm's job id.", USER),
    Item("S_JOB_STEPID", "uint32_t", "Step id; a large number for special steps, see step_name.", LAUNCH),
    Item("S_JOB_NNODES", "uint32_t", "Number of nodes of the step.", LAUNCH),
    Item("S_JOB_NODEID", "uint32_t", "Index of this node in the step, from 0."),
    Item("S_JOB_LOCAL_TASK_COUNT", "uint32_t", "Number of tasks on this node."),
    Item("S_JOB_TOTAL_TASK_COUNT", "uint32_t", "Number of tasks of the step; 0 in a batch step.", LAUNCH),
    Item("S_JOB_NCPUS", "uint16_t", "Number of CPUs of the job on this node."),
    Item("S_JOB_ARGV", "", "Command and arguments, as the user gave them.", LAUNCH),
    Item("S_JOB_ENV", "", "A copy of the job's environment; write to env instead."),
    Item("S_TASK_ID", "int", "Task id on this node, from 0.", TASK),
    Item("S_TASK_GLOBAL_ID", "uint32_t", "Task id in the step, from 0.", TASK),
    Item("S_TASK_EXIT_STATUS", "int", "Wait status of the task: raw, exit_code, signal, core_dumped.", EXIT, _status),
    Item("S_TASK_PID", "pid_t", "Process id of the task.", TASK, _task_pid),
    Item("S_JOB_PID_TO_GLOBAL_ID", "uint32_t", "Task id in the step, of a process.", FORKED, None, "pid"),
    Item("S_JOB_PID_TO_LOCAL_ID", "uint32_t", "Task id on this node, of a process.", FORKED, None, "pid"),
    Item(
        "S_JOB_LOCAL_TO_GLOBAL_ID",
        "uint32_t",
        "Task id in the step, of a local task id.",
        REMOTE,
        None,
        "local_id",
    ),
    Item(
        "S_JOB_GLOBAL_TO_LOCAL_ID",
        "uint32_t",
        "Task id on this node, of a global task id.",
        REMOTE,
        None,
        "global_id",
    ),
    Item("S_JOB_SUPPLEMENTARY_GIDS", "", "Supplementary group ids of the job's owner."),
    Item("S_SLURM_VERSION", "char *", "Version of the running Slurm, as in 24.11.5.", ANYWHERE),
    Item("S_SLURM_VERSION_MAJOR", "char *", "Its first part.", ANYWHERE),
    Item("S_SLURM_VERSION_MINOR", "char *", "Its second part.", ANYWHERE),
    Item("S_SLURM_VERSION_MICRO", "char *", "Its third part.", ANYWHERE),
    Item("S_STEP_CPUS_PER_TASK", "uint32_t", "CPUs for each task; 1 with --overcommit."),
    Item("S_JOB_ALLOC_CORES", "char *", "Cores of the job on this node, as a list like 0-3,8.", REMOTE, _maybe),
    Item("S_JOB_ALLOC_MEM", "uint64_t", "Memory of the job on this node, in MiB."),
    Item("S_STEP_ALLOC_CORES", "char *", "Cores of the step on this node, as a list like 0-3,8.", REMOTE, _maybe),
    Item("S_STEP_ALLOC_MEM", "uint64_t", "Memory of the step on this node, in MiB."),
    Item(
        "S_SLURM_RESTART_COUNT",
        "uint32_t",
        "Number of restarts of the job. Slurm always reports 0: this is SLURM_RESTART_COUNT of the job's environment,"
        " which users can set; None where that is not set yet: in extern steps, and in batch steps before task_init.",
        REMOTE,
        _restart_count,
    ),
    Item("S_JOB_ARRAY_ID", "uint32_t", "Job id of the array; None outside one.", REMOTE, _array_id),
    Item("S_JOB_ARRAY_TASK_ID", "uint32_t", "Index in the array; None outside one.", REMOTE, _array_task_id),
)
"""Every item of spank_item_t, in the order of spank.h."""
