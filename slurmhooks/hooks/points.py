# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of plugin points and hooks: Slurm's functions, and the arguments of their handlers.

The decorators, the checks of handlers, the numbers by which C names a hook (native/generate/protocol.py), the stubs for
type checkers and the reference are made from it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Context = Literal["local", "remote", "allocator", "slurmd", "job_script"]

CONTEXTS: tuple[Context, ...] = ("local", "remote", "allocator", "slurmd", "job_script")
"""The results of spank_context(), by Slurm's names; Slurm's number is the index + 1."""

COMMANDS = ("salloc", "sbatch", "srun", "scrontab")
"""The contexts of cli_filter: the commands. C numbers them in this order."""

ORIGINS = ("local", "remote", "variable")
"""Where an option's value comes from: the command line or the batch script; in slurmstepd; an environment variable. C
numbers them in this order."""

ENDS = ("NOTHING", "PROCESS", "STEP", "TASK")
"""What is ended to stop a handler that cannot be interrupted, see slurmhooks/handlers/deadline.py. C numbers it in this
order."""

INHERITED = "SLURM_SPANK_"
"""Precedes the name of a variable with the value of an option, in the variable that commands read."""
CONTROL_PREFIX = "SPANK_"
"""Begins the names in the job control environment of prolog and epilog, and of a record on which they have run."""
MOST_OPTIONS = 256
"""Maximum number of options of a line of plugstack.conf, which the number of an option in Slurm also encodes
(native/spank/lines.h)."""
MOST_WORDS = 64
"""Maximum number of words of a line of the manifest: its kind, and for a line of plugstack.conf its arguments."""

HEALTH = ("start", "reboot", "cycle", "idle", "mixed", "alloc")
"""When slurmd runs the HealthCheckProgram: first of a slurmd, first after a reboot, or any other time (cycle); and what
jobs have of the node."""


class HookSpec:
    """One documented function of Slurm for which handlers can be written.

    Attributes:
        name: its name below ``hook``.
        point: the name of its plugin point, which Point sets.
        function: Slurm's function.
        arguments: the names of the arguments; a handler takes any subset.
        on_error: the values of ``on_error``: the first is the default, the second lets the request pass, or drains the
            node.
        contexts: for SPANK, cli_filter and health checks, the contexts in which Slurm calls the function.
        timeout: seconds that a handler may take by default; None in worker processes, which the configuration limits.
        result: the type of what a handler returns.
        is_called: whether Slurm's call reaches Python, by a number; otherwise a process of slurmhooks runs the hook.
        is_periodic: a clock makes the call, see slurmhooks.hooks.schedule.
        runs_in: the hooks among whose handlers its own run, at their order; see slurmhooks.handlers.job_rule.
        cost: for SPANK, what takes longer because a plugin exports the function, even if it does nothing: each
            ``job``, for which slurmd starts one more process, or each ``task``, for which slurmstepd clones itself
            if contain_spank is set.
    """

    def __init__(
        self,
        name: str,
        function: str,
        arguments: tuple[str, ...],
        on_error: tuple[str, str],
        contexts: tuple[str, ...] = (),
        timeout: float | None = None,
        result: str = "None",
        is_called: bool = True,
        is_periodic: bool = False,
        runs_in: tuple[str, ...] = (),
        cost: Literal["job", "task"] | None = None,
    ) -> None:
        self.name = name
        self.point = ""
        self.function = function
        self.arguments = arguments
        self.on_error = on_error
        self.contexts = contexts
        self.timeout = timeout
        self.result = result
        self.is_called = is_called
        self.is_periodic = is_periodic
        self.runs_in = runs_in
        self.cost = cost

    @property
    def short_name(self) -> str:
        """The name below that of the point, such as ``task_init`` of SPANK."""
        return self.name.removeprefix(f"{self.point}.")

    @property
    def has_timeout(self) -> bool:
        """Whether a handler may have its own time limit."""
        return self.is_called or self.is_periodic or self.has_requests

    @property
    def has_terms(self) -> bool:
        """Whether a handler has terms, see slurmhooks.hooks.terms: only health checks."""
        return self.contexts == HEALTH

    @property
    def has_requests(self) -> bool:
        """Whether a handler decides about a request, which several handlers may refuse."""
        return self.on_error[0] == "reject"

    @property
    def has_texts(self) -> bool:
        """Whether arguments have texts as a user wrote them, which Slurm may not have accepted yet."""
        return not {"job", "spank", "options", "container"}.isdisjoint(self.arguments)

    @property
    def has_modes(self) -> bool:
        """Whether a handler may warn or observe instead of deciding: only hooks that decide about requests or jobs."""
        return self.has_requests or self.is_periodic


