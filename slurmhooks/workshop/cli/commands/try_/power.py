# SPDX-License-Identifier: GPL-2.0-or-later
"""`try power`: run the power hooks here, and set no node down."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from slurmhooks.hooks.points import POINTS
from slurmhooks.job_submit.strings.nodes import expand_nodes
from slurmhooks.job_submit.strings.notation import NotationError
from slurmhooks.workshop.cli.commands.try_ import site_handlers
from slurmhooks.workshop.testing import power

HOOKS = tuple(spec.short_name for spec in POINTS["power"].hooks)


@dataclass(kw_only=True)
class PowerReport:
    """What a call would do.

    Attributes:
        hook: such as power.resume.
        handlers: the handlers, in order.
        passed: all handlers passed.
        text: the refusal, or the line about a bug; null if all passed.
    """

    hook: str
    handlers: list[str]
    passed: bool
    text: str | None


@click.command("power")
@click.argument("hook", type=click.Choice(HOOKS))
@click.argument("nodes", nargs=-1, required=True)
@click.option("--feature", "features", multiple=True, help="A feature of the nodes; may be given several times.")
@click.option("--partition", "partitions", multiple=True, help="A partition of the nodes; may be given several times.")
@click.option("--reboot-features", "boot_features", help="The features that a reboot gives to the nodes.")
@click.option("--job", "jobs", multiple=True, type=int,
              help="Id of a job that waits for the nodes; may be given several times.")  # fmt: skip
@site_handlers.common(PowerReport)
def command(
    hook: str,
    nodes: tuple[str, ...],
    features: tuple[str, ...],
    partitions: tuple[str, ...],
    boot_features: str | None,
    jobs: tuple[int, ...],
    sysconfdir: Path,
    files: tuple[Path, ...],
) -> None:
    """Run the handlers of a power hook for NODES, such as c1 c2 or 'c[1-3]'.

    The handlers really run, with your permissions: they may start and stop machines. slurmctld is not asked, and no
    node is set to DOWN; the log shows the command instead.
    """
    registry = site_handlers.load(sysconfdir, files)
    name = f"power.{hook}"
    try:
        names = expand_nodes(",".join(nodes))
    except NotationError as error:
        raise click.UsageError(str(error)) from error
    row = {"features": features, "partitions": partitions}
    given: dict[str, Any] = {
        "nodes": dict.fromkeys(names, row),
        "jobs": [{"job_id": job} for job in jobs],
        "features": boot_features,
        "event": None,
    }
    outcome = power.handle(registry, name, given)
    labels = [handler.label for handler in registry.handlers(name)]
    report = PowerReport(hook=name, handlers=labels, passed=outcome.passed, text=outcome.text)
    site_handlers.finish(report, name)
