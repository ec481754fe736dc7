# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one hook of a site's file as Slurm would."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slurmhooks import dispatch, loader
from slurmhooks.errors import Reject
from slurmhooks.hook_specs import HOOKS
from slurmhooks.outcome import Outcome
from slurmhooks.registry import Registry
from slurmhooks.scrun import cancel
from slurmhooks.scrun.errors import StagingError
from slurmhooks.testing import records
from slurmhooks.testing.capture import CapturedLog
from slurmhooks.testing.cli_filter import FakeOptions
from slurmhooks.testing.job_submit import FakeJob, FakeRecord, FakeTable
from slurmhooks.testing.scrun import FakeContainer
from slurmhooks.testing.slurmctld import submit
from slurmhooks.testing.spank import FakeSpank
from slurmhooks.view import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_BUG = re.compile(r"error: error ([0-9a-f]{8}): .* raised ")
"""The first line of a report, see dispatch."""


@dataclass(frozen=True)
class Result:
    """What a call came to.

    Attributes:
        accepted: every handler passed.
        code: of a refusal: the name or number that ``Reject`` was given, None for the hook's general failure.
        text: of a refusal or a bug: what the user reads.
        user_messages: what ``log.user`` showed, one text a call.
        changes: what the handlers changed, by field; of an environment, the variables, None for one that is gone. Of
            hook.priority: the ``site_factor`` that they return.
        log: the lines in Slurm's log, each as ``level: text``.
        error_id: of a bug in a handler, also of one that ``on_error`` lets pass: the id under which its traceback is in
            the log; the first one if there are several.
    """

    accepted: bool
    code: str | int | None = None
    text: str | None = None
    user_messages: list[str] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    error_id: str | None = None

    def __repr__(self) -> str:
        """Return all that is not empty; after a bug, also its traceback."""
        what = [f"{name}={value!r}" for name, value in vars(self).items() if name not in ("accepted", "log") and value]
        shown = f"Result({', '.join([f'accepted={self.accepted}', *what])})"
        return "\n".join([shown, *self.log]) if self.error_id else shown


def run(
    source: str | os.PathLike[str] | ModuleType | Registry,
    hook: str,
    /,
    *,
    job: FakeJob | None = None,
    submit_uid: int | None = None,
    modify_uid: int | None = None,
    record: FakeRecord | None = None,
    partitions: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    reservations: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    jobs: FakeTable | Iterable[FakeRecord] | None = None,
    nodes: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    licenses: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    qos: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    associations: FakeTable | Iterable[Mapping[str, object]] | None = None,
    environment: Mapping[str, str] | None = None,
    spank: FakeSpank | None = None,
    container: FakeContainer | None = None,
    options: Mapping[str, str | bool] | FakeOptions | None = None,
    offset: int = 0,
    job_id: int | None = None,
    step_id: int | None = None,
) -> Result:
    """Run the handlers of one hook, in order, and apply what they wrote if all passed.

    Loading, the checks of values, the order, staging and the outcome are those that run in Slurm; only Slurm itself is
    a stand-in.

    Args:
        source: a hook file, loaded anew in every call, an imported module, or what loader.load() returned.
        hook: its name below ``hook``, such as "job_submit" or "spank.task_init".
        job: the request; by default ``FakeJob()``.
        submit_uid: who submits; by default the job's user_id.
        modify_uid: who updates; by default the job's user_id.
        record: the job as slurmctld knows it; by default ``FakeRecord()``.
        partitions: by name, each a dict of its fields.
        reservations: by name, each a dict of its fields.
        jobs: the jobs that slurmctld knows.
        nodes: by name, each a dict of its fields.
        licenses: by name, each a dict of its fields.
        qos: by name, each a dict of its fields.
        associations: each a dict of its fields.
        environment: the variables of PrologSlurmctld or EpilogSlurmctld.
        spank: the handle; by default ``FakeSpank()``.
        container: the container; by default ``FakeContainer()``.
        options: for SPANK, what the user gave to the options of the file, as text; True for an option without an
            argument. For cli_filter, the options of the command; by default ``FakeOptions()``.
        offset: for cli_filter, the component of a heterogeneous job.
        job_id: for cli_filter, the number of the job after the submission.
        step_id: for cli_filter, the number of the step after the submission.

    Returns:
        what happened. The ``job``, ``spank`` or ``container`` then holds what the handlers wrote.

    Raises:
        LoadError: the file is wrong, as ``slurmhooks check`` would say.
        TypeError: an argument is not one of this hook.
        ValueError: there is no such hook or option, Slurm does not call it there, or the file has no handler of it.
    """
    spec = HOOKS.get(hook)
    if spec is None:
        raise ValueError(f"no hook {hook!r}{nearest(hook, HOOKS)}")
    given = {
        "job": job,
        "submit_uid": submit_uid,
        "modify_uid": modify_uid,
        "record": record,
        "partitions": partitions,
        "reservations": reservations,
        "jobs": jobs,
        "nodes": nodes,
        "licenses": licenses,
        "qos": qos,
        "associations": associations,
        "environment": environment,
        "spank": spank,
        "container": container,
        "offset": offset or None,
        "job_id": job_id,
        "step_id": step_id,
    }
    for name, value in given.items():
        if value is not None and name not in spec.arguments:
            raise TypeError(f"hook.{hook} has no argument {name!r}; it has: {', '.join(spec.arguments) or 'none'}")
    if options and not hook.startswith(("spank.", "cli_filter.")):
        raise TypeError(f"options are for SPANK and cli_filter; hook.{hook} has none")
    if hook.startswith("cli_filter.") and (job or not isinstance(options, FakeOptions | None)):
        raise TypeError(f"hook.{hook} takes options=FakeOptions(), which are its job, too")
    registry = _registry(source)
    captured = CapturedLog()
    with captured.capturing():
        if hook.startswith("cli_filter."):
            made = options if isinstance(options, FakeOptions) else FakeOptions()
            outcome, changes = _cli_filter(registry, hook, made, offset, job_id, step_id)
        elif hook.startswith("spank."):
            if isinstance(options, FakeOptions):
                raise TypeError("FakeOptions are for cli_filter; options of SPANK are a dict")
            outcome, changes = _spank(registry, hook, spank if spank is not None else FakeSpank(), options or {})
        elif hook.startswith("scrun."):
            outcome, changes = _scrun(registry, hook, container if container is not None else FakeContainer())
        elif hook in records.HOOKS:
            outcome, changes = records.handle(registry, hook, given)
        elif spec.arguments:
            outcome, changes = _job_submit(registry, hook, given)
        else:
            outcome, changes = dispatch.run(registry.handlers(hook), {}), {}
    if (
        not isinstance(source, Registry)
        and (not options or isinstance(options, FakeOptions))
        and not registry.handlers(hook)
    ):
        others = dict.fromkeys(handler.spec.name for handler in registry.all_handlers())
        raise ValueError(f"no handler of hook.{hook} in {source}; it has handlers of: {', '.join(others) or 'nothing'}")
    return Result(
        accepted=outcome.passed,
        code=outcome.code,
        text=outcome.text,
        user_messages=captured.user_messages,
        changes=changes,
        log=captured.lines,
        error_id=outcome.error_id or next((match[1] for match in map(_BUG.match, captured.lines) if match), None),
    )