class Point:
    """A kind of plugin that Slurm loads, as ``NAME_python.so``, or of program that it runs.

    Attributes:
        name: Slurm's name, which its table in slurmhooks.toml, its files and its pages have, too.
        hooks: its hooks; those that Slurm's calls reach are in the order of the numbers by which C names them.
        key: the key of slurm.conf that must name the plugin of slurmctld, which is Slurm's own for burst_buffer; None:
            job_submit, or a plugin elsewhere.
        default: the default of the key, if it takes several names; None if it takes one name.
        member: the member of Slurm's ``slurm_conf_t`` for the key; None: the plugin has no workers.
    """

    __slots__ = ("default", "hooks", "key", "member", "name")

    def __init__(
        self,
        name: str,
        *hooks: HookSpec,
        key: str | None = None,
        default: str | None = None,
        member: str | None = None,
    ) -> None:
        self.name = name
        self.hooks = hooks
        for spec in hooks:
            spec.point = name
        self.key = key
        self.default = default
        self.member = member

    @property
    def plugin(self) -> str:
        """The file name of the plugin."""
        return f"{self.name}_python.so"

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the hooks that Slurm's calls reach."""
        return tuple(spec.name for spec in self.hooks if spec.is_called)

    @property
    def functions(self) -> tuple[str, ...]:
        """Their names below that of the point."""
        return tuple(spec.short_name for spec in self.hooks if spec.is_called)


ARGUMENTS = {
    "job": "Job",
    "record": "Record",
    "sender_uid": "int",
    "submit_uid": "int",
    "modify_uid": "int",
    "partitions": "Table[str, Partition]",
    "reservations": "Table[str, Reservation]",
    "jobs": "Table[int, Record]",
    "nodes": "Table[str, Node]",
    "licenses": "Table[str, License]",
    "qos": "Table[str, Qos]",
    "associations": "Table[int, Association]",
    "environment": "Mapping[str, str]",
    "event": "Event",
    "spank": "Spank",
    "options": "Options",
    "early": "bool",
    "offset": "int",
    "job_id": "int",
    "step_id": "int | None",
    "container": "Container",
    "node": "HealthNode",
    "mail": "Mail",
    "reservation": "str",
    "buffer": "BurstBuffer",
}
"""The arguments of handlers, with their types; in cli_filter, ``job`` is ``options``."""
LISTS = tuple(name for name, kind in ARGUMENTS.items() if kind.startswith("Table["))
"""The arguments that are mappings of slurmctld's records."""

_SUBMIT = ("reject", "accept")
_FAIL = ("fail", "ignore")
_ALL_BUT_SCRIPT = ("local", "remote", "allocator", "slurmd")
STEP_CONTEXTS = ("local", "remote", "allocator")
"""The contexts in which Slurm registers options. Prolog and epilog ask for them."""
_REMOTE = ("remote",)
_SPANK = ("spank",)
_RECORD = ("record", "environment", *LISTS)
_BUFFER = ("buffer", "record")

