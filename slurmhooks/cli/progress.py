# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress messages on standard error: a spinner on a terminal; elsewhere lines, of `build` and of what takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slurmhooks.cli.findings import Finding, shown

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 2.0
"""Seconds after which a user is told what is going on."""
TAIL = 30
"""Lines of output that are shown when a program fails."""


@cache
def console() -> Console:
    """Return standard error as a console; rich is imported only here, because most commands do not need it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def step(title: str, hint: str = "") -> Iterator[None]:
    """Show that a step is running, and its duration at the end."""
    start = time.monotonic()
    running = f"{title} ({hint}) ..." if hint else f"{title} ..."
    if console().is_terminal:
        from rich.text import Text

        with console().status(Text(running)):
            yield
    else:
        console().print(running, markup=False)
        yield
    console().print(f"{title}: {time.monotonic() - start:.1f} s", markup=False)


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how much of a long step is done; yield a function to call with the done part and the whole."""
    from rich.progress import Progress

    with Progress(console=console(), transient=True, disable=not console().is_terminal) as shown_bar:
        task = shown_bar.add_task(title)

        def advance(done: int, total: int) -> None:
            shown_bar.update(task, completed=done, total=total)

        yield advance


@contextmanager
def waiting(title: str) -> Iterator[None]:
    """Show on a terminal what is going on if the block takes longer than PATIENCE; otherwise print nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    spinner = console().status(Text(f"{title} ..."))
    timer = threading.Timer(PATIENCE, spinner.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spinner.stop()


def note(text: str) -> None:
    """Print one line to standard error."""
    click.echo(shown(text), err=True)


def run_logged(
    command: Sequence[str],
    log: Path,
    *,
    failure: str,
    verbose: bool = False,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a program and append its output to a log file.

    ``failure`` begins the finding if the program fails; ``verbose`` also copies the output to standard error.

    Raises:
        Finding: the program failed; the last lines of its output have been printed.
    """
    import subprocess

    output: list[str] = []
    with log.open("a", encoding="utf-8", errors="replace") as file:
        print("$", *command, file=file, flush=True)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                cwd=cwd,
                env=env,
            )
        except OSError as error:
            raise Finding(f"{failure}: {command[0]}: {error.strerror}") from error
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                output.append(line)
                if verbose:
                    console().out(line, end="", highlight=False)
    if process.returncode:
        if not verbose:
            console().out("".join(output[-TAIL:]), end="", highlight=False)
        raise Finding(f"{failure} (exit code {process.returncode}); its whole output is in {log}")
