# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts a set in force on this machine, or leaves everything as it was.

All that can refuse the set does so before any process of Slurm sees it. The order of the steps makes each intermediate
state valid: until the rename the old set is in force, and afterwards the new one, with all that launches read of it. A
note in the store lets the next command finish a deployment whose command was killed.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from slurmhooks import identity
from slurmhooks.burst_buffer import script
from slurmhooks.cli import build_record, configuration, controllers, manifests
from slurmhooks.cli.bundles import contents, history, packages
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.checks import report
from slurmhooks.cli.child import in_child
from slurmhooks.cli.findings import Findings
from slurmhooks.config.plain import Checked, Plain
from slurmhooks.files import home
from slurmhooks.site import checked, manifest
from slurmhooks.site import sources as site


def complete(store: Store) -> list[str]:
    """Finish the deployment that a killed command has left unfinished, if any; return notes. The store is locked."""
    left = store.unfinished
    if left is None:
        return []
    bundle, before = left.bundle, left.before
    if store.deployed != bundle:
        # It was killed before the switch, or while it went back: all else is as before.
        refused = controllers.serve(store.sysconfdir)
        store.end(happened=False)
        return [f"{bundle}: its deployment was killed, and {before or 'no set'} stays in force", *refused]
    done = f"{bundle}: its deployment was killed, and is finished now"
    try:
        _finish(store, left)
    except Findings as error:
        return error.findings
    return [done]


def activate(store: Store, event: history.Event, plugin_dir: Path | None, *, asks: bool = True) -> list[str]:
    """Put a set of the store in force; if it is in force already, let slurmctld load it.

    Args:
        store: the sets of this machine, which is locked.
        event: the set, what the history is to say about it, and the set that stays in force if this fails.
        plugin_dir: folder of the plugins; None: that of slurm.conf.
        asks: let slurmctld load the set. One of another build cannot, and loads it when it is restarted.

    Returns:
        notes.

    Raises:
        Findings: the daemons would not load the set, or slurmctld has not loaded it; what was in force is in force.
    """
    bundle = event.bundle
    store.verify(bundle)
    folder = plugin_dir or configuration.installed_in(store.sysconfdir)
    if store.deployed == bundle:
        if event.is_new and (wrong := _unfit(store, bundle, folder)):
            raise Findings([*wrong, f"{bundle} stays in force"])
        notes = renew(store, folder)
        if event.is_new:
            packages.note(store.place(bundle))
        if asks and (refused := controllers.serve(store.sysconfdir)):
            raise Findings(refused)
        return notes
    notes = prepare(store, event, folder, asks=asks)
    if event.is_new or not (store.place(bundle) / packages.FILE_NAME).exists():
        packages.note(store.place(bundle))
    event = replace(event, first=not os.path.lexists(store.pointer) and not store.events())
    store.begin(history.now(event))
    try:
        store.switch(bundle)
    except OSError:
        if store.deployed != bundle:
            store.end(happened=False)
        raise
    _finish(store, event, asks=asks)
    return notes


def _unfit(store: Store, bundle: str, folder: Path | None) -> list[str]:
    """Return what is wrong on this machine with a set that is in force: prepare() says the same of another one."""
    record = build_record.BuildRecord.load(folder) if folder is not None else None
    findings = build_record.misfits(record, folder) if record is not None and folder is not None else []
    return findings + contents.mistaken_lines(store.place(bundle), store.sysconfdir)


def prepare(store: Store, event: history.Event, folder: Path | None, *, asks: bool = True) -> list[str]:
    """Find out whether a set can come into force, while no process of Slurm sees it; return notes.

    Raises:
        Findings: it cannot.
    """
    bundle = event.bundle
    examined = _examined(store, bundle, folder, judge=event.is_new)
    findings = examined.findings
    if event.is_new:
        findings += contents.other_lines(store.place(bundle), store.sysconfdir)
    if event.undo and not examined.handlers:
        findings.append(f"{bundle} has no handlers: 'slurmhooks rollback {bundle}' puts it in force all the same")
    if not findings:
        store.write_derived(bundle, examined.derived)
        findings = controllers.prepare(store.sysconfdir, bundle) if asks else []
    if findings:
        raise Findings([*findings, _stays(bundle, event.before)])
    return examined.notes


