# SPDX-License-Identifier: GPL-2.0-or-later
"""List what a Lua script uses and its Python equivalents, and print a skeleton of the hook file."""

import os
from pathlib import Path

import click

from slurmhooks.cli.findings import Finding, shown
from slurmhooks.lua import spelling
from slurmhooks.lua.source import Script


@click.command("port")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--skeleton", is_flag=True, help="Print only the skeleton of the hook file.")
def command(file: Path, skeleton: bool) -> None:
    """List what a Lua script uses and its Python equivalents, and print a skeleton of the hook file.

    FILE is a job_submit.lua, a scrun.lua, or a script for spank-lua. This command does not run the script and does not
    translate it: the skeleton has its functions, each with a list of what it uses; you write their bodies.
    """
    try:
        script = Script(_read(file).decode("utf-8", "surrogateescape"))
    except OSError as error:
        raise Finding(f"{file}: {error.strerror}") from error
    if not script.entries and not spelling.options(script):
        raise Finding(f"{file}: defines no function that Slurm calls in job_submit.lua, scrun.lua or spank-lua")
    if not skeleton:
        for title, rows in spelling.tables(script):
            _show(title, rows)
    click.echo(shown(spelling.skeleton(script, file.name), ""), nl=False)


def _read(file: Path) -> bytes:
    """Return the content of a file or pipe, without waiting until somebody writes to a FIFO."""
    with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
        os.set_blocking(stream.fileno(), True)  # what a shell connects has a writer, which may be slow
        return stream.read()


def _show(title: str, rows: list[tuple[str, str, str]]) -> None:
    """Print a table of what the script uses, in which lines, and the Python equivalents."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    click.echo(title)
    for used, lines, python in rows:
        click.echo(shown(f"  {used:{widths[0]}}  {lines:{widths[1]}}  {python}".rstrip()))
    click.echo()
