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
@click.option("--only-manifest", is_flag=True, help="Leave spank_python.so as it is. slurmd calls this when it starts.")
def command(sysconfdir: Path, plugin_dir: Path | None, only_manifest: bool) -> None:
    """Write the hook manifest, so that Python starts only where a handler needs it.

    Run this command on every machine without slurmd when hook files, plugstack.conf or slurmhooks itself have changed;
    slurmd writes the manifest when it starts or is reconfigured. Without a current manifest everything works, but
    slower. The command loads everything as the daemons would, writes slurmhooks.manifest beside slurm.conf, and links
    spank_python.so to the variant with only the callbacks that the handlers need, because each further callback costs
    Slurm time.
    """
    for text in in_child(compiling.of_site, sysconfdir, plugin_dir, only_manifest):
        note(text)
