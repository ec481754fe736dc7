# SPDX-License-Identifier: GPL-2.0-or-later
"""Load all hooks as the daemons would, and list errors and handlers."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from slurmhooks.cli import controllers, output, parameters
from slurmhooks.cli.checks import report
from slurmhooks.cli.findings import Findings, shown
from slurmhooks.log import visible

DEFAULT = ParameterSource.DEFAULT
INPUT = click.Path(exists=True, path_type=Path)


@click.command("check")
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@click.option(
    "--hooks",
    "paths",
    type=INPUT,
    multiple=True,
    metavar="PATH",
    help="Check only this hook file, or those in this folder, without Slurm; may be given several times. A"
    " slurmhooks.toml, or a folder with one, is checked with all that it names.",
)
@click.option("--strict", is_flag=True, help="Count notes about certain bugs, such as names that nothing defines, as"
              " errors; for pipelines.")  # fmt: skip
@click.option("--staged", is_flag=True, help="Judge files that are still to be put in place, not what is in force now.")
@output.json_option(report.Report)
@click.pass_context
def command(
    context: click.Context,
    sysconfdir: Path,
    plugin_dir: Path | None,
    paths: tuple[Path, ...],
    strict: bool,
    staged: bool,
) -> None:
    """Load all hooks as the daemons would, and list errors and handlers.

    Errors are: hooks that do not load, that Slurm never calls because of its configuration, that a user who needs them
    cannot read, and that a slurmctld on this machine has not loaded yet. All errors are shown at once. Exit codes:
    0 fine, 1 a finding, 2 wrong use.
    """
    from slurmhooks.cli.forked import in_child

    if paths:
        given = [name for name in ("sysconfdir", "plugin_dir") if context.get_parameter_source(name) is not DEFAULT]
        if given:
            raise click.UsageError(f"--hooks checks only the named files: leave --{given[0].replace('_', '-')} out")
        result = in_child(report.of_files, paths)
    else:
        result = in_child(report.of_site, sysconfdir, plugin_dir, staged)
    if strict:
        result.findings += result.bugs
        result.notes = [note for note in result.notes if note not in result.bugs]
    output.result(result, show)
    if result.findings:
        raise Findings(result.findings)


def show(result: report.Report) -> None:
    """Print handlers, options, notes and states."""
    cells: list[list[Any]] = [
        [
            *(row.hook, str(row.order), row.handler, ", ".join(row.takes), row.on_bug),
            *(", ".join(row.contexts), row.mode, row.where),
        ]
        for row in result.handlers
    ]
    if cells:
        output.lines_of_table(("hook", "order", "handler", "takes", "on a bug", "contexts", "mode", "where"), cells)
    elif not result.findings:
        click.echo("no handlers")
    for option in result.options:
        click.echo(visible(f"option {option}"))
    for text in result.notes:
        click.echo(shown(f"note: {text}"))
    if result.manifest is not None:
        click.echo(shown(result.manifest))
    for line in controllers.lines(result.running):
        click.echo(visible(line))
