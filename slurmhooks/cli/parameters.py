# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands have."""

import os
from pathlib import Path

import click


def absolute(context: click.Context, option: click.Parameter, value: Path) -> Path:
    """Return an absolute path, because processes with other working directories read the results."""
    return Path(os.path.abspath(value))


sysconfdir_option = click.option(
    "--sysconfdir",
    type=click.Path(path_type=Path),
    default="/etc/slurm",
    show_default=True,
    callback=absolute,
    help="Where slurm.conf and slurmhooks.toml are.",
)