def _job_submit(registry: Registry, hook: str, given: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    job: FakeJob = given["job"] if given["job"] is not None else FakeJob()
    outcome, before, assigned = submit(registry, hook, {**given, "job": job})
    written = {*assigned, "argv", "environment", "spank_job_env"}
    return outcome, _changes(before, {name: value for name, value in job._state().items() if name in written})


def _spank(
    registry: Registry, hook: str, spank: FakeSpank, options: Mapping[str, str | bool]
) -> tuple[Outcome, dict[str, Any]]:
    view = spank._view(hook.removeprefix("spank."))
    before = spank._state()
    try:
        refused = _give(registry, options, view.context)
        if refused is not None:
            return refused, {}
        handlers = [handler for handler in registry.handlers(hook) if view.context in handler.contexts]
        outcome = dispatch.run(handlers, {"spank": view}, view)
    finally:
        for option in registry.options:
            option.reset()
    return outcome, _changes(before, spank._state())


def _give(registry: Registry, options: Mapping[str, str | bool], context: str) -> Outcome | None:
    """Give the options what the user gave; what srun would say if it does not take one."""
    known = {option.name: option for option in registry.options}
    for name, text in options.items():
        if name not in known:
            raise ValueError(f"no option {name!r}{nearest(name, known)}")
        option = known[name]
        if text is True and option.arginfo is not None and not option.optional:
            raise ValueError(f"--{name} takes an argument")
        if text is not True and (option.arginfo is None or not isinstance(text, str)):
            raise ValueError(f"--{name} takes {'no argument: give True' if option.arginfo is None else 'a str'}")
        try:
            value = option.convert(None if text is True else text)
        except Reject as reject:
            code = dispatch.code_of(reject, f"check of {option!r}")
            return Outcome(passed=False, code=code, text=f"--{name}: {reject.text}")
        except ValueError as error:
            return Outcome(passed=False, code="ESPANK_BAD_ARG", text=f"--{name}: {error}")
        if context in option.contexts:
            option.accept(value)
    return None


def _cli_filter(
    registry: Registry, hook: str, options: FakeOptions, offset: int, job_id: int | None, step_id: int | None
) -> tuple[Outcome, dict[str, Any]]:
    view = options._view()
    before = options._state()
    handlers = [handler for handler in registry.handlers(hook) if options.command in handler.contexts]
    savepoint = view.savepoint()
    arguments = {"options": view, "job": view, "early": options._early}
    outcome = dispatch.run(handlers, {**arguments, "offset": offset, "job_id": job_id, "step_id": step_id}, view)
    if not outcome.passed:  # in Slurm the command ends
        view.rollback(savepoint)
    after = options._state()
    return outcome, _changes({**dict.fromkeys(after), **before}, {**dict.fromkeys(before), **after})


def _scrun(registry: Registry, hook: str, container: FakeContainer) -> tuple[Outcome, dict[str, Any]]:
    view = container._view()
    before = container._state()
    cancel.attach(lambda: container.cancelled)
    try:
        outcome = dispatch.run(registry.handlers(hook), {"container": view}, view)
    except StagingError as error:
        outcome = Outcome(passed=False, text=error.text)
    finally:
        cancel.attach(None)
    return outcome, _changes(before, container._state())


def _registry(source: str | os.PathLike[str] | ModuleType | Registry) -> Registry:
    if isinstance(source, Registry):
        return source
    if isinstance(source, ModuleType):
        return loader.load([loader.Source(module=source.__name__)])
    return loader.load([loader.Source(path=os.path.realpath(source))])


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in after.items():
        old = before[name]
        if value == old:
            continue
        if isinstance(value, dict):
            names = [key for key in (*old, *(key for key in value if key not in old)) if old.get(key) != value.get(key)]
            value = {key: value.get(key) for key in names}
        changed[name] = value
    return changed