def _finish(store: Store, event: history.Event, *, asks: bool = True) -> None:
    """Let slurmctld serve a set that is in force; if it refuses, go back.

    Raises:
        Findings: slurmctld has not loaded the set; what was in force before is in force.
    """
    refused = controllers.serve(store.sysconfdir) if asks else []
    if refused:
        store.go_back(event)
        refused += [_stays(event.bundle, event.before), *controllers.serve(store.sysconfdir)]
    store.end(happened=not refused)
    if refused:
        raise Findings(refused)


def renew(store: Store, folder: Path | None) -> list[str]:
    """Write the manifest of the set in force again, for the installed build and packages; return findings about it.

    The store is locked.
    """
    if store.deployed is None:
        return []
    examined = _examined(store, store.deployed, folder, judge=False)
    store.write_derived(store.deployed, examined.derived)
    return examined.findings


def _stays(bundle: str, before: str | None) -> str:
    """Return what is in force after a refusal."""
    return f"{bundle} is not deployed; " + (f"{before} stays in force" if before else "nothing has changed")


@dataclass
class Examined:
    """What a set has.

    ``notes`` may be mistakes; ``findings`` are why it does not load, or Slurm would not call a handler. ``derived`` is
    what is made from its files, by the names of hidden files; empty if there are no plugins that would read it, or if
    the set cannot be in force.
    """

    handlers: list[report.Row]
    notes: list[str]
    findings: list[str]
    derived: dict[str, File]


def _examined(store: Store, bundle: str, folder: Path | None, *, judge: bool) -> Examined:
    """Load a set in a child of this process, as the daemons would.

    ``judge``: also the configuration of Slurm, which a return must not depend on.
    """
    with store.staged(bundle) as stage:
        examined = in_child(_examine, stage, folder, judge)
        # The stage no longer exists when the user reads these findings.
        examined.findings = [text.replace(str(stage), str(store.sysconfdir)) for text in examined.findings]
        examined.notes = [text.replace(str(stage), str(store.sysconfdir)) for text in examined.notes]
    return examined


def _examine(stage: Path, folder: Path | None, judge: bool) -> Examined:
    loaded, result = report.of_whole_site(stage, folder, staged=True) if judge else report.of_loading(stage, folder)
    record = build_record.BuildRecord.load(folder) if folder is not None else None
    derived: dict[str, File] = {}
    if record is not None and folder is not None and not result.findings:
        # If the plugins are of another build, their processes must not read what this one makes.
        record = replace(record, sources=identity.here())
        derived[manifest.FILE_NAME] = File(manifests.content_of(loaded, record))
        program = folder / build_record.BURST_BUFFER
        derived[script.FILE_NAME] = File(script.render(program, loaded.burst_buffer, loaded.registry))
        derived |= _checked(Path(stage, home.SET).resolve(), record.sources)
    return Examined(result.handlers, result.notes, result.findings, derived)


def _checked(folder: Path, sources: str) -> dict[str, File]:
    """Return the configuration of a set as its model has checked it, for those who may read what it is made from."""
    path, read = site.located_config(folder / home.SOURCE)
    if isinstance(read, Plain):
        return {}
    from slurmhooks.rules import catalogue  # needs pydantic, whose import is slow

    files = [File.read(folder / name) for name in (home.SOURCE, *contents.maps(read))]
    groups = {file.group for file in files if file.is_private}
    if len(groups) > 1:  # nobody may read them all, except root
        return {}
    content = checked.sealed(Checked(read, catalogue.of_config(path, read)), sources)
    return {checked.FILE_NAME: File(content, bool(groups), *groups)}


def handlers_of(store: Store, bundle: str) -> list[report.Row]:
    """Return the handlers of a set.

    Raises:
        Findings: it does not load.
    """
    examined = _examined(store, bundle, None, judge=False)
    if examined.findings:
        raise Findings(examined.findings)
    return examined.handlers
