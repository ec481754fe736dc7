# SPDX-License-Identifier: GPL-2.0-or-later
"""What a verb has to say when things are not as they should be."""

from collections.abc import Iterable
from typing import IO, Any

import click

from slurmhooks.log import visible


def shown(text: str) -> str:
    """Return a text for the terminal: names of files, and what handlers say, may hold anything."""
    return visible(text, "\n\t")


class Findings(click.ClickException):
    """One or more findings, each one line that says what is wrong and what to do about it."""

    exit_code = 1

    def __init__(self, findings: Iterable[str]) -> None:
        """Keep all findings, so that the user meets them at once and not one a run."""
        self.findings = list(findings)
        super().__init__("\n".join(self.findings))

    def show(self, file: IO[Any] | None = None) -> None:
        """Write each finding to stderr, on a line of its own."""
        for finding in self.findings:
            click.echo(f"{click.style('error:', fg='red', bold=True)} {shown(finding)}", file=file, err=file is None)


class Finding(Findings):
    """A single finding."""

    def __init__(self, finding: str) -> None:
        """Keep the one line."""
        super().__init__([finding])
