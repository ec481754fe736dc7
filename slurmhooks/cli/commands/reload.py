# SPDX-License-Identifier: GPL-2.0-or-later
"""Make slurmctld's worker processes load changed hook files now, and wait until they have."""

import time
from pathlib import Path

import click

from slurmhooks.cli import controllers, parameters
from slurmhooks.cli.findings import Finding, Findings

STARTING = 3.0
"""Seconds in which a slurmctld that has just started may start its supervisor."""


@click.command("reload")
@parameters.sysconfdir_option
def command(sysconfdir: Path) -> None:
    """Make slurmctld's worker processes load changed hook files now, and wait until they have.

    Run this command as root or SlurmUser on the machine of slurmctld. When it has succeeded, every later request is
    handled by the files as they were when the command was called. If they do not load, the hooks that were loaded
    before stay in force.
    """
    until = time.monotonic() + STARTING
    while (answers := controllers.reload(sysconfdir)) is None and time.monotonic() < until:
        time.sleep(0.1)
    if answers is None:
        raise Finding(
            f"no slurmctld on this machine has loaded a plugin of slurmhooks with the configuration in {sysconfdir}"
        )
    if answers:
        raise Findings([*answers, "the hooks that were loaded before, if any, stay in force"])
