# SPDX-License-Identifier: GPL-2.0-or-later
"""Load all hooks as the daemons would, and list errors and handlers."""

import os
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
@click.option("--cases", is_flag=True, help="Also try the [[rules.cases]] of the site.")
@output.json_option(report.CheckReport)
@click.pass_context
def command(
    context: click.Context,
    sysconfdir: Path,
    plugin_dir: Path | None,
    paths: tuple[Path, ...],
    strict: bool,
    cases: bool,
) -> None:
    """Load the set in force as the daemons would, and list errors and handlers.

    Errors are: hooks that do not load, that Slurm never calls because of its configuration, that a user who needs them
    cannot read, and that a slurmctld on this machine has not loaded yet. All errors are shown at once. Exit codes:
    0 fine, 1 a finding, 2 wrong use.
    """
    from slurmhooks.cli.child import in_child

    if paths:
        given = [name for name in ("sysconfdir", "plugin_dir") if context.get_parameter_source(name) is not DEFAULT]
        if given:
            raise click.UsageError(f"--hooks checks only the named files: leave --{given[0].replace('_', '-')} out")
        result = in_child(report.of_files, paths)
    else:
        result = in_child(report.of_site, sysconfdir, plugin_dir)
        result.findings += changed_by_hand(sysconfdir)
        result.notes += exposed_sources(sysconfdir)
    if cases and not result.findings:
        from slurmhooks.cli.cases import try_now

        findings, notes = try_now(toml_of(paths, sysconfdir))
        result.findings += findings
        result.notes += notes
    if strict:
        result.findings += result.bugs
        result.notes = [note for note in result.notes if note not in result.bugs]
    output.result(result, show)
    if result.findings:
        raise Findings(result.findings)


def toml_of(paths: tuple[Path, ...], sysconfdir: Path) -> Path:
    """Return the slurmhooks.toml that is checked."""
    from slurmhooks.site import sources as site

    if not paths:
        parameters.use(sysconfdir)
        return site.config_path()
    return paths[0] / site.FILE_NAME if paths[0].is_dir() else paths[0]


def changed_by_hand(sysconfdir: Path) -> list[str]:
    """Return a finding if the set in force is no longer what was deployed, as far as this user can read it."""
    from slurmhooks.cli.bundles.store import Store

    store = Store(sysconfdir)
    try:
        if store.deployed is not None:
            store.verify(store.deployed)
    except Findings as error:
        return error.findings
    except OSError:  # users need not be able to read all files of a set
        pass
    return []


def exposed_sources(sysconfdir: Path) -> list[str]:
    """Return a note if another user than root, such as SlurmUser, can write to the files that root would deploy."""
    from slurmhooks.cli.bundles import contents

    if os.getuid():
        return []
    try:
        return contents.exposed(sysconfdir, contents.collect(sysconfdir, reads=False)[0])
    except (Findings, OSError):  # `deploy` says what is wrong with them, or there are none
        return []


def show(result: report.CheckReport) -> None:
    """Print handlers, options, notes and states."""
    cells: list[list[Any]] = [
        [
            *(row.hook, str(row.order), row.handler, ", ".join(row.takes), row.on_bug),
            *(", ".join(row.contexts), row.mode, row.where),
        ]
        for row in result.handlers
    ]
    if cells:
        output.table(("hook", "order", "handler", "takes", "on a bug", "contexts", "mode", "where"), cells)
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
