# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts a set in force on this machine, or leaves everything as it was.

All that can refuse the set does so before any process of Slurm sees it. The order of the steps makes each intermediate
state valid: until the rename the old set is in force, and afterwards the new one, with a manifest that is treated as
absent until it is written again. A note in the store lets the next command finish
a deployment whose command was killed.
"""

from dataclasses import replace
from pathlib import Path

from slurmhooks.cli import compiling, configuration, controllers
from slurmhooks.cli.bundles import archive, contents, history
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.checks import report
from slurmhooks.cli.findings import Findings
from slurmhooks.cli.forked import in_child
from slurmhooks.cli.progress import note
from slurmhooks.files import home
from slurmhooks.site import sources as site
from slurmhooks.worker import requests


def complete(store: Store, plugin_dir: Path | None) -> list[str]:
    """Finish the deployment that a killed command has left unfinished, if any.

    Args:
        store: the sets of this machine, which is locked.
        plugin_dir: as for :func:`activate`.

    Returns:
        notes about it, also if slurmctld refuses the set, so that the former one is in force again.
    """
    left = store.unfinished
    if left is None:
        return []
    bundle, before = left.bundle, left.before
    if store.deployed != bundle:
        # It was killed before the switch, or while it went back: all but these two things is as before.
        in_child(_compile, store.sysconfdir, plugin_dir or configuration.installed_in(store.sysconfdir))
        refused = _reload(store.sysconfdir)
        store.end(happened=False)
        return [f"{bundle}: its deployment was killed, and {before or 'no set'} stays in force", *refused]
    done = f"{bundle}: its deployment was killed, and is finished now"
    try:
        return [done, *_finish(store, left, plugin_dir or configuration.installed_in(store.sysconfdir))]
    except Findings as error:
        return error.findings


def keep_present(store: Store) -> tuple[str | None, list[str]]:
    """Make a set of the files that are in force before the first deployment, so that `rollback` can go back to them.

    Returns:
        the id of the set that is in force, or has these files, or None; and notes.
    """
    path = Path(site.config_in(str(store.sysconfdir)))
    if store.deployed is not None or store.events() or not path.exists():
        return store.deployed, []
    try:
        files, _ = contents.collect(store.sysconfdir)
        return store.put(archive.pack(files), files), []
    except Findings as error:
        return None, [f"the present files are not kept for 'rollback': {text}" for text in error.findings]


def activate(store: Store, event: history.Event, plugin_dir: Path | None) -> list[str]:
    """Put a set of the store in force; if it is in force already, write the manifest and reload slurmctld.

    Args:
        store: the sets of this machine, which is locked.
        event: the set, what the history is to say about it, and the set that stays in force if this fails.
        plugin_dir: folder of the plugins; None: that of slurm.conf.

    Returns:
        notes.

    Raises:
        Findings: the daemons would not load the set, or slurmctld has not loaded it; what was in force is in force.
    """
    bundle = event.bundle
    store.verify(bundle)
    folder = plugin_dir or configuration.installed_in(store.sysconfdir)
    if store.deployed == bundle:
        if event.verb == "deploy" and (wrong := contents.mistaken_lines(store.place(bundle), store.sysconfdir)):
            raise Findings([*wrong, f"{bundle} stays in force"])
        notes = in_child(_compile, store.sysconfdir, folder)
        if refused := _reload(store.sysconfdir):
            raise Findings(refused)
        return notes
    notes = prepare(store, event, folder)
    event = replace(event, live=home.pointer(str(store.sysconfdir)) is None)
    first = [history.Event(bundle=event.before, verb="present")] if event.before and not store.events() else []
    store.begin([*map(history.now, first), history.now(event)])
    try:
        store.switch(bundle)
    except OSError:
        if store.deployed != bundle:
            store.end(happened=False)
        raise
    return [*notes, *_finish(store, event, folder)]


def prepare(store: Store, event: history.Event, folder: Path | None) -> list[str]:
    """Find out whether a set can come into force, while no process of Slurm sees it; return notes.

    Raises:
        Findings: it cannot.
    """
    bundle = event.bundle
    with store.staged(bundle) as stage:
        handlers, notes, findings = in_child(_examine, stage, folder, event.verb == "deploy")
        if event.verb == "deploy":
            findings += contents.other_lines(store.place(bundle), store.sysconfdir)
        if event.undo and not handlers:
            findings.append(f"{bundle} has no handlers: 'slurmhooks rollback {bundle}' puts it in force all the same")
        # The stage no longer exists when the user reads these findings.
        findings = [text.replace(str(stage), str(store.sysconfdir)) for text in findings]
    findings = findings or controllers.prepare(store.sysconfdir, bundle)
    if findings:
        raise Findings([*findings, _stays(bundle, event.before)])
    return notes


def _finish(store: Store, event: history.Event, folder: Path | None) -> list[str]:
    """Write the manifest, and let slurmctld serve a set that is in force; if it refuses, go back.

    Returns:
        notes.

    Raises:
        Findings: slurmctld has not loaded the set; what was in force before is in force.
    """
    notes = in_child(_compile, store.sysconfdir, folder)
    refused = _reload(store.sysconfdir)
    if refused:
        store.go_back(event)
        in_child(_compile, store.sysconfdir, folder)
        refused += [_stays(event.bundle, event.before), *_reload(store.sysconfdir)]
    store.end(happened=not refused)
    if refused:
        raise Findings(refused)
    return notes


def _stays(bundle: str, before: str | None) -> str:
    """Return what is in force after a refusal."""
    return f"{bundle} is not deployed; " + (f"{before} stays in force" if before else "nothing has changed")


def _examine(stage: Path, folder: Path | None, judge: bool) -> tuple[int, list[str], list[str]]:
    """Return how many handlers a site has, notes, and why it would not load, or Slurm would not call a handler.

    Args:
        stage: the folder of its slurm.conf.
        folder: of the plugins.
        judge: also the configuration of Slurm, which a return must not depend on.
    """
    result = report.of_site(stage, folder, staged=True) if judge else report.of_loading(stage, folder)
    # What is said about the folder of the stage is said again about that of the site, when the manifest is written.
    notes = [text for text in result.notes if str(stage) not in text]
    return len(result.handlers), notes, result.findings


def handlers_of(store: Store, bundle: str) -> list[report.Row]:
    """Return the handlers of a set.

    Raises:
        Findings: it does not load.
    """
    with store.staged(bundle) as stage:
        found = in_child(report.of_loading, stage, None)
    if found.findings:
        raise Findings([text.replace(str(stage), str(store.sysconfdir)) for text in found.findings])
    return found.handlers


def _compile(sysconfdir: Path, folder: Path | None) -> list[str]:
    """Write the manifest; return findings if that fails."""
    try:
        for text in compiling.of_site(sysconfdir, folder):
            note(text)
    except Findings as error:
        return error.findings
    except OSError as error:  # such as a full disk: the files are in force all the same
        return [f"{error.filename}: {error.strerror}: the manifest was not written, so Python starts in every process"]
    return []


def _reload(sysconfdir: Path) -> list[str]:
    """Make slurmctld, if it runs here, load the files now; return findings if it does not."""
    return (controllers.reload(sysconfdir) or []) if requests.names(str(sysconfdir)) else []
