# SPDX-License-Identifier: GPL-2.0-or-later
"""Load all hooks as the daemons would; show what is wrong, and what runs where."""

import sys
from pathlib import Path

import click

from slurmhooks import manifest
from slurmhooks.cli import _load, _native, _site, install
from slurmhooks.cli._findings import Findings
from slurmhooks.cli.compile import PLUGIN, text_of
from slurmhooks.registry import Handler

WIDTH = 200


@click.command("check")
@click.option("--sysconfdir", type=click.Path(path_type=Path), default="/etc/slurm", show_default=True)
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
def command(sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Load all hooks as the daemons would; show what is wrong, and what runs where.

    Every error of every file is shown at once. Exit code 1 if there is one.
    """
    loaded = _load.Loaded()
    loaded.load(sysconfdir)
    findings = [*loaded.findings, *loaded.disabled]
    folder = plugin_dir or _site.installed_in(sysconfdir)
    record = _native.BuildRecord.load(folder) if folder else None
    if record is None:
        findings.append("no plugins found in slurm.conf's PluginDir: run 'slurmhooks build' and 'slurmhooks install'")
    else:
        findings += install.misfits(record)
        findings += _load.needs_sources(loaded.registry, record)
    if record is not None and folder is not None:
        loaded.notes += _load.ignored_modes(loaded.lines, record) + _load.too_long(loaded.lines)
        findings += _load.never_called(loaded.lines, folder / PLUGIN)
    show(loaded)
    for text in loaded.notes:
        click.echo(f"note: {text}")
    if record is not None and not loaded.findings:
        click.echo(manifest_state(loaded, sysconfdir, record))
    if findings:
        raise Findings(dict.fromkeys(findings))


def manifest_state(loaded: _load.Loaded, sysconfdir: Path, record: _native.BuildRecord) -> str:
    """Return one line on the manifest: whether it is what compile would write now."""
    path = sysconfdir / manifest.FILE_NAME
    now = text_of(loaded, record)
    try:
        there = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return f"{path}: none, so Python starts in every process; run 'slurmhooks compile'"
    if manifest.without_times(there) != manifest.without_times(now):
        return f"{path}: stale, so Python starts in every process; run 'slurmhooks compile'"
    return f"{path}: up to date"


def show(loaded: _load.Loaded) -> None:
    """Print what runs where, in order."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("hook", "order", "handler", "takes", "on a bug", "contexts", "where"):
        table.add_column(title, no_wrap=title in ("hook", "order"), overflow="fold")
    for handler in rows(loaded):
        spec = handler.spec
        table.add_row(
            f"hook.{spec.name}",
            str(handler.order),
            handler.label,
            ", ".join(handler.names),
            spec.on_error[1] if handler.lenient else spec.on_error[0],
            ", ".join(handler.contexts),
            handler.where,
        )
    if table.row_count:
        console.print(table)
    elif not loaded.findings:
        console.print("no handlers")
    options = {option.name: option for registry in loaded.all_registries() for option in registry.options}
    for option in options.values():
        argument = "" if option.arginfo is None else f"={option.arginfo}"
        console.print(f"option --{option.name}{argument}: {option.usage}", markup=False)


def rows(loaded: _load.Loaded) -> list[Handler]:
    """Return the handlers that would run: SPANK's by plugstack.conf, the others by the configuration."""
    found = [handler for handler in loaded.registry.all_handlers() if not handler.spec.name.startswith("spank.")]
    for line in loaded.lines:
        found += [handler for handler in line.registry.all_handlers() if handler.spec.name.startswith("spank.")]
    return found
