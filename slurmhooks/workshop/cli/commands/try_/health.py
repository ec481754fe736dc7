# SPDX-License-Identifier: GPL-2.0-or-later
"""`try health`: run the health checks of this machine, and drain nothing."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.findings import Findings, shown
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HEALTH
from slurmhooks.node import children, ready, verdict
from slurmhooks.node.brake import JOINT
from slurmhooks.node.model import HealthNode
from slurmhooks.node.state import NodeMemory
from slurmhooks.site import sources as site
from slurmhooks.workshop.cli.commands.try_.site_handlers import FILE, hook_files, load


@dataclass(kw_only=True)
class Row:
    """The result of one check.

    Attributes:
        check: its name.
        mode: enforce, warn, observe or off.
        result: passed, refused, hung, bug, or left: it did not run, because the time of the run was over.
        text: the reason of a refusal, or the line for the log.
        fails: how often in sequence it must refuse before the node is drained.
    """

    check: str
    mode: str
    result: str
    text: str
    fails: int


@dataclass(kw_only=True)
class HealthReport:
    """What a run on this machine would do.

    Attributes:
        node: the name that checks see.
        contexts: why the checks run.
        checks: the results.
        reason: the reason with which the node would be drained, at the latest after further such runs; null: none.
    """

    node: str
    contexts: list[str]
    checks: list[Row]
    reason: str | None


@click.command("health")
@click.option("--node", default=lambda: os.uname().nodename.partition(".")[0], show_default="the host name",
              help="NodeName of the node.")  # fmt: skip
@click.option("--context", "contexts", multiple=True, type=click.Choice(HEALTH),
              help="Only checks for this context; may be given several times. Default: all.")  # fmt: skip
@click.option("--hooks", "files", type=FILE, multiple=True, metavar="FILE", callback=hook_files,
              help="Load this hook file instead of the site's; may be given several times.")  # fmt: skip
@parameters.sysconfdir_option
@output.json_option(HealthReport)
def command(node: str, contexts: tuple[str, ...], files: tuple[Path, ...], sysconfdir: Path) -> None:
    """Run the health checks on this machine, and say what would become of the node.

    The checks really run, as slurmd would run them, with your permissions. slurmctld is not asked, the node is not
    drained, and the results of earlier runs are neither read nor changed, so every= and fails= have no effect.
    """
    registry = load(sysconfdir, files)
    seconds, ready_made = (45.0, []) if files else _ready_made()
    here = contexts or HEALTH
    checks = [
        check
        for check in verdict.of_node((*ready_made, *registry.handlers("node.health_check")), node)
        if set(here).intersection(check.contexts) and verdict.terms_of(check).mode != "off"
    ]
    results = children.run(checks, {"node": HealthNode(node, here)}, seconds, lambda: None, _show)
    rows = [
        Row(
            check=check.label,
            mode=verdict.terms_of(check).mode,
            result=result.kind,
            text=result.text,
            fails=verdict.terms_of(check).fails,
        )
        for check, result in zip(checks, results, strict=True)
    ]
    state = NodeMemory()
    for _ in range(max((row.fails for row in rows), default=0)):
        verdict.count(checks, results, state, 0.0)
    report = HealthReport(
        node=node, contexts=list(here), checks=rows, reason=JOINT.join(verdict.texts(checks, state)) or None
    )
    output.result(report, show)
    sys.exit(0 if report.reason is None else 1)


def show(report: HealthReport) -> None:
    """Print the results for people."""
    if report.checks:
        cells = [(row.check, row.mode, row.result, row.text) for row in report.checks]
        output.table(("check", "mode", "result", "text"), cells)
    else:
        click.echo("no health checks")
    after = max((row.fails for row in report.checks if row.result in ("refused", "hung")), default=1)
    when = f", at the latest after {after} such runs" if after > 1 else ""
    if report.reason is None:
        click.echo(shown(f"{report.node} would not be drained"))
    else:
        click.echo(shown(f"{report.node} would be drained{when}: {report.reason}"))


def _ready_made() -> tuple[float, list[Handler]]:
    try:
        read, checks = ready.of_file(site.source_path())
    except (ConfigError, LoadError) as error:
        raise Findings(error.findings) from error
    return read.node.timeout, checks


def _show(text: bytes) -> None:
    sys.stderr.buffer.write(text)
    sys.stderr.flush()
