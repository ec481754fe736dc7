# SPDX-License-Identifier: GPL-2.0-or-later
"""Print lists and tables; convert values for JSON."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from slurmhooks.cli.findings import shown
from slurmhooks.log import visible

WIDTH = 200
"""Columns of a table that does not go to a terminal."""


def show(title: str, lines: Sequence[str]) -> None:
    """Print lines under a title; nothing if there are no lines."""
    if lines:
        click.echo(f"{title}:")
        for line in lines:
            for part in shown(line).split("\n"):
                click.echo(f"  {part}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; cells may contain anything."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH).print(grid)


def plain(value: Any) -> Any:
    """Return a field's value as JSON can represent it: flags as numbers, other objects as text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)
