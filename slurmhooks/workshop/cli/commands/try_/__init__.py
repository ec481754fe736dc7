# SPDX-License-Identifier: GPL-2.0-or-later
"""Run handlers without Slurm, and show what they do."""

import click

from slurmhooks.cli.groups import Group
from slurmhooks.workshop.cli.commands.try_ import (
    burst_buffer,
    cli_filter,
    every,
    health,
    job_submit,
    mail,
    power,
    record,
    scrun,
    spank,
)


@click.group("try", cls=Group)
def command() -> None:
    """Run handlers without Slurm, and show what they do.

    This command submits nothing, and only "every" asks a daemon. Exit codes: 0 accepted, 1 a handler refused or failed,
    2 wrong use.
    """


for module in (job_submit, cli_filter, scrun, spank, health, power, mail, burst_buffer, every, record):
    command.add_command(module.command)
