# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the SPANK handlers of a whole launch, from srun's options to the end of its tasks.

srun, prolog, slurmstepd, each task and epilog are processes of their own, which are forked as Slurm would start them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.handlers.registry import Registry
from slurmhooks.handlers.similar import nearest
from slurmhooks.hooks.points import IN_TASKS
from slurmhooks.spank.calls import STATE_WRITE
from slurmhooks.workshop.testing import environments
from slurmhooks.workshop.testing.cli_filter import FakeOptions
from slurmhooks.workshop.testing.processes import Call, Path, Processes
from slurmhooks.workshop.testing.runner import Result, registry_of
from slurmhooks.workshop.testing.spank import DEFAULTS
from slurmhooks.workshop.testing.watching import Bug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from slurmhooks.hooks.points import Context
    from slurmhooks.workshop.testing.runner import Given

SRUN, PROLOG, STEPD, EPILOG = ("srun",), ("prolog",), ("slurmstepd",), ("epilog",)
"""The processes; tasks are forks of slurmstepd."""
BEFORE: tuple[tuple[Path, Context, str], ...] = (
    (SRUN, "local", "init"),
    (SRUN, "local", "init_post_opt"),
    (PROLOG, "job_script", "job_prolog"),
    (SRUN, "local", "local_user_init"),
    (STEPD, "remote", "init"),
    (STEPD, "remote", "init_post_opt"),
    (STEPD, "remote", "user_init"),
)
"""Processes, contexts and callbacks before the tasks, in Slurm's order."""
STARTING = ("task_init_privileged", "task_post_fork", "task_init")
"""Callbacks for each task before its program starts, in Slurm's order."""
AFTER: tuple[tuple[Path, Context, str], ...] = (
    (STEPD, "remote", "exit"),
    (SRUN, "local", "exit"),
    (EPILOG, "job_script", "job_epilog"),
)
ENDING = ("local init", "local init_post_opt")
"""Contexts and callbacks after whose failure srun ends at once, without ``exit``."""
FAILED_TASK = 1 << 8
"""The wait status of a task whose callback has failed."""
UNSEEN = ("remote init", "remote init_post_opt", "remote exit", "job_script job_prolog", "job_script job_epilog")
"""Contexts and callbacks in which no user of srun sees what ``log.user`` writes."""


@dataclass(frozen=True)
class Task:
    """One task of a launch.

    Attributes:
        env: the environment of its program.
        argv: the program and its arguments, after the words that handlers prepended.
        changes: the variables that handlers of slurmstepd and of the task have changed; None for a removed one.
    """

    env: dict[str, str]
    argv: list[str]
    changes: dict[str, str | None] = field(default_factory=dict)


class Variables:
    """An environment (``now``), and what it would be without handlers."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self.now = dict(variables or {})
        self._without = dict(self.now)

    def add(self, variables: Mapping[str, str]) -> None:
        """Set variables, as Slurm does."""
        self.now = {**self.now, **variables}
        self._without |= variables

    def copy(self, more: Mapping[str, str] | None = None) -> Variables:
        """Return a copy, with more variables."""
        copy = Variables(self._without)
        copy.now = dict(self.now)
        copy.add(more or {})
        return copy

    def changes(self) -> dict[str, str | None]:
        """Return the variables that handlers have changed; None for a removed one."""
        names = sorted({*self.now, *self._without})
        return {name: self.now.get(name) for name in names if self.now.get(name) != self._without.get(name)}


@dataclass(frozen=True)
class Launch:
    """The result of a launch.

    Attributes:
        accepted: every handler passed. After a failure before the tasks, only the callbacks at the end of the launch
            run.
        failed: context and callback of the first failure, such as ``remote task_init``; None if there is none.
        text: what the user reads about it.
        code: the error code of a refusal.
        tasks: the tasks whose programs would run.
        job_control_env: variables for prolog and epilog.
        user_messages: texts of ``log.user`` that the user of srun sees.
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


@dataclass(frozen=True)
class LaunchLine:
    """A line of plugstack.conf, with its handlers and their arguments; if ``optional``, Slurm ignores failures."""

    registry: Registry
    args: Sequence[str] = ()
    optional: bool = False


