# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the hook manifest, so that Python starts only where a handler needs it."""

from pathlib import Path

import click

from slurmhooks.cli import compiling, parameters
from slurmhooks.cli.forked import in_child
from slurmhooks.cli.progress import note


@click.command("compile")
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
def command(sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Write the hook manifest, so that Python starts only where a handler needs it.

    Run this command on every machine without slurmd when hook files, plugstack.conf or slurmhooks itself have changed;
    slurmd writes the manifest when it starts or is reconfigured. Without a current manifest everything works, but
    slower. The command loads everything as the daemons would, and writes slurmhooks.manifest beside slurm.conf.
    """
    for text in in_child(compiling.of_site, sysconfdir, plugin_dir):
        note(text)
