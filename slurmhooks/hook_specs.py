# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of hooks: Slurm's functions, and the arguments of their handlers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Context = Literal["local", "remote", "allocator", "slurmd", "job_script"]

CONTEXTS: tuple[Context, ...] = ("local", "remote", "allocator", "slurmd", "job_script")
"""The results of spank_context(), by Slurm's names; Slurm's number is the index + 1."""

COMMANDS = ("salloc", "sbatch", "srun", "scrontab")
"""The contexts of cli_filter: the commands, in the order of native/cli_filter/cli_filter_python.c."""


class HookSpec:
    """One documented function of Slurm for which handlers can be written.

    Attributes:
        name: its name below ``hook``.
        function: Slurm's function.
        arguments: the names of the arguments; a handler takes any subset.
        contexts: for SPANK and cli_filter, the contexts in which Slurm calls the function.
        on_error: the values of ``on_error``: the first is the default, the second lets the request pass.
    """

    __slots__ = ("arguments", "contexts", "function", "name", "on_error")

    def __init__(
        self,
        name: str,
        function: str,
        arguments: tuple[str, ...],
        on_error: tuple[str, str],
        contexts: tuple[str, ...] = (),
    ) -> None:
        """Store the description; see the class."""
        self.name = name
        self.function = function
        self.arguments = arguments
        self.on_error = on_error
        self.contexts = contexts

    @property
    def has_timeout(self) -> bool:
        """Whether a handler may have its own time limit."""
        return not self.name.startswith("job_submit.")

    @property
    def timeout(self) -> float | None:
        """Seconds that a handler may take by default; None in worker processes, which the configuration limits."""
        return _TIMEOUTS.get(self.name, _TIMEOUTS.get(self.name.partition(".")[0]))

    @property
    def has_modes(self) -> bool:
        """Whether a handler may warn or observe instead of deciding: only hooks that decide about requests."""
        return self.on_error[0] == "reject"


_TIMEOUTS = {"spank": 60.0, "spank.job_prolog": 300.0, "spank.job_epilog": 300.0, "cli_filter": 60.0, "scrun": 3600.0}
_SUBMIT = ("reject", "accept")
_FAIL = ("fail", "ignore")
LISTS = ("partitions", "reservations", "jobs", "nodes", "licenses", "qos", "associations")
"""The arguments that are mappings of slurmctld's records."""
_ALL_BUT_SCRIPT = ("local", "remote", "allocator", "slurmd")
_STEP = ("local", "remote", "allocator")
_REMOTE = ("remote",)

HOOKS = {
    spec.name: spec
    for spec in (
        HookSpec("job_submit", "job_submit()", ("job", "submit_uid", *LISTS), _SUBMIT),
        HookSpec("job_modify", "job_modify()", ("job", "record", "modify_uid", *LISTS), _SUBMIT),
        HookSpec("priority", "site_factor_p_set()", ("record", *LISTS), _FAIL),
        HookSpec("controller_prolog", "prep_p_prolog_slurmctld()", ("record", "environment", *LISTS), _FAIL),
        HookSpec("controller_epilog", "prep_p_epilog_slurmctld()", ("record", "environment", *LISTS), _FAIL),
        HookSpec("job_submit.init", "init()", (), _FAIL),
        HookSpec("job_submit.fini", "fini()", (), _FAIL),
        HookSpec("job_start", "jobcomp_p_record_job_start()", ("record", "event"), _FAIL),
        HookSpec("job_end", "jobcomp_p_record_job_end()", ("record", "event"), _FAIL),
        HookSpec("spank.init", "slurm_spank_init()", ("spank",), _FAIL, _ALL_BUT_SCRIPT),
        HookSpec("spank.job_prolog", "slurm_spank_job_prolog()", ("spank",), _FAIL, ("job_script",)),
        HookSpec("spank.init_post_opt", "slurm_spank_init_post_opt()", ("spank",), _FAIL, _STEP),
        HookSpec("spank.local_user_init", "slurm_spank_local_user_init()", ("spank",), _FAIL, ("local",)),
        HookSpec("spank.user_init", "slurm_spank_user_init()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_init_privileged", "slurm_spank_task_init_privileged()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_init", "slurm_spank_task_init()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_post_fork", "slurm_spank_task_post_fork()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_exit", "slurm_spank_task_exit()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.exit", "slurm_spank_exit()", ("spank",), _FAIL, _STEP),
        HookSpec("spank.job_epilog", "slurm_spank_job_epilog()", ("spank",), _FAIL, ("job_script",)),
        HookSpec("spank.slurmd_exit", "slurm_spank_slurmd_exit()", ("spank",), _FAIL, ("slurmd",)),
        HookSpec("cli_filter.setup_defaults", "cli_filter_p_setup_defaults()", ("options", "early"), _FAIL, COMMANDS),
        HookSpec("cli_filter.pre_submit", "cli_filter_p_pre_submit()", ("options", "offset", "job"), _FAIL, COMMANDS),
        HookSpec(
            "cli_filter.post_submit", "cli_filter_p_post_submit()", ("offset", "job_id", "step_id"), _FAIL, COMMANDS
        ),
        HookSpec("scrun.stage_in", "slurm_scrun_stage_in()", ("container",), _FAIL),
        HookSpec("scrun.stage_out", "slurm_scrun_stage_out()", ("container",), _FAIL),
    )
}
"""All hooks, by their names below ``hook``. A new hook is a row here, and what docs/architecture.md says for its plugin
point."""
