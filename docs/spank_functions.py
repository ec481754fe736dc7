# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of the functions of spank.h: their equivalents in Python, and where and since when they work."""

from __future__ import annotations

from slurmhooks.spank.calls import ANYWHERE, CONTROL_WRITE, PREPEND, TASK, Where

SINCE = "22.05"
"""The oldest supported release, for all functions that it has."""


class Function:
    """A function, or a variable that Slurm reads.

    Attributes:
        name: its name in spank.h.
        python: the equivalent in a hook file or in plugstack.conf.
        where: where it works.
        since: the first release that has it.
    """

    __slots__ = ("name", "python", "since", "where")

    def __init__(self, name: str, python: str, where: Where, since: str = SINCE) -> None:
        self.name = name
        self.python = python
        self.where = where
        self.since = since


_INIT = Where("in init, by slurmhooks itself", local=("init",), allocator=("init",), remote=("init",))
_AFTER = ("init_post_opt", "exit")
_GIVEN = Where(
    "after init, where the option is known",
    local=(*_AFTER, "local_user_init"),
    allocator=_AFTER,
    remote=(*_AFTER, "user_init", *(TASK.places["remote"] or ())),
    job_script=None,
)
_CONTROL_READ = Where(
    "in srun, sbatch, salloc, prolog and epilog, by name", local=None, allocator=None, job_script=None
)
_START = Where("where slurmstepd starts", remote=("init", "init_post_opt"))

FUNCTIONS = (
    Function("spank_strerror", "str(error) of a SpankError", ANYWHERE),
    Function("spank_symbol_supported", "spank.symbol_supported(symbol)", ANYWHERE),
    Function("spank_remote", 'spank.context == "remote"', ANYWHERE),
    Function("spank_context", "spank.context", ANYWHERE),
    Function("spank_option_register", "hook.spank.option(...), at the top of a hook file", _INIT),
    Function("spank_option_getopt", "option.value", _GIVEN),
    Function("spank_get_item", "an attribute for each item", ANYWHERE),
    Function("spank_getenv", "spank.env[name]", ANYWHERE),
    Function("spank_setenv", "spank.env[name] = value", ANYWHERE),
    Function("spank_unsetenv", "del spank.env[name]", ANYWHERE),
    Function("spank_job_control_getenv", "spank.job_control_env[name]", _CONTROL_READ),
    Function("spank_job_control_setenv", "spank.job_control_env[name] = value", CONTROL_WRITE),
    Function("spank_job_control_unsetenv", "del spank.job_control_env[name]", CONTROL_WRITE),
    Function("spank_prepend_task_argv", "spank.prepend_task_argv(argv)", PREPEND, "23.11"),
    Function("slurm_error", "log.error(text)", ANYWHERE),
    Function("slurm_info", "log.info(text)", ANYWHERE),
    Function("slurm_verbose", "log.verbose(text)", ANYWHERE),
    Function("slurm_debug", "log.debug(text)", ANYWHERE),
    Function("slurm_debug2", "log.debug2(text)", ANYWHERE),
    Function("slurm_debug3", "log.debug3(text)", ANYWHERE),
    Function("slurm_spank_log", "log.user(text)", ANYWHERE),
    Function("slurm_spank_init_failure_mode", "init_failure_mode= in plugstack.conf", _START, "25.05"),
)
"""In the order of spank.h; the last is a variable."""
