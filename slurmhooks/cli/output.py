# SPDX-License-Identifier: GPL-2.0-or-later
"""Print titled lines and tables, and make values fit for JSON."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from slurmhooks.cli.findings import shown
from slurmhooks.log import visible

WIDTH = 200


def show(title: str, lines: Sequence[str]) -> None:
    """Print lines under a title, nothing if there are none."""
    if lines:
        click.echo(f"{title}:")
        for line in lines:
            for part in shown(line).split("\n"):
                click.echo(f"  {part}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH).print(made)


def plain(value: Any) -> Any:
    """Return what JSON can hold of a field's value."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)
