# SPDX-License-Identifier: GPL-2.0-or-later
"""Run handlers without Slurm, and show what they do."""

import click

from slurmhooks.cli.commands.try_ import cli_filter, every, health, job_submit, power, record, scrun, spank
from slurmhooks.cli.groups import Group


@click.group("try", cls=Group)
def command() -> None:
    """Run handlers without Slurm, and show what they do.

    This command submits nothing, and only "every" asks a daemon. Exit codes: 0 accepted, 1 a handler refused or failed,
    2 wrong use.
    """


for module in (job_submit, cli_filter, scrun, spank, health, power, every):
    command.add_command(module.command)
for of_record in record.COMMANDS:
    command.add_command(of_record)