class _Run:
    """The callbacks of one launch, with the environments that they share."""

    def __init__(
        self,
        processes: Processes,
        lines: Sequence[LaunchLine],
        options: Mapping[str, Given],
        items: Mapping[str, Any],
        env: Mapping[str, str],
        srun: FakeOptions,
    ) -> None:
        self.of_step, self.of_scripts, self.on_node = environments.of_options(srun)
        self.processes = processes
        self.lines = lines
        self.options = options
        self.items: dict[str, Any] = {**DEFAULTS, **items}
        self.given = items
        self.control: dict[str, str] = {}
        self.made: dict[str, str] = {}
        self.states = ["{}"] * len(lines)
        self.seen_states = list(self.states)
        self.envs: dict[Path, Variables] = {SRUN: Variables(env)}
        self.results: list[tuple[str, Result]] = []
        self.ran: list[str] = []
        self.failed: tuple[str, Result] | None = None
        self.passed = True  # the last call

    def call(self, path: Path, context: Context, callback: str, **items: Any) -> list[str]:
        """Run the handlers of one callback in a process, line by line; store what they write to the environments.

        Returns:
            the words that they prepend to the command of the task.
        """
        env, place = self.envs[path], f"{context} {callback}"
        words: list[str] = []
        self.passed = True
        for number, line in enumerate(self.lines):
            # Slurm reads options after init, where no handler sees them.
            names = {option.name for option in line.registry.options if callback != "init"}
            passed_on = {} if path == SRUN else self.made
            options = {name: passed_on.get(name, text) for name, text in self.options.items() if name in names}
            seen = {**self.items, **items}
            writes = STATE_WRITE.includes(context, callback)
            state = (self.states if writes else self.seen_states)[number]
            answer = self.processes.call(
                path, Call(context, callback, number, line.args, options, env.now, self.control, seen, state)
            )
            if writes:
                self.states[number] = answer.state
            if callback == "init_post_opt":  # what tasks and user_init see
                self.seen_states[number] = self.states[number]
            self.results.append((place, answer.result))
            self.ran += [f"{place} {label}" for label in answer.result.ran]
            env.now, self.control = answer.env, answer.control
            self.made |= answer.made
            words = [*answer.prepended, *words]
            if not self.processes.runs(path) or not (answer.result.accepted or line.optional):
                self.failed = self.failed or (place, answer.result)
                self.passed = False
                break
        return words

    def before_tasks(self) -> None:
        """Run what comes before the tasks, until it fails."""
        before = self.envs[SRUN]
        for path, context, callback in BEFORE:
            if callback == "local_user_init":
                self.envs[SRUN].add({**environments.of_srun(self.items), **self.of_step})
                before = self.envs[SRUN].copy()
            if path == PROLOG:
                self.envs[path] = Variables({**environments.of_script(self.items, callback), **self.of_scripts})
            elif path not in self.envs:
                self.envs[path] = self.envs[SRUN].copy({**environments.of_step(self.items), **self.on_node})
                # srun has stored its environment before: what local_user_init removes remains.
                self.envs[path].now = {**before.now, **self.envs[path].now}
            if self.failed is None:
                if callback in ("init", "job_prolog"):
                    self.processes.fork(path)
                self.call(path, context, callback)

    def tasks(self, count: int, argv: Sequence[str], exit_status: int) -> list[Task]:
        """Run tasks; return those whose programs would run."""
        step = self.envs[STEPD]
        paths = [(*STEPD, f"task {number}") for number in range(count)]
        items: list[dict[str, Any]] = []
        for number, path in enumerate(paths):
            pid = self.processes.fork(path)
            items.append({"task_id": number, "task_global_id": number, "task_pid": pid, **self.given})
            self.envs[path] = step.copy()
        ids = {each["task_pid"]: each["task_global_id"] for each in items}
        self.items |= {"job_pid_to_global_id": ids, "job_pid_to_local_id": ids, **self.given}
        done, ended, step_goes_on = [], set(), True
        for callback in STARTING:
            for path, own in zip(paths, items, strict=True):
                if not step_goes_on or (path in ended and callback in IN_TASKS):
                    continue
                if callback == "task_init":
                    self.envs[path].add(environments.of_task({**self.items, **own}))
                # task_post_fork runs in slurmstepd, not in the task.
                words = self.call(STEPD if callback == "task_post_fork" else path, "remote", callback, **own)
                if callback == "task_init" and self.passed:
                    env = self.envs[path]
                    done.append(Task(env.now, [*words, *argv], env.changes()))
                if not self.passed:
                    ended.add(path)
                    step_goes_on = callback in IN_TASKS
        for path, own in zip(paths, items, strict=True):
            self.processes.end(path)
            if step_goes_on:
                step.add(environments.after_task({**self.items, **own}))
                status = FAILED_TASK if path in ended else exit_status
                self.call(STEPD, "remote", "task_exit", task_exit_status=status, **own)
                step_goes_on = self.passed
        return done

    def after_tasks(self, exit_status: int) -> None:
        """Run what always comes at the end, in the processes that have started; an epilog for a job with a prolog."""
        for path, context, callback in AFTER:
            if path == SRUN and self.failed is not None and self.failed[0] in ENDING:
                continue
            if path == EPILOG and any(place == "job_script job_prolog" for place, _ in self.results):
                items = {**self.items, "task_exit_status": exit_status}
                self.envs[path] = Variables({**environments.of_script(items, callback), **self.of_scripts})
                self.processes.fork(path)
            if self.processes.runs(path):
                self.call(path, context, callback)


