# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the handlers of one hook as Slurm would."""

from __future__ import annotations

import os
from contextlib import chdir, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slurmhooks.entry.scripts_and_rules import of_files
from slurmhooks.errors import LoadError
from slurmhooks.fields.rows import Release, release_of
from slurmhooks.handlers import dispatch, loader
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.handlers.labels import shown_label
from slurmhooks.handlers.refusals import unknown_codes
from slurmhooks.handlers.registry import Registry
from slurmhooks.handlers.similar import nearest
from slurmhooks.hooks.points import HOOKS, HookSpec
from slurmhooks.log import heard
from slurmhooks.node.model import HealthNode
from slurmhooks.scrun import cancel
from slurmhooks.scrun.errors import StagingError
from slurmhooks.site.loading import Named
from slurmhooks.spank.options import made_of, store
from slurmhooks.spank.state import missing_handlers
from slurmhooks.workshop.testing import burst_buffer, every, jobcomp, power, records
from slurmhooks.workshop.testing import mail as mail_side
from slurmhooks.workshop.testing import scrun as scrun_side
from slurmhooks.workshop.testing import spank as spank_side
from slurmhooks.workshop.testing.cli_filter import FakeOptions
from slurmhooks.workshop.testing.exits import no_exit
from slurmhooks.workshop.testing.job_submit import FakeJob, FakeRecord, fields_of, release_of_view
from slurmhooks.workshop.testing.job_tables import FakeTable
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.observed import Observed
from slurmhooks.workshop.testing.scrun import FakeContainer
from slurmhooks.workshop.testing.slurmctld import Noted, submit
from slurmhooks.workshop.testing.spank import FakeSpank
from slurmhooks.workshop.testing.watching import Bug, bugs_in, coverage, watching

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurmhooks.burst_buffer.model import BurstBuffer
    from slurmhooks.hooks.option import Option
    from slurmhooks.jobcomp.event import Event
    from slurmhooks.mail.model import Mail

    Given = str | bool | Sequence[str | bool]

LABELLED = ("job_submit", "cli_filter")
"""The plugin points whose refusals end with the label of their handler."""


