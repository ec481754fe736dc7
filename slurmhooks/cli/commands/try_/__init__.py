# SPDX-License-Identifier: GPL-2.0-or-later
"""Run handlers without Slurm, and show what they do."""

import click

from slurmhooks.cli.commands.try_ import cli_filter, every, health, job_submit, power, record, scrun, spank


@click.group("try")
def command() -> None:
    """Run handlers without Slurm, and show what they do.

    This command submits nothing, and only "every" asks a daemon. Exit codes: 0 accepted, 1 a handler refused or failed,
    2 wrong use.
    """


command.add_command(job_submit.command)
command.add_command(cli_filter.command)
command.add_command(scrun.command)
command.add_command(spank.command)
command.add_command(health.command)
command.add_command(power.command)
command.add_command(every.command)
for made in record.COMMANDS:
    command.add_command(made)