def launch(
    source: str | os.PathLike[str] | ModuleType | Registry,
    argv: Sequence[str] = ("true",),
    /,
    *,
    options: Mapping[str, Given] | None = None,
    env: Mapping[str, str] | None = None,
    args: Sequence[str] = (),
    tasks: int = 1,
    exit_status: int = 0,
    items: Mapping[str, Any] | None = None,
    srun: FakeOptions | None = None,
) -> Launch:
    """Run the handlers of all callbacks of one srun on one node: srun, prolog, slurmstepd, its tasks, epilog.

    Prolog, slurmstepd and epilog have another working directory and HOME than srun, as those of slurmd; a task has that
    of srun, or of ``--chdir``.
    Each is a process of its own, a fork of this one: what handlers do to memory, such as globals and mocks, is neither
    seen by the others nor afterwards by the caller. A task is a fork of slurmstepd, and sees what that has done.

    Args:
        source: as for :func:`run`.
        argv: the program of the tasks, and its arguments.
        options: arguments of the options that the file registers, by their names; True for one without an argument,
            a list for one that is given several times.
        env: the environment of srun, to which Slurm adds its variables.
        args: the arguments on the line of plugstack.conf.
        tasks: number of tasks.
        exit_status: wait status of each task.
        items: as for :class:`FakeSpank`.
        srun: other options of srun, such as ``FakeOptions("srun", partition="gpu")``, which decide about variables.

    Raises:
        LoadError: as for :func:`run`.
        ValueError: an option or item does not exist, or there is no SPANK handler and no option.
    """
    registry = registry_of(source)
    if not _has_spank(registry):
        what = "the hook files have" if isinstance(source, Registry) else f"{source} has"
        raise ValueError(f"{what} no handler of SPANK")
    return launch_lines(
        [LaunchLine(registry, args)],
        argv,
        options=options or {},
        env=env or {},
        tasks=tasks,
        exit_status=exit_status,
        items=items or {},
        srun=srun or FakeOptions("srun", num_tasks=tasks),
    )


def launch_lines(
    lines: Sequence[LaunchLine],
    argv: Sequence[str],
    *,
    options: Mapping[str, Given],
    env: Mapping[str, str],
    tasks: int,
    exit_status: int = 0,
    items: Mapping[str, Any],
    srun: FakeOptions,
) -> Launch:
    """Run the handlers of several lines of plugstack.conf; see :func:`launch`.

    Raises:
        ValueError: an option or item does not exist, or there is no SPANK handler and no option.
    """
    if not any(_has_spank(line.registry) for line in lines):
        raise ValueError("the hook files have no handler of SPANK")
    names = [option.name for line in lines for option in line.registry.options]
    for name in options:
        if name not in names:
            raise ValueError(f"no option {name!r}{nearest(name, names)}")
    cpus = srun.cpus_per_task or 1
    counts = {
        "job_argv": list(argv),
        "job_local_task_count": tasks,
        "job_total_task_count": tasks,
        "job_ncpus": cpus if "overcommit" in srun.given else tasks * cpus,
        "step_cpus_per_task": cpus,
    }
    ids = {number: number for number in range(tasks)}
    maps = {"job_local_to_global_id": ids, "job_global_to_local_id": ids}
    done: list[Task] = []
    folder = os.path.join(os.getcwd(), srun.work_dir or "")
    with Processes([line.registry for line in lines], folder) as processes:
        whole = _Run(processes, lines, options, {**counts, **maps, **items}, env, srun)
        whole.before_tasks()
        if whole.failed is None:
            done = whole.tasks(tasks, argv, exit_status)
        whole.after_tasks(exit_status)
    where, first = whole.failed or (None, None)
    results = [result for _, result in whole.results]
    return Launch(
        accepted=where is None,
        failed=where,
        text=None if first is None else first.text,
        code=None if first is None else first.code,
        tasks=done,
        job_control_env=whole.control,
        user_messages=[text for place, result in whole.results if place not in UNSEEN for text in result.user_messages],
        log=[line for result in results for line in result.log],
        errors=[bug for result in results for bug in result.errors],
        ran=whole.ran,
    )


def _has_spank(registry: Registry) -> bool:
    return bool(registry.options) or any(each.spec.point == "spank" for each in registry.all_handlers())
