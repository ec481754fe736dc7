# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads all hooks as the daemons would, and runs all checks: the report of `slurmhooks check`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.cli import controllers

if TYPE_CHECKING:
    from slurmhooks.cli.whole_site import Loaded
    from slurmhooks.handlers.registry import Handler


@dataclass
class Row:
    """A row of the table of handlers.

    Attributes:
        hook: such as ``hook.job_submit``.
        order: its ``order=``.
        handler: module and qualified name.
        takes: the arguments that it takes.
        on_bug: the effect of an exception in it; a value of ``on_error``.
        contexts: of SPANK and scrun.
        mode: mode and share in words, for job_submit and job_modify; empty for others.
        where: file and line.
    """

    hook: str
    order: int
    handler: str
    takes: list[str]
    on_bug: str
    contexts: list[str]
    mode: str
    where: str


@dataclass
class CheckReport:
    """The output of `check`; with --json it is printed as it is.

    Attributes:
        handlers: the handlers in the order in which they run.
        options: the options of SPANK, with their help.
        notes: what may be a mistake.
        bugs: those of the notes that are about certain bugs; with --strict, they are findings instead.
        manifest: the state of the manifest; None if it cannot be judged.
        running: the hooks in force in slurmctld.
        findings: errors.
    """

    handlers: list[Row]
    options: list[str]
    notes: list[str]
    bugs: list[str]
    manifest: str | None
    running: list[controllers.Running]
    findings: list[str]


def of_files(paths: tuple[Path, ...]) -> CheckReport:
    """Check hook files, or a slurmhooks.toml with its hook files, without Slurm."""
    from slurmhooks.cli import whole_site

    loaded = whole_site.Loaded()
    loaded.load_files(paths)
    return _report(loaded, [*loaded.registry.all_handlers(), *loaded.health], loaded.findings, None, [])


def of_loading(sysconfdir: Path, plugin_dir: Path | None) -> "tuple[Loaded, CheckReport]":
    """Load everything that the daemons of this machine would load, and check only whether it is called."""
    from slurmhooks.cli import manifests, whole_site
    from slurmhooks.cli.checks import calls, lines

    loaded = whole_site.Loaded()
    loaded.load(sysconfdir)
    loaded.notes += loaded.lacking  # a set is loaded although plugstack.conf has been edited
    findings = [*loaded.findings, *loaded.disabled]
    if plugin_dir is not None:
        findings += lines.never_called(loaded.lines, plugin_dir / manifests.PLUGIN)
        findings += calls.not_yet_called(loaded.lines)
    return loaded, _report(loaded, rows(loaded), findings, None, [])


def of_site(sysconfdir: Path, plugin_dir: Path | None) -> CheckReport:
    """Return the report of :func:`of_whole_site`."""
    return of_whole_site(sysconfdir, plugin_dir)[1]


def of_whole_site(sysconfdir: Path, plugin_dir: Path | None, staged: bool = False) -> "tuple[Loaded, CheckReport]":
    """Check everything that the daemons of this machine would load, and whether Slurm calls it.

    Without ``plugin_dir``, that of slurm.conf counts. ``staged``: the files are still to be put in place: omit
    slurmctld and the manifest.
    """
    from slurmhooks.cli import build_record, configuration, manifests, whole_site
    from slurmhooks.cli.checks import access, calls, lines, programs

    loaded = whole_site.Loaded()
    loaded.load(sysconfdir)
    loaded.notes += lines.notes(configuration.plugstack_in(sysconfdir))
    findings = [*loaded.findings, *loaded.disabled, *loaded.lacking]
    folder = plugin_dir or configuration.installed_in(sysconfdir)
    record = build_record.BuildRecord.load(folder) if folder else None
    if record is None or folder is None:
        folder = None
        findings.append(f"no plugins found in slurm.conf's PluginDir: {build_record.BUILD}")
    else:
        findings += build_record.misfits(record, folder)
        findings += lines.needs_sources(loaded.registry, record)
        loaded.notes += lines.kept_from_users(loaded.registry, record)
    if record is not None and folder is not None:
        loaded.notes += lines.ignored_modes(loaded.lines, record) + lines.too_long(loaded.lines)
        findings += lines.never_called(loaded.lines, folder / manifests.PLUGIN)
        findings += calls.not_yet_called(loaded.lines)
    findings += calls.never_called(loaded, sysconfdir, folder)
    findings += programs.of_health(loaded, sysconfdir, folder)
    findings += programs.problems(loaded, sysconfdir, folder)
    unreadable, notes = access.problems(loaded, sysconfdir, staged)
    findings += unreadable
    loaded.notes += notes
    state = None
    if record is not None and folder is not None and not staged:
        state = manifests.state(sysconfdir, record)
    running: list[controllers.Running] = []
    if not staged:
        running, notes = controllers.find_running(sysconfdir)
        findings += controllers.findings(running, record.sources if record is not None else None)
        loaded.notes += notes
    return loaded, _report(loaded, rows(loaded), findings, state, running)


def _report(
    loaded: "Loaded",
    handlers: "list[Handler]",
    findings: list[str],
    state: str | None,
    running: list[controllers.Running],
) -> CheckReport:
    from slurmhooks.cli.checks import evaded, lines, mistakes, undefined
    from slurmhooks.handlers import refusals
    from slurmhooks.handlers.job_rule import JobRule

    findings = [*findings, *refusals.unknown_codes(loaded.all_registries())]
    options = {option.name: option for registry in loaded.all_registries() for option in registry.options}
    certain, doubtful = mistakes.notes(handlers)
    bugs = [*undefined.names(handlers), *certain]
    return CheckReport(
        handlers=[
            Row(
                hook=f"hook.{'job' if isinstance(handler, JobRule) else handler.spec.name}",
                order=handler.order,
                handler=handler.label,
                takes=list(handler.parameters if isinstance(handler, JobRule) else handler.names),
                on_bug=handler.spec.on_error[1] if handler.lenient else handler.spec.on_error[0],
                contexts=list(handler.contexts),
                mode=mode_of(handler),
                where=handler.where,
            )
            for handler in handlers
            if not (isinstance(handler, JobRule) and handler.spec.name == "job_modify")  # one row for both hooks
        ],
        options=[
            f"--{name}{'' if option.arginfo is None else f'={option.arginfo}'}: {option.usage}"
            for name, option in options.items()
        ],
        notes=[
            *loaded.notes,
            *lines.taken(options.values()),
            *bugs,
            *doubtful,
            *evaded.notes(handlers),
        ],
        bugs=bugs,
        manifest=state,
        running=running,
        findings=list(dict.fromkeys(findings)),
    )


def mode_of(handler: "Handler") -> str:
    """Return the mode of a handler in words; empty if its hook has none."""
    from slurmhooks.hooks.rollout import ENFORCE

    if handler.terms is not None:
        return handler.terms.mode
    return str(handler.rollout or ENFORCE) if handler.spec.has_modes else ""


def rows(loaded: "Loaded") -> "list[Handler]":
    """Return the handlers that would run: of SPANK by plugstack.conf, others by slurmhooks.toml."""
    handlers = [handler for handler in loaded.registry.all_handlers() if handler.spec.point != "spank"]
    handlers += loaded.health
    for line in loaded.lines:
        handlers += [handler for handler in line.registry.all_handlers() if handler.spec.point == "spank"]
    return handlers