@dataclass(frozen=True)
class Result:
    """The result of a call.

    Attributes:
        accepted: every handler passed.
        code: the error code of a refusal, a name or a number; None: the general error of the hook.
        text: what the user reads about a refusal or a bug; None if all handlers passed.
        label: names the handler at the end of the first line of a refusal, for users of job_submit and cli_filter.
        user_messages: texts of ``log.user``, one for each call.
        changes: fields that the handlers changed, with their new values; of an environment, the changed variables,
            None for a removed one. For hook.priority, the ``site_factor`` that the handlers return.
        log: lines in Slurm's log, each as ``level: text``.
        error_id: the id of the first bug in a handler, even if ``on_error`` lets the request pass. None: no bug.
        errors: all bugs, each with its id and its traceback.
        ran: the handlers that ran, in order, each as ``module:function``.
        observed: what handlers that only warn or observe would have done, see docs/modes.md.
        exempt: why handlers did not look at the request, such as "administrator", by their labels.
        unknown: what handlers read of what slurmctld chooses, such as ``default_account``, and the test does not give.
    """

    accepted: bool
    code: str | int | None = None
    text: str | None = None
    label: str | None = None
    user_messages: list[str] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    error_id: str | None = None
    observed: list[Observed] = field(default_factory=list)
    errors: list[Bug] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    exempt: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """Show all values that are not empty; after a bug, also the log with its traceback."""
        hidden = ("accepted", "log", "errors", "label")
        what = [f"{name}={value!r}" for name, value in vars(self).items() if name not in hidden and value]
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
    sender_uid: int | None = None,
    record: FakeRecord | None = None,
    partitions: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    reservations: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    jobs: FakeTable | Iterable[FakeRecord] | Iterable[Mapping[str, object]] | None = None,
    nodes: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    licenses: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    qos: FakeTable | Mapping[str, Mapping[str, object]] | None = None,
    associations: FakeTable | Iterable[Mapping[str, object]] | None = None,
    environment: Mapping[str, str] | None = None,
    event: Event | None = None,
    features: str | None = None,
    mail: Mail | None = None,
    reservation: str | None = None,
    buffer: BurstBuffer | None = None,
    spank: FakeSpank | None = None,
    container: FakeContainer | None = None,
    options: Mapping[str, Given] | FakeOptions | None = None,
    offset: int = 0,
    job_id: int | None = None,
    step_id: int | None = None,
) -> Result:
    """Run the handlers of one hook, in order, and apply their writes if all of them pass.

    Args:
        source: path of a hook file, a job_submit.lua or a cli_filter.lua, which every call loads anew; an imported
            module; or a registry.
        hook: name of the hook, such as "job_submit" or "spank.task_init".
        job: the request; by default ``FakeJob()``.
        submit_uid: user id of the submitter; by default that of the job.
        modify_uid: user id of the user who updates the job; by default that of the record.
        sender_uid: for hook.job, user id of who submits or updates; by default that of the job.
        record: the job as slurmctld knows it; by default ``FakeRecord()``. For hook.job: the call is an update.
        partitions: the fields of each partition, by its name.
        reservations: the fields of each reservation, by its name.
        jobs: the jobs that slurmctld knows; for hook.power.resume, entries of SLURM_RESUME_FILE.
        nodes: the fields of each node, by its name.
        licenses: the fields of each license, by its name.
        qos: the fields of each QOS, by its name.
        associations: the fields of each association.
        environment: variables of PrologSlurmctld or EpilogSlurmctld, besides those that follow from the record.
        event: the event of job_start, job_end or a hook of a program; by default ``FakeEvent()``.
        features: for power hooks, the features that a reboot gives to the nodes.
        mail: the mail; by default ``FakeMail()``.
        reservation: the name of the reservation; by default ``"maintenance"``.
        buffer: the burst buffer; by default ``FakeBurstBuffer()``.
        spank: the handle; by default ``FakeSpank()``.
        container: the container; by default ``FakeContainer()``.
        options: for SPANK, arguments of the options that the file registers, by their names; a list for an option that
            is given several times; True for an option
            without an argument. For cli_filter, the options of the command; by default ``FakeOptions()``.
        offset: for cli_filter, the component of a heterogeneous job.
        job_id: for cli_filter, the number of the job after the submission.
        step_id: for cli_filter, the number of the step after the submission.

    Returns:
        the result. Afterwards ``job``, ``spank`` or ``container`` has the values that the handlers wrote.

    Raises:
        LoadError: the file does not load, or refuses with an error code that does not exist; with the findings of
            ``slurmhooks check``.
        TypeError: the hook does not have an argument.
        ValueError: the hook or an option does not exist, Slurm does not call the hook in this context, or the file has
            no handler for it.
    """
    given = {name: value for name, value in locals().items() if name not in ("source", "hook", "options")}
    given["offset"] = offset or None
    spec = HOOKS.get(hook)
    if spec is None:
        raise ValueError(f"no hook {hook!r}{nearest(hook, HOOKS)}")
    _refuse_wrong(spec, given, options)
    if spec.runs_in:  # hook.job: an update if there is a record
        hook = spec.runs_in[record is not None]
        spec = HOOKS[hook]
        given["submit_uid"] = given["modify_uid"] = sender_uid
    stand_in = job or record
    registry = registry_of(source, None if stand_in is None else release_of(release_of_view(stand_in)))
    captured = CapturedLog()
    coverage.know(registry)
    with captured.capturing(), no_exit(), watching() as ran:
        outcome, changes, observed, noted = _handle(registry, spec, given, options)
    if (
        not isinstance(source, Registry)
        and (not options or isinstance(options, FakeOptions))
        and not registry.handlers(hook)
    ):
        others = dict.fromkeys(handler.spec.name for handler in registry.all_handlers())
        raise ValueError(f"no handler of hook.{hook} in {source}; it has handlers of: {', '.join(others) or 'nothing'}")
    return _result(outcome, captured, changes=changes, observed=observed, ran=ran, **noted._asdict())


def _result(outcome: Outcome, captured: CapturedLog, **more: Any) -> Result:
    errors = bugs_in(captured.lines)
    return Result(
        accepted=outcome.passed,
        code=outcome.code,
        text=outcome.text,
        label=_label(outcome),
        user_messages=heard(captured.user_messages, outcome.passed),
        log=captured.lines,
        error_id=outcome.error_id or next((bug.id for bug in errors), None),
        errors=errors,
        **more,
    )