POINTS = {
    point.name: point
    for point in (
        Point(
            "job_submit",
            HookSpec("job_submit", "job_submit()", ("job", "submit_uid", *LISTS), _SUBMIT),
            HookSpec("job_modify", "job_modify()", ("job", "record", "modify_uid", *LISTS), _SUBMIT),
            HookSpec(
                *("job", "job_submit() and job_modify()", ("job", "record", "sender_uid", *LISTS), _SUBMIT),
                is_called=False,
                runs_in=("job_submit", "job_modify"),
            ),
            HookSpec("job_submit.init", "init()", (), _FAIL, is_called=False),
            HookSpec("job_submit.fini", "fini()", (), _FAIL, is_called=False),
            HookSpec("every", "a clock", LISTS, _FAIL, timeout=60, is_called=False, is_periodic=True),
            member="job_submit_plugins",
        ),
        Point(
            "site_factor",
            HookSpec("priority", "site_factor_p_set()", ("record", *LISTS), _FAIL, result="int | None"),
            key="PrioritySiteFactorPlugin",
            member="site_factor_plugin",
        ),
        Point(
            "prep",
            HookSpec("controller_prolog", "prep_p_prolog_slurmctld()", _RECORD, _FAIL),
            HookSpec("controller_epilog", "prep_p_epilog_slurmctld()", _RECORD, _FAIL),
            key="PrEpPlugins",
            default="prep/script",
            member="prep_plugins",
        ),
        Point(
            "jobcomp",
            HookSpec("job_end", "jobcomp_p_record_job_end()", ("record", "event"), _FAIL),
            HookSpec("job_start", "jobcomp_p_record_job_start()", ("record", "event"), _FAIL),
            key="JobCompType",
            member="job_comp_type",
        ),
        Point(
            "spank",
            HookSpec("spank.init", "slurm_spank_init()", _SPANK, _FAIL, _ALL_BUT_SCRIPT, 60),
            HookSpec("spank.job_prolog", "slurm_spank_job_prolog()", _SPANK, _FAIL, ("job_script",), 300, cost="job"),
            HookSpec("spank.init_post_opt", "slurm_spank_init_post_opt()", _SPANK, _FAIL, STEP_CONTEXTS, 60),
            HookSpec("spank.local_user_init", "slurm_spank_local_user_init()", _SPANK, _FAIL, ("local",), 60),
            HookSpec("spank.user_init", "slurm_spank_user_init()", _SPANK, _FAIL, _REMOTE, 60, cost="task"),
            HookSpec("spank.task_init_privileged", "slurm_spank_task_init_privileged()", _SPANK, _FAIL, _REMOTE, 60),
            HookSpec("spank.task_init", "slurm_spank_task_init()", _SPANK, _FAIL, _REMOTE, 60),
            HookSpec("spank.task_post_fork", "slurm_spank_task_post_fork()", _SPANK, _FAIL, _REMOTE, 60, cost="task"),
            HookSpec("spank.task_exit", "slurm_spank_task_exit()", _SPANK, _FAIL, _REMOTE, 60, cost="task"),
            HookSpec("spank.exit", "slurm_spank_exit()", _SPANK, _FAIL, STEP_CONTEXTS, 60),
            HookSpec("spank.job_epilog", "slurm_spank_job_epilog()", _SPANK, _FAIL, ("job_script",), 300, cost="job"),
            HookSpec("spank.slurmd_exit", "slurm_spank_slurmd_exit()", _SPANK, _FAIL, ("slurmd",), 60),
        ),
        Point(
            "cli_filter",
            HookSpec(
                "cli_filter.setup_defaults", "cli_filter_p_setup_defaults()", ("options", "early"), _FAIL, COMMANDS, 60
            ),
            HookSpec(
                "cli_filter.pre_submit", "cli_filter_p_pre_submit()", ("options", "offset", "job"), _FAIL, COMMANDS, 60
            ),
            HookSpec(
                "cli_filter.post_submit",
                "cli_filter_p_post_submit()",
                ("offset", "job_id", "step_id"),
                _FAIL,
                COMMANDS,
                60,
            ),
        ),
        Point(
            "scrun",
            HookSpec("scrun.stage_in", "slurm_scrun_stage_in()", ("container",), _FAIL, timeout=3600),
            HookSpec("scrun.stage_out", "slurm_scrun_stage_out()", ("container",), _FAIL, timeout=3600),
        ),
        Point(
            "power",
            HookSpec("power.resume", "ResumeProgram", ("nodes", "jobs", "features", "event"), _FAIL, is_called=False),
            HookSpec("power.suspend", "SuspendProgram", ("nodes", "event"), _FAIL, is_called=False),
            HookSpec("power.resume_failed", "ResumeFailProgram", ("nodes", "event"), _FAIL, is_called=False),
            HookSpec("power.reboot", "RebootProgram", ("nodes", "features", "event"), _FAIL, is_called=False),
        ),
        Point("mail", HookSpec("mail", "MailProg", ("mail", "record", "event"), _FAIL, is_called=False)),
        Point(
            "reservation",
            HookSpec("reservation.start", "ResvProlog", ("reservation", "event"), _FAIL, is_called=False),
            HookSpec("reservation.end", "ResvEpilog", ("reservation", "event"), _FAIL, is_called=False),
        ),
        Point(
            "burst_buffer",
            HookSpec("burst_buffer.setup", "slurm_bb_setup()", _BUFFER, _FAIL, is_called=False),
            HookSpec("burst_buffer.data_in", "slurm_bb_data_in()", _BUFFER, _FAIL, is_called=False),
            HookSpec(
                *("burst_buffer.test_data_in", "slurm_bb_test_data_in()", _BUFFER, _FAIL),
                is_called=False,
                result="bool | None",
            ),
            HookSpec(
                *("burst_buffer.real_size", "slurm_bb_real_size()", _BUFFER, _FAIL),
                is_called=False,
                result="int | None",
            ),
            HookSpec("burst_buffer.pre_run", "slurm_bb_pre_run()", _BUFFER, _FAIL, is_called=False),
            HookSpec("burst_buffer.post_run", "slurm_bb_post_run()", _BUFFER, _FAIL, is_called=False),
            HookSpec("burst_buffer.data_out", "slurm_bb_data_out()", _BUFFER, _FAIL, is_called=False),
            HookSpec(
                *("burst_buffer.test_data_out", "slurm_bb_test_data_out()", _BUFFER, _FAIL),
                is_called=False,
                result="bool | None",
            ),
            HookSpec("burst_buffer.teardown", "slurm_bb_job_teardown()", _BUFFER, _FAIL, is_called=False),
            HookSpec(
                *("burst_buffer.get_status", "slurm_bb_get_status()", ("buffer",), _FAIL),
                is_called=False,
                result="str | None",
            ),
            key="BurstBufferType",
        ),
        Point(
            "node",
            HookSpec("node.health_check", "HealthCheckProgram", ("node",), ("keep", "drain"), HEALTH, 10),
        ),
    )
}
"""The plugin points by name."""
HANDED_OVER = tuple(point.name for point in POINTS.values() if not point.called and point.key is None)
"""The plugin points that are programs, which hand their calls over to a process of the point that delivers them."""
HOOKS = {spec.name: spec for point in POINTS.values() for spec in point.hooks}
"""All hooks, by their names below ``hook``."""
JOB_CALLBACKS = tuple(spec.short_name for spec in POINTS["spank"].hooks if spec.cost == "job")
"""The first and the last callback of SPANK for a job on a node."""
IN_TASKS = ("task_init_privileged", "task_init")
"""The callbacks of SPANK that run once in the process of each task, which slurmstepd forks. A failure ends the task."""
