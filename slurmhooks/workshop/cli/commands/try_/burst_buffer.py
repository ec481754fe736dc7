# SPDX-License-Identifier: GPL-2.0-or-later
"""`try burst_buffer`: run the handlers of a stage of a burst buffer here."""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks.config.keys import size
from slurmhooks.hooks.points import POINTS
from slurmhooks.testing import FakeBurstBuffer, run
from slurmhooks.workshop.cli.commands.try_ import site_handlers

STAGES = tuple(spec.short_name for spec in POINTS["burst_buffer"].hooks)


@dataclass(kw_only=True)
class BurstBufferReport:
    """What a stage would do.

    Attributes:
        handlers: the handlers, in order.
        passed: all handlers passed.
        text: the refusal, or the line about a bug; null if all passed.
        answer: what Slurm would get; null: nothing.
        log: what handlers log.
    """

    handlers: list[str]
    passed: bool
    text: str | None
    answer: str | None
    log: list[str]


@click.command("burst_buffer")
@click.argument("stage", type=click.Choice(STAGES))
@click.option("--job", "job_id", type=int, default=1, help="Id of the job.")
@click.option("--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The job's script.")
@click.option("--pool", help="For setup: the pool that the user asks for.")
@click.option("--size", "wanted", default="0", help='For setup: the bytes that the user asks for, or "512MiB".')
@site_handlers.common(BurstBufferReport)
def command(
    stage: str,
    job_id: int,
    script: Path | None,
    pool: str | None,
    wanted: str,
    sysconfdir: Path,
    files: tuple[Path, ...],
) -> None:
    """Run the handlers of a STAGE of a burst buffer, such as setup or data_in.

    The handlers really run, with your permissions, for a job of yours.
    """
    registry = site_handlers.load(sysconfdir, files)
    try:
        buffer = FakeBurstBuffer(
            *(() if script is None else (script.read_text(errors="surrogateescape"),)),
            job_id=job_id,
            user_id=os.getuid(),
            group_id=os.getgid(),
            pool=pool,
            size=int(wanted) if wanted.isdecimal() else size(wanted) or 0,
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--size") from error
    hook = f"burst_buffer.{stage}"
    result = run(registry, hook, buffer=buffer)
    labels = [handler.label for handler in registry.handlers(hook)]
    answer = result.changes.get("answer")
    report = BurstBufferReport(handlers=labels, passed=result.accepted, text=result.text, answer=answer, log=result.log)
    site_handlers.finish(report, stage, [] if answer is None else [f"answer: {answer.rstrip()}"], result.log)
