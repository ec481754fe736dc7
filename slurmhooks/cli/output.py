# SPDX-License-Identifier: GPL-2.0-or-later
"""Print lists, tables and JSON documents."""

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from types import FunctionType
from typing import IO, Any, TypeVar

import click

from slurmhooks.cli.findings import shown
from slurmhooks.log import visible

Command = TypeVar("Command", bound=Callable[..., Any])
Content = TypeVar("Content")
WANTED, PRINTED, STREAM = "slurmhooks.json.wanted", "slurmhooks.json.printed", "slurmhooks.json.stream"
"""Keys in the dictionary that the contexts of a command line share."""


def show(title: str, lines: Sequence[str]) -> None:
    """Print lines under a title; nothing if there are no lines. A line feed in a line continues it, more indented."""
    if lines:
        click.echo(f"{visible(title)}:")
        for line in lines:
            click.echo(f"  {shown(line)}")


def note(text: str) -> None:
    """Print a note for people, to standard error."""
    click.echo(f"{click.style('note:', bold=True)} {shown(text)}", err=True)


def verdict(passed: bool, good: str, bad: str) -> str:
    """Return one of two words: green if something has passed, red if it has not."""
    return click.style(good if passed else bad, fg="green" if passed else "red", bold=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of cells in one piece, such as paths; of a script, the beginning. Empty columns are left out."""
    from rich.cells import cell_len

    shown = [[visible(cell, limit=1024) for cell in row] for row in rows]
    used = [number for number in range(len(columns)) if any(row[number] for row in shown)]
    table = [[row[number] for number in used] for row in (list(columns), *shown)]
    widths = [max(map(cell_len, cells)) for cells in zip(*table, strict=True)]
    for number, row in enumerate(table):
        line = "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        click.echo(click.style(line.rstrip(), bold=number == 0))


def csv_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table as CSV; a spreadsheet calculates nothing that a user has written."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = [visible(str(cell)) for cell in row]
        writer.writerow([f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in cells])
    click.echo(lines.getvalue(), nl=False)


def page(text: str) -> None:
    """Print Markdown: rendered on a terminal, otherwise as it is."""
    if sys.stdout is None or not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(highlight=False).print(Markdown(text))


class JsonOption(click.Option):
    """``--json``: print one JSON document to standard output, and nothing else."""

    def __init__(self, *args: Any, model: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._model = model

    @property
    def model(self) -> Any:
        """The type of the document, for pydantic."""
        return self._model() if isinstance(self._model, FunctionType) else self._model


def json_option(model: Any) -> Callable[[Command], Command]:
    """Add ``--json`` to a command, which prints what it has found with :func:`result`.

    Args:
        model: the type of the document: a model or dataclass, or a list, dictionary or union of these; or a function
            that returns it, for types of modules that the help of the command does not need.
    """

    def note(context: click.Context, option: click.Parameter, value: bool) -> None:
        context.meta[WANTED] = wants_json(context) or value

    settings: dict[str, Any] = {"cls": JsonOption, "model": model, "callback": note, "expose_value": False}
    return click.option("--json", is_flag=True, help="Print a JSON document.", **settings)


def wants_json(context: click.Context | None = None) -> bool:
    """Tell whether the command line has ``--json``."""
    return bool((context or click.get_current_context()).meta.get(WANTED))


def result(value: Content, show: Callable[[Content], None]) -> None:
    """Print what a command has found: as a document if ``--json`` is given, otherwise for people, with ``show``."""
    if wants_json():
        document(value)
    else:
        show(value)


def document(value: Any) -> None:
    """Print the document of ``--json``."""
    meta = click.get_current_context().meta
    meta[PRINTED] = True
    click.echo(as_json(value, 2), file=meta.get(STREAM))


@contextmanager
def apart() -> Iterator[None]:
    """If a document is wanted, let what code of the site prints meanwhile go to standard error, also from programs."""
    stream = sys.stdout
    if not wants_json() or stream is None:
        yield
        return
    stream.flush()
    context = click.get_current_context()
    with ExitStack() as stack:
        written: IO[str] = stream
        if sys.__stdout__ is not None and stream is sys.__stdout__:  # not what a test has put in its place
            written = stack.enter_context(os.fdopen(os.dup(1), "w", encoding=stream.encoding, errors=stream.errors))
            stack.callback(os.dup2, written.fileno(), 1)
            with suppress(OSError):  # standard error is closed
                os.dup2(2, 1)
        stack.callback(setattr, sys, "stdout", stream)
        sys.stdout = sys.stderr
        context.meta[STREAM] = written
        stack.callback(context.meta.pop, STREAM)
        yield


def as_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON."""
    import json

    return json.dumps(plain(value), indent=indent)


def failure(context: click.Context, findings: Iterable[str]) -> None:
    """Print the document of a command that fails before it has a result; its only key is ``findings``."""
    if wants_json(context) and not context.meta.get(PRINTED):
        import json

        click.echo(json.dumps({"findings": list(findings)}, indent=2))


def plain(value: Any) -> Any:
    """Return a value as JSON can represent it: models and dataclasses as objects, flags as numbers, others as text."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    from dataclasses import fields, is_dataclass

    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "model_dump"):
        # Not model_dump_json(), for which texts that are not UTF-8, such as names of files, are errors.
        return value.model_dump(mode="json")
    return str(value)
