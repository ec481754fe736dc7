# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks in force in the slurmctld processes of this machine, which may differ from the files."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from slurmhooks.cli import configuration, documents, parameters
from slurmhooks.files import slurm_conf

NOBODY = (
    "no slurmctld with the plugin job_submit/python runs on this machine with this configuration: run this on the"
    " machine of slurmctld, and name the folder of its slurm.conf with --sysconfdir"
)
"""The finding of commands that need slurmctld."""
KEYS = {"JobSubmitPlugins": "job_submit", "PrEpPlugins": "prep"}
"""The keys of slurm.conf that name plugins which every slurmctld loads at its start, and their plugin points. A standby
loads the others when it takes over."""
PATIENCE = 5.0
"""Seconds to wait for a supervisor, which answers at once unless it is stopped."""


@dataclass
class Fault:
    """Why the present hook files are not in force."""

    since: datetime
    findings: list[str]


@dataclass
class Running:
    """The hooks in force in the worker processes of one plugin of a slurmctld.

    Attributes:
        point: the plugin point, such as job_submit.
        supervisor: process id.
        generation: number of the generation in force; None if no hooks are in force.
        workers: process ids.
        handlers: hook, label, file and mode of each handler in force. An empty mode means "enforce" for all requests; a
            slurmctld that was started before an upgrade may omit modes.
        configuration: the slurmhooks.toml that was loaded, after links were resolved; None if it is not known.
        fault: why the present files are not in force; None if they are.
        periodic: why periodic handlers do not run here, although this slurmctld is in control; None if nothing
            keeps them.
        log: why the decision log cannot be written; None if it can.
        build: the hash of the sources that the plugin was built from; None: it is of a release that did not tell.
    """

    point: str
    supervisor: int
    generation: int | None
    workers: list[int]
    handlers: list[tuple[str, ...]]
    configuration: str | None = field(default=None, kw_only=True)
    fault: Fault | None
    periodic: str | None = field(default=None, kw_only=True)
    log: str | None = field(default=None, kw_only=True)
    build: str | None = field(default=None, kw_only=True)


def find_running(sysconfdir: Path) -> tuple[list[Running], list[str]]:
    """Ask slurmctld processes with this configuration which hooks are in force; return answers, and notes on gaps."""
    from slurmhooks.cli import progress
    from slurmhooks.worker import commands

    nobody = [f"{sysconfdir}: no slurmctld on this machine has loaded a plugin of slurmhooks"]
    if not commands.names(str(sysconfdir)):
        return [], nobody
    parameters.use(sysconfdir)
    running, notes = [], []
    with progress.waiting("asking slurmctld"):
        answers = commands.ask("status", str(sysconfdir), slurm_conf.slurm_user(), PATIENCE)
    for answer in answers:
        if "supervisor" in answer:
            running.append(documents.build(Running, answer))
        else:
            notes += [f"the hooks in force in slurmctld are unknown: {finding}" for finding in answer["findings"]]
    return running, notes if answers else nobody  # other users may have made all of the sockets


def are_asked(sysconfdir: Path) -> bool:
    """Tell whether a slurmctld of this machine is asked about what is to come into force."""
    from slurmhooks.worker import commands

    parameters.use(sysconfdir)
    return commands.is_served(str(sysconfdir), slurm_conf.slurm_user())


def missing(sysconfdir: Path, host: str, running: list[Running]) -> list[str]:
    """Return what should run on this machine, as standby, too, and has not answered: no answer is no agreement."""
    conf = str(slurm_conf.file_in(str(sysconfdir)))
    if host.partition(".")[0] not in (name.partition(".")[0] for name in slurm_conf.controllers(conf)):
        return []
    named = [name for key, name in KEYS.items() if configuration.has_plugin(slurm_conf.value(conf, key) or "", name)]
    answered = {each.point for each in running}
    if named and not answered:
        return [
            f"{conf} names this machine as a host of slurmctld, and no slurmctld with our plugins has answered here"
        ]
    return [
        f"slurmctld, {name}: {conf} names the plugin, and the slurmctld that runs here has not loaded it: restart it"
        for name in named
        if name not in answered
    ]


def lines(running: list[Running]) -> list[str]:
    """Return the hooks in force, one line for each slurmctld and each handler."""
    text = []
    for each in running:
        workers = ", ".join(map(str, each.workers)) or "none"
        processes = f"generation {each.generation}, supervisor {each.supervisor}, workers {workers}"
        text.append(f"slurmctld, {each.point}: {processes}")
        text += [
            f"in force: {hook} handler {label} ({file}){''.join(f', {mode}' for mode in modes if mode)}"
            for hook, label, file, *modes in each.handlers
        ]
    return text


def findings(running: list[Running], installed: str | None) -> list[str]:
    """Return why the present files are not in force, or rules do not run, one line for each reason.

    ``installed`` is the hash of the sources that the plugins on the disk were built from; None: it is not known.
    """
    reasons = []
    for each in running:
        if installed is not None and each.build != installed:
            reasons.append(
                f"slurmctld, {each.point}: has loaded a plugin of another build of slurmhooks"
                f" ({each.build or 'an older one'}) than is installed ({installed}): restart slurmctld"
            )
        if each.fault is not None:
            since = each.fault.since.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            state = "no hooks are in force" if each.generation is None else "keeps the hooks from before in force"
            reasons += [
                f"slurmctld, {each.point}, since {since}: {state}: {finding}" for finding in each.fault.findings
            ]
        reasons += [f"slurmctld, {each.point}: {why}" for why in (each.periodic, each.log) if why is not None]
    return reasons


def serve(sysconfdir: Path) -> list[str]:
    """Let the slurmctld processes of this machine serve the set in force; return why they do not."""
    from slurmhooks.worker import commands

    return _ask_to_load(sysconfdir, commands.SERVE)


def prepare(sysconfdir: Path, chosen: str) -> list[str]:
    """Let the slurmctld processes of this machine load a set that is not in force; return why they cannot."""
    from slurmhooks.worker import commands

    return _ask_to_load(sysconfdir, f"{commands.PREPARE}{chosen}")


def _ask_to_load(sysconfdir: Path, request: str) -> list[str]:
    from slurmhooks.cli import progress
    from slurmhooks.processes import control
    from slurmhooks.worker import commands

    if not commands.names(str(sysconfdir)):
        return []
    parameters.use(sysconfdir)
    # Another load may be running; this one starts after it.
    with progress.waiting("waiting for slurmctld's workers to load the hooks"):
        answers = commands.ask(request, slurm_conf.directory(), slurm_conf.slurm_user(), 2 * control.LOAD_LIMIT + 5)
    return [finding for answer in answers for finding in answer.get("findings", [])]
