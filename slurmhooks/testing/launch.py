# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the SPANK handlers of a whole launch, from srun's options to the end of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.registry import Registry
from slurmhooks.testing.runner import Result, registry_of, run
from slurmhooks.testing.spank import FakeSpank
from slurmhooks.testing.watching import Bug

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from slurmhooks.hook_specs import Context

BEFORE: tuple[tuple[Context, str], ...] = (
    ("local", "init"),
    ("local", "init_post_opt"),
    ("job_script", "job_prolog"),
    ("local", "local_user_init"),
    ("remote", "init"),
    ("remote", "init_post_opt"),
    ("remote", "user_init"),
)
"""Contexts and callbacks before the tasks, in Slurm's order."""
IN_TASKS = ("task_init_privileged", "task_init", "task_post_fork")
AFTER: tuple[tuple[Context, str], ...] = (("remote", "exit"), ("local", "exit"), ("job_script", "job_epilog"))


@dataclass(frozen=True)
class Task:
    """One task of a launch.

    Attributes:
        env: the environment of its program.
        argv: the program and its arguments, after the words that handlers prepended.
    """

    env: dict[str, str]
    argv: list[str]


@dataclass(frozen=True)
class Launch:
    """The result of a launch.

    Attributes:
        accepted: every handler passed. After a failure before the tasks, only the callbacks at the end of the launch
            run.
        failed: context and callback of the first failure, such as ``remote task_init``; None if there is none.
        text: what the user reads about it.
        code: the error code of a refusal.
        tasks: the tasks that ran.
        job_control_env: variables for prolog and epilog.
        user_messages: texts of ``log.user``.
        log: lines in Slurm's log.
        errors: the bugs in handlers, with their tracebacks.
        ran: the handlers that ran, each as ``context callback module:function``.
    """

    accepted: bool = True
    failed: str | None = None
    text: str | None = None
    code: str | int | None = None
    tasks: list[Task] = field(default_factory=list)
    job_control_env: dict[str, str] = field(default_factory=dict)
    user_messages: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    errors: list[Bug] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


class _Run:
    """The callbacks of one launch, with the environments that they share."""

    def __init__(
        self, registry: Registry, args: Sequence[str], options: Mapping[str, str | bool], items: Mapping[str, Any]
    ) -> None:
        """Create the environments."""
        self.registry = registry
        self.args = args
        self.options = options
        self.items = dict(items)
        self.control: dict[str, str] = {}
        self.results: list[Result] = []
        self.ran: list[str] = []
        self.failed: tuple[str, Result] | None = None

    def call(self, context: Context, callback: str, env: dict[str, str], **items: Any) -> FakeSpank:
        """Run the handlers of one callback; store what they write to the environments."""
        items = {**self.items, **items}
        spank = FakeSpank(
            context, callback=callback, args=self.args, env=env, job_control_env=self.control, items=items
        )
        # Slurm reads options after init, where no handler sees them.
        options = {} if callback == "init" else self.options
        result = run(self.registry, f"spank.{callback}", spank=spank, options=options)
        self.results.append(result)
        self.ran += [f"{context} {callback} {label}" for label in result.ran]
        if not result.accepted and self.failed is None:
            self.failed = (f"{context} {callback}", result)
        env.clear()
        env.update(spank._slurm.env)
        self.control.update(spank._slurm.job_control_env)
        return spank


def launch(
    source: str | os.PathLike[str] | ModuleType | Registry,
    argv: Sequence[str] = ("true",),
    /,
    *,
    options: Mapping[str, str | bool] | None = None,
    env: Mapping[str, str] | None = None,
    args: Sequence[str] = (),
    tasks: int = 1,
    exit_status: int = 0,
    items: Mapping[str, Any] | None = None,
) -> Launch:
    """Run the handlers of all callbacks of one srun on one node: srun, prolog, slurmstepd, its tasks, epilog.

    Args:
        source: as for :func:`run`.
        argv: the program of the tasks, and its arguments.
        options: arguments of the options that the file registers, by their names; True for one without an argument.
        env: the environment of srun.
        args: the arguments on the line of plugstack.conf.
        tasks: number of tasks.
        exit_status: wait status of each task.
        items: as for :class:`FakeSpank`.

    Raises:
        LoadError: as for :func:`run`.
        ValueError: an option or item does not exist, or there is no SPANK handler and no option.
    """
    registry = registry_of(source)
    if not registry.options and not any(each.spec.name.startswith("spank.") for each in registry.all_handlers()):
        what = "the hook files have" if isinstance(source, Registry) else f"{source} has"
        raise ValueError(f"{what} no handler of SPANK")
    counts = {"job_argv": list(argv), "job_local_task_count": tasks, "job_total_task_count": tasks}
    ids = {number: number for number in range(tasks)}
    maps = {"job_local_to_global_id": ids, "job_global_to_local_id": ids}
    whole = _Run(registry, args, options or {}, {**counts, **maps, **(items or {})})
    envs: dict[Context, dict[str, str]] = {"local": dict(env or {}), "job_script": {}}
    done: list[Task] = []
    for context, callback in BEFORE:
        if whole.failed is None:
            if context not in envs:
                envs[context] = dict(envs["local"])  # srun sends its environment
            whole.call(context, callback, envs[context])
    remote = envs.get("remote", {})
    for number in range(tasks if whole.failed is None else 0):
        own = {"task_id": number, "task_global_id": number, "task_pid": 4242 + number}
        variables, words = dict(remote), list(argv)
        for callback in IN_TASKS:
            if whole.failed is None:
                # task_post_fork runs in slurmstepd, not in the task.
                place = remote if callback == "task_post_fork" else variables
                words = [*whole.call("remote", callback, place, **own).prepended_task_argv, *words]
        if whole.failed is None:
            done.append(Task(variables, words))
        if whole.failed is None:
            whole.call("remote", "task_exit", remote, task_exit_status=exit_status, **own)
    for context, callback in AFTER:
        if context in envs:
            whole.call(context, callback, envs[context])
    where, first = whole.failed or (None, None)
    return Launch(
        accepted=where is None,
        failed=where,
        text=None if first is None else first.text,
        code=None if first is None else first.code,
        tasks=done,
        job_control_env=whole.control,
        user_messages=[text for result in whole.results for text in result.user_messages],
        log=[line for result in whole.results for line in result.log],
        errors=[bug for result in whole.results for bug in result.errors],
        ran=whole.ran,
    )
