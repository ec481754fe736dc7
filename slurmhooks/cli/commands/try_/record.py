# SPDX-License-Identifier: GPL-2.0-or-later
"""`try priority`, `try job_end` and the like: run the record of a job through handlers without Slurm."""

import sys
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.cli.commands.try_ import job_submit, site_handlers
from slurmhooks.cli.commands.try_.site_handlers import FILE, common, load
from slurmhooks.cli.commands.try_.submission import numbered, read_file
from slurmhooks.hooks.points import HOOKS
from slurmhooks.testing import FakeRecord, run


def _command(hook: str, function: str) -> click.Command:
    """Return the command for a hook whose handlers see the record of a job."""
    text = (
        f"Run a job through the handlers of {hook}, as in {function}.\n\nRECORD is a JSON object of its fields by name."
    )

    @click.command(hook, help=text)
    @click.argument("record", type=FILE)
    @site_handlers.release_option
    @common(job_submit.Tried)
    def command(record: Path, release: str | None, sysconfdir: Path, files: tuple[Path, ...]) -> None:
        try:
            fields = numbered(FakeRecord, read_file(record))
            job = FakeRecord(release=release or site_handlers.release(sysconfdir), **fields)
        except (AttributeError, TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        before = job.site_factor
        registry = load(sysconfdir, files)
        notes = [] if registry.handlers(hook) else [f"no handler of hook.{hook}: no effect"]
        result = run(registry, hook, record=job)
        changes: dict[str, Any] = {name: (before, value) for name, value in result.changes.items()}
        if output.wants_json():
            output.document(job_submit.tried(result, changes, notes))
        else:
            job_submit.show(result, changes, notes)
        sys.exit(0 if result.accepted else 1)

    return command


COMMANDS = tuple(
    _command(hook, spec.function)
    for hook, spec in HOOKS.items()
    if "record" in spec.arguments and "job" not in spec.arguments
)
