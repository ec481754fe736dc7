# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts a bundle in force on this machine, or leaves everything as it was.

The order of the steps makes each intermediate state valid: until the rename the old bundle is in force, and afterwards
the new one, with a manifest that is treated as absent until it is written again. A note in the store lets the next
command finish a deployment whose command was killed.
"""

from collections.abc import Iterable
from pathlib import Path

from slurmhooks.cli import compiling, configuration, controllers, manifests
from slurmhooks.cli.bundles import archive, contents, history
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.checks import report
from slurmhooks.cli.findings import Findings
from slurmhooks.cli.forked import in_child
from slurmhooks.cli.progress import note
from slurmhooks.files import plugstack
from slurmhooks.site import variants
from slurmhooks.worker import requests


def complete(store: Store, plugin_dir: Path | None) -> list[str]:
    """Finish the deployment that a killed command has left unfinished, if any.

    Args:
        store: the bundles of this machine, which is locked.
        plugin_dir: as for :func:`activate`.

    Returns:
        notes about it, also if slurmctld refuses the bundle, so that the former one is in force again.
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
        return [f"{bundle}: its deployment was killed, and {before or 'no bundle'} stays in force", *refused]
    done = f"{bundle}: its deployment was killed, and is finished now"
    try:
        return [done, *_finish(store, left, plugin_dir or configuration.installed_in(store.sysconfdir))]
    except Findings as error:
        return error.findings


def keep_present(store: Store) -> str | None:
    """Make a bundle of the present files, unless they come from one, so that `rollback` can go back to them.

    Returns:
        the id of the bundle that is in force, or has these files; None if there are no files.

    Raises:
        Findings: a bundle could not hold them.
    """
    if store.deployed is not None or not store.toml.exists():
        return store.deployed
    try:
        files, _ = contents.collect(store.sysconfdir)
    except Findings as error:
        raise Findings(
            [*error.findings, "the first deployment keeps the present files as a bundle: repair them first"]
        ) from error
    data = archive.pack(files)
    present = store.put(data, files)
    if history.latest(store.events())[-1:] != [present]:
        store.note(history.now(history.Event(bundle=present, verb="present")))
    return present


def activate(store: Store, event: history.Event, plugin_dir: Path | None) -> list[str]:
    """Put a bundle of the store in force; if it is in force already, write the manifest and reload slurmctld.

    Args:
        store: the bundles of this machine, which is locked.
        event: the bundle, what the history is to say about it, and the bundle that stays in force if this fails.
        plugin_dir: folder of the plugins; None: that of slurm.conf.

    Returns:
        notes.

    Raises:
        Findings: the daemons would not load the bundle, or slurmctld has not loaded it; the previous bundle is in
            force.
    """
    bundle, before = event.bundle, event.before
    store.verify(bundle)
    folder = plugin_dir or configuration.installed_in(store.sysconfdir)
    if store.deployed == bundle:
        notes = in_child(_compile, store.sysconfdir, folder)
        if refused := _reload(store.sysconfdir):
            raise Findings(refused)
        return notes
    with store.staged(bundle) as stage:
        handlers, callbacks, notes, findings = in_child(_examine, stage, folder)
        findings += _other_lines(store, bundle)
        if event.undo and not handlers:
            findings.append(f"{bundle} has no handlers: 'slurmhooks rollback {bundle}' puts it in force all the same")
        if findings:
            # The stage no longer exists when the user reads these findings.
            findings = [text.replace(str(stage), str(store.sysconfdir)) for text in findings]
            raise Findings([*findings, _stays(bundle, before)])
    store.begin(history.now(event))
    try:
        if folder is not None:
            _offer(folder, callbacks)
        store.switch(bundle, before)
    except (OSError, Findings) as error:
        if store.deployed != bundle:
            store.end(happened=False)
            if isinstance(error, Findings):
                raise Findings([*error.findings, _stays(bundle, before)]) from error
        raise
    return [*notes, *_finish(store, event, folder)]


def _finish(store: Store, event: history.Event, folder: Path | None) -> list[str]:
    """Write the manifest, and let slurmctld load a bundle whose files are in force; if it refuses, go back.

    Returns:
        notes.

    Raises:
        Findings: slurmctld has not loaded the bundle; the previous one is in force.
    """
    notes = in_child(_compile, store.sysconfdir, folder)
    refused = _reload(store.sysconfdir)
    if refused:
        if event.before is None:
            store.withdraw()
        else:
            store.switch(event.before, event.bundle)
        in_child(_compile, store.sysconfdir, folder)
        refused += [_stays(event.bundle, event.before), *_reload(store.sysconfdir)]
    store.end(happened=not refused)
    if refused:
        raise Findings(refused)
    return notes


def _stays(bundle: str, before: str | None) -> str:
    """Return what is in force after a refusal."""
    return f"{bundle} is not deployed; " + (f"{before} stays in force" if before else "nothing has changed")


def _examine(stage: Path, folder: Path | None) -> tuple[int, set[str], list[str], list[str]]:
    """Return how many handlers a site has, the callbacks of SPANK with handlers, notes, and why it would not load."""
    result = report.of_site(stage, folder, staged=True)
    callbacks = {row.hook.removeprefix("hook.spank.") for row in result.handlers if row.hook.startswith("hook.spank.")}
    # What is said about the folder of the stage is said again about that of the site, when the manifest is written.
    return len(result.handlers), callbacks, [text for text in result.notes if str(stage) not in text], result.findings


def _other_lines(store: Store, bundle: str) -> list[str]:
    """Return findings if the lines of plugstack.conf differ from those that the bundle was made for."""
    lines = contents.spank_lines(store.sysconfdir)
    try:
        wanted = (store.place(bundle) / contents.PLUGSTACK).read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        wanted = lines
    findings = []
    if lines != wanted:
        have, need = ("; ".join(each) or "none" for each in (lines, wanted))
        findings.append(f"plugstack.conf has the lines of spank_python.so: {have}; the bundle was made for: {need}")
    for line in lines:
        named, _, _ = plugstack.split(line.split()[2:])
        if named is not None and named.startswith("/"):
            findings.append(f"plugstack.conf: {line}: no bundle can replace config={named}: leave config= out")
    return findings


def _offer(folder: Path, callbacks: Iterable[str]) -> None:
    """Choose a SPANK plugin that exports the callbacks of both the present handlers and the new ones."""
    present = set(variants.exported(manifests.variant_of(folder / manifests.PLUGIN)))
    needed = present | set(callbacks) & set(variants.COSTLY_CALLBACKS)
    if needed != present:
        chosen = manifests.choose_variant(folder, variants.smallest(needed))
        if manifests.RESTART in chosen:
            note(manifests.RESTART)


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