def _label(outcome: Outcome) -> str | None:
    by = outcome.refused_by
    return None if by is None or by.spec.point not in LABELLED else shown_label(by)


def _refuse_wrong(spec: HookSpec, given: Mapping[str, Any], options: Mapping[str, Given] | FakeOptions | None) -> None:
    """Raise TypeError if a hook does not have an argument."""
    for name, value in given.items():
        if value is not None and name not in spec.arguments:
            raise TypeError(f"hook.{spec.name} has no argument {name!r}; it has: {', '.join(spec.arguments) or 'none'}")
    if options and spec.point not in ("spank", "cli_filter"):
        raise TypeError(f"options are for SPANK and cli_filter; hook.{spec.name} has none")
    if spec.point == "cli_filter" and (given["job"] is not None or not isinstance(options, FakeOptions | None)):
        raise TypeError(f"hook.{spec.name} takes options=FakeOptions(), which are its job, too")
    if spec.point == "spank" and isinstance(options, FakeOptions):
        raise TypeError("FakeOptions are for cli_filter; options of SPANK are a dict")


def _handle(
    registry: Registry, spec: HookSpec, given: Mapping[str, Any], options: Any
) -> tuple[Outcome, dict[str, Any], list[Observed], Noted]:
    """Let the stand-in of a plugin point run the handlers of a hook; return the outcome, and what has changed."""
    hook, changes, observed, noted = spec.name, dict[str, Any](), list[Observed](), Noted({}, [])
    match spec.point:
        case "cli_filter":
            outcome, changes = _cli_filter(registry, hook, FakeOptions() if options is None else options, given)
        case "spank":
            outcome, changes = _spank(registry, hook, given["spank"] or FakeSpank(), options or {})
        case "scrun":
            outcome, changes = _scrun(registry, hook, given["container"] or FakeContainer())
        case "power":
            outcome = power.handle(registry, hook, given)
        case "mail" | "reservation":
            outcome = mail_side.handle(registry, hook, given)
        case "burst_buffer":
            outcome, changes = burst_buffer.handle(registry, hook, given)
        case "node":
            outcome = dispatch.run(registry.handlers(hook), {"node": HealthNode("n1", spec.contexts)})
        case "jobcomp":
            outcome = jobcomp.handle(registry, hook, given)
        case "site_factor" | "prep":
            outcome, changes = records.handle(registry, hook, given)
        case _ if spec.is_periodic:
            outcome = every.handle(registry, hook, given)
        case _ if spec.arguments:
            outcome, changes, observed, noted = _job_submit(registry, hook, given)
        case _:
            outcome = dispatch.run(registry.handlers(hook), {})
    return outcome, changes, observed, noted


def _job_submit(
    registry: Registry, hook: str, given: Mapping[str, Any]
) -> tuple[Outcome, dict[str, Any], list[Observed], Noted]:
    job: FakeJob = given["job"] if given["job"] is not None else FakeJob()
    outcome, before, assigned, observed, noted = submit(registry, hook, {**given, "job": job})
    written = {*assigned, "argv", "environment", "spank_job_env"}
    changes = _changes(before, {name: value for name, value in fields_of(job).items() if name in written})
    return outcome, changes, observed, noted


def _spank(
    registry: Registry, hook: str, spank: FakeSpank, options: Mapping[str, Given]
) -> tuple[Outcome, dict[str, Any]]:
    view = spank_side.view_for(spank, hook.removeprefix("spank."), missing_handlers(registry))
    before = spank_side.state_of(spank)
    for option in registry.options:
        option.reset()
    try:
        with nullcontext() if spank._reads_options_in is None else chdir(spank._reads_options_in):
            refused = _set_options(registry, options, view.context)
        if refused is not None:
            return refused, {}
        if spank._passes_on is not None:
            spank._passes_on |= _made(registry, options)
        handlers = [handler for handler in registry.handlers(hook) if view.context in handler.contexts]
        outcome = dispatch.run(handlers, {"spank": view}, view)
    finally:
        for option in registry.options:
            option.detach()
    return outcome, _changes(before, spank_side.state_of(spank))


