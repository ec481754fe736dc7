# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings: the errors that commands report."""

from collections.abc import Iterable
from typing import IO, Any

import click

from slurmhooks.log import quoted, visible

PLAIN = "_.@%+/:=-"
"""Characters, besides letters and digits, of values that are shown without quotes."""


def shown(text: str, indent: str = "    ") -> str:
    """Return a text with terminal control characters escaped; line feeds and tabs stay.

    File names and messages of handlers may contain anything. Values are printed on one line, with
    :func:`slurmhooks.log.visible`.

    Args:
        text: any text.
        indent: written before each line except the first, so that none looks like a line of the command.
    """
    return visible(text, "\n\t").replace("\n", f"\n{indent}")


def word(value: str) -> str:
    """Return a value that users choose, such as the name of a job, on one line; quoted if it might look like more."""
    plain = value != "" and all(each.isalnum() or each in PLAIN for each in value)
    return value if plain else visible(quoted(value))


class Findings(click.ClickException):
    """One or more findings, one line each: what is wrong, and what to do about it."""

    exit_code = 1

    def __init__(self, findings: Iterable[str]) -> None:
        """Collect all findings, so that the user sees them in one run."""
        self.findings = list(findings)
        super().__init__("\n".join(self.findings))

    def show(self, file: IO[Any] | None = None) -> None:
        """Write each finding to standard error, on a line of its own."""
        for finding in self.findings:
            click.echo(f"{click.style('error:', fg='red', bold=True)} {shown(finding)}", file=file, err=file is None)


class Finding(Findings):
    """A single finding."""

    def __init__(self, finding: str) -> None:
        super().__init__([finding])


class BadInput(Findings):
    """The files that a command reads cannot be used."""

    exit_code = 2
