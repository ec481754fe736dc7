# SPDX-License-Identifier: GPL-2.0-or-later
"""`try record`: run the record of a job through handlers without Slurm."""

import sys
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output
from slurmhooks.hooks.points import HOOKS
from slurmhooks.testing import FakeRecord, run
from slurmhooks.workshop.cli.commands.try_ import job_submit, site_handlers
from slurmhooks.workshop.cli.commands.try_.site_handlers import FILE, common, load
from slurmhooks.workshop.cli.commands.try_.submission import numbered, read_file

HOOKS_OF_RECORDS = tuple(
    hook for hook, spec in HOOKS.items() if "record" in spec.arguments and not {"job", "mail"} & set(spec.arguments)
)


@click.command("record")
@click.argument("hook", type=click.Choice(HOOKS_OF_RECORDS), metavar="HOOK")
@click.argument("record", type=FILE)
@site_handlers.release_option
@common(job_submit.Tried)
def command(hook: str, record: Path, release: str | None, sysconfdir: Path, files: tuple[Path, ...]) -> None:
    """Run a job that slurmctld knows through the handlers of HOOK.

    HOOK is priority, controller_prolog, controller_epilog, job_start or job_end. RECORD is a JSON object of the job's
    fields by name.
    """
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