def _made(registry: Registry, options: Mapping[str, Given]) -> dict[str, str]:
    """Return the texts that srun passes on in place of those of the user, by the names of the options."""
    last = {name: given[-1] if isinstance(given, (list, tuple)) else given for name, given in options.items()}
    texts = {option: last[option.name] for option in registry.options if option.checked and option.name in last}
    made = {option.name: made_of(option, text) for option, text in texts.items() if isinstance(text, str)}
    return {name: text for name, text in made.items() if text is not None}


def _set_options(registry: Registry, options: Mapping[str, Given], context: str) -> Outcome | None:
    """Set the values of options; return a refusal if an argument is invalid, as srun would."""
    by_name = {option.name: option for option in registry.options}
    for name, given in options.items():
        if name not in by_name:
            raise ValueError(f"no option {name!r}{nearest(name, by_name)}")
        texts = list(given) if isinstance(given, (list, tuple)) else [given]
        for text in texts if context in ("local", "allocator") else texts[-1:]:
            refused = _give(by_name[name], text, context)
            if refused is not None:
                return refused
    return None


def _give(option: Option, text: object, context: str) -> Outcome | None:
    """Give an option once more; return a refusal if the argument is invalid."""
    if text is True and option.arginfo is not None and not option.optional:
        raise ValueError(f"--{option.name} takes an argument")
    if text is not True and (option.arginfo is None or not isinstance(text, str)):
        takes = "no argument: pass True" if option.arginfo is None else "a str"
        raise ValueError(f"--{option.name} takes {takes}")
    refused = store(option, text if isinstance(text, str) else None, again=option.given)
    if refused is not None:
        return refused
    if context not in option.contexts:
        option.reset()
    return None


def check_options(options: Iterable[Option], given: Mapping[str, str | None]) -> Result:
    """Convert and check options of SPANK as srun, sbatch and salloc do before they submit anything.

    Args:
        options: that exist.
        given: the arguments of those that are given, by name; None for one without.

    Returns:
        the first refusal, or that all pass.
    """
    by_name = {option.name: option for option in options}
    captured = CapturedLog()
    try:
        with captured.capturing():
            outcomes = (store(by_name[name], text) for name, text in given.items())
            outcome = next((outcome for outcome in outcomes if outcome is not None), dispatch.PASSED)
    finally:
        for option in by_name.values():
            option.detach()
    return _result(outcome, captured)


def _cli_filter(
    registry: Registry, hook: str, options: FakeOptions, given: Mapping[str, Any]
) -> tuple[Outcome, dict[str, Any]]:
    view = options._view(hook)
    before = options._state()
    handlers = [handler for handler in registry.handlers(hook) if options.command in handler.contexts]
    arguments = {"options": view, "job": view, "early": options._early}
    arguments |= {"offset": given["offset"] or 0, "job_id": given["job_id"], "step_id": given["step_id"]}
    outcome = dispatch.run(handlers, arguments, view)
    if not outcome.passed:  # in Slurm the command would end here
        options._restore(before)
    after = options._state()
    return outcome, _changes({**dict.fromkeys(after), **before}, {**dict.fromkeys(before), **after})


def _scrun(registry: Registry, hook: str, container: FakeContainer) -> tuple[Outcome, dict[str, Any]]:
    view = scrun_side.view_of(container)
    before = scrun_side.state_of(container)
    cancel.attach(lambda: container.cancelled)
    try:
        outcome = dispatch.run(registry.handlers(hook), {"container": view}, view)
    except StagingError as error:
        outcome = Outcome(passed=False, text=error.text)
    finally:
        cancel.attach(None)
    return outcome, _changes(before, scrun_side.state_of(container))


def registry_of(source: str | os.PathLike[str] | ModuleType | Registry, release: Release | None = None) -> Registry:
    """Return the handlers of a source; see :func:`run`; ``release`` is that of Slurm, for a Lua script."""
    if isinstance(source, Registry):
        return source
    with no_exit():
        if isinstance(source, ModuleType):
            registry = Named([loader.Source(module=source.__name__)]).load()
        else:
            registry = of_files([os.path.realpath(source)], release).load()
    if wrong := unknown_codes([registry]):
        raise LoadError(wrong)
    return registry


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
