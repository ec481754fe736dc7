# SPDX-License-Identifier: GPL-2.0-or-later
"""Which bundle is in force on this machine, and on others, which report by a step or in files."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.cli import documents, parameters
from slurmhooks.cli.bundles.history import Event
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.errors import LoadError
from slurmhooks.files import home
from slurmhooks.site import sources as site

if TYPE_CHECKING:
    import subprocess

    from slurmhooks.cli import controllers
    from slurmhooks.cli.bundles.store import Store

MARK = "slurmhooks-status "
"""Marks the line with the report in the output of a step: prologs and profiles may print other lines."""
SHOWN = 10
"""Number of events in a report."""
MOST_SHOWN = 200
"""Characters of a damaged report that are shown."""


@dataclass
class Point:
    """The bundle that a plugin of slurmctld has in force.

    Attributes:
        point: the plugin point.
        bundle: the id; None if it is unknown.
        fault: why the present files are not in force, periodic handlers do not run, or the decision log
            cannot be written.
    """

    point: str
    bundle: str | None
    fault: list[str]


@dataclass
class Machine:
    """The report of a machine about itself.

    Attributes:
        name: of the node, or of the host.
        at: time of the report.
        bundle: the id of the files of the set in force; None if there is none, or they could not be read.
        deployed: the id of the deployed bundle, which differs from ``bundle`` if its files were changed.
        kept: the bundles that `rollback` can go back to, the one that came into force last at the end.
        before: the one that it goes back to if none is named; None if that is not known.
        history: what came into force last, the latest at the end.
        sources: what is to be known about the files beside slurm.conf; None: they are as they were deployed.
        packages: those that the set imports, and that have changed since it was deployed.
        slurmctld: the plugins of a slurmctld on this machine.
        findings: reasons why something is unknown.
        manifest: why launches do not use the hook manifest; None if they do, or if it is not known.
    """

    name: str
    at: datetime
    bundle: str | None
    deployed: str | None
    kept: list[str] = field(default_factory=list)
    slurmctld: list[Point] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    manifest: str | None = None
    before: str | None = None
    history: list[Event] = field(default_factory=list)
    sources: str | None = None
    packages: list[str] = field(default_factory=list)


def this(sysconfdir: Path) -> Machine:
    """Return the report of this machine."""
    from slurmhooks.cli import build_record, configuration, controllers, installed_plugins, manifests
    from slurmhooks.cli.bundles import contents, packages, prolog
    from slurmhooks.cli.bundles.store import Store

    store = Store(sysconfdir)
    deployed, findings = store.deployed, []
    left = store.unfinished
    if left is not None:
        findings.append(
            f"the deployment of {left.bundle} has not ended: it still runs, or was killed; 'slurmhooks deploy' or"
            " 'rollback' finishes it"
        )
    bundle = None
    try:
        if deployed is not None:
            bundle = store.content_id(deployed)
        else:
            parameters.use(sysconfdir)
            site.config_name()
            nothing = "nothing has been deployed on this machine, so it has no hooks: 'slurmhooks deploy'"
            findings.append(store.copied or nothing)
    except LoadError as error:
        findings += error.findings
    except OSError as error:
        findings.append(f"{error.filename}: {error.strerror}")
    if deployed is not None:
        findings += contents.mistaken_lines(store.place(deployed), sysconfdir)
    manifest = None
    try:
        folder = configuration.installed_in(sysconfdir)
        record = build_record.BuildRecord.load(folder) if folder is not None else None
        if record is not None and deployed is not None:
            manifest = manifests.why_not(manifests.path_in(sysconfdir), record)
        findings += installed_plugins.of_machine(sysconfdir)
    except Findings as error:  # the record of the build is damaged
        findings += error.findings
    running, notes = controllers.find_running(sysconfdir)
    host = os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]
    unknown = [text for text in notes if "unknown" in text]
    findings += unknown or controllers.missing(sysconfdir, host, running)
    return Machine(
        name=host,
        at=datetime.now(UTC),
        bundle=bundle,
        deployed=deployed,
        kept=store.kept(),
        before=store.before(),
        history=store.events()[-SHOWN:],
        sources=_sources(store),
        slurmctld=[_point(each, store) for each in running],
        findings=[*findings, *prolog.others(sysconfdir, deployed)],
        manifest=manifest,
        packages=packages.changed(store.place(deployed)) if deployed is not None else [],
    )


def _sources(store: "Store") -> str | None:
    """Return how the files beside slurm.conf differ from what is in force; None: they do not, or there are none."""
    from slurmhooks.cli.bundles import contents

    toml = home.source_in(str(store.sysconfdir))
    deployed = store.deployed
    if deployed is None or not os.path.exists(toml) or home.is_deployed(site.located(toml)):
        return None
    try:
        sources, _ = contents.collect(store.sysconfdir)
        present = contents.of_folder(store.place(deployed))
        if contents.PLUGSTACK not in present:  # an archive may have been made of a folder without one
            sources.pop(contents.PLUGSTACK, None)
        same = not contents.changes(present, sources)
    except (Findings, OSError):
        same = False
    if same:
        return None
    return f"{os.path.dirname(toml)}: the sources differ from what is in force: 'slurmhooks deploy --dry-run' shows how"


def _point(running: "controllers.Running", store: "Store") -> Point:
    """Return which set a plugin has loaded: the one that its configuration is in."""
    fault = running.fault.findings if running.fault is not None else []
    bundle = None
    if running.configuration is not None and running.generation is not None:
        folder = Path(running.configuration).parent
        if folder.parent == store.place(folder.name).parent.resolve() and folder.is_dir():
            bundle = folder.name
    fault = [*fault, *(why for why in (running.periodic, running.log) if why is not None)]
    return Point(point=running.point, bundle=bundle, fault=fault)


def over_srun(options: Iterable[str], nodes: str | None, program: str) -> tuple[list[Machine], list[str]]:
    """Get reports from nodes by one step with a task on each node; return them, and the nodes that were asked.

    Args:
        options: further options of srun.
        nodes: a node list as for ``--nodelist``; None: all nodes that can run a job.
        program: the command `slurmhooks` on the nodes.

    Raises:
        Finding: the step could not start.
    """
    names = hostnames(nodes) if nodes is not None else _responding()
    if not names:
        return [], []
    command = ["srun", "--quiet", f"--nodes={len(names)}", f"--ntasks={len(names)}", "--ntasks-per-node=1"]
    command += [f"--nodelist={','.join(names)}", "--job-name=slurmhooks-status", "--immediate=60", *options]
    command += [program, "status", "--report"]
    done = _run(command)
    machines = of_text(done.stdout, "srun")
    if not machines:
        said = done.stderr.strip().removeprefix("srun: ") or f"exit code {done.returncode}"
        advice = "--srun-option gives srun further options, such as those that a policy asks for"
        raise Finding(f"no node has answered: srun: {said}\n{advice}")
    return machines, names


def others(sources: Iterable[str]) -> list[Machine]:
    """Read reports from files, from all files in folders, and from other machines, by ssh.

    Raises:
        Finding: a file cannot be read, a machine does not answer, or there is no report.
    """
    from slurmhooks.cli import hosts

    machines = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            texts = {str(each): each.read_text(errors="replace") for each in sorted(path.iterdir()) if each.is_file()}
        elif path.exists():
            texts = {source: path.read_text(errors="replace")}
        else:
            texts = {source: hosts.ask(source, "status", "--report")}
        for name, text in texts.items():
            reports = of_text(text, name)
            if not reports:
                raise Finding(f"{name}: no report of 'slurmhooks status --report' in it")
            machines += reports
    return machines


def of_text(text: str, source: str) -> list[Machine]:
    """Return the reports in a text, one in each line; ignore other lines.

    Raises:
        Finding: a report is damaged.
    """
    import json

    machines = []
    for line in text.splitlines():
        _, mark, report = line.partition(MARK)
        if mark:
            try:
                machines.append(documents.build(Machine, json.loads(report)))
            except (ValueError, RecursionError) as error:
                raise Finding(f"{source}: damaged report: {error}: {line[:MOST_SHOWN]}") from error
    return machines


def hostnames(nodes: str) -> list[str]:
    """Return the names in a list such as n[1-3]."""
    done = _run(["scontrol", "show", "hostnames", nodes])
    if done.returncode:
        raise Finding(f"{nodes}: {done.stderr.strip()}")
    return done.stdout.split()


def _responding() -> list[str]:
    done = _run(["sinfo", "--noheader", "--responding", "--Node", "--states=idle,mixed,allocated", "--format=%N"])
    if done.returncode:
        raise Finding(f"sinfo: {done.stderr.strip()}")
    return list(dict.fromkeys(done.stdout.split()))


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    import subprocess

    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as error:
        raise Finding(f"{command[0]} is not on PATH: add the folder of Slurm's commands to it") from error
