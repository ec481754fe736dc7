# SPDX-License-Identifier: GPL-2.0-or-later
"""A Prolog that carries a set: from Slurm 23.11 on, slurmctld sends it to the slurmd of each configless node."""

import base64
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from shlex import quote

from slurmhooks.cli.bundles import archive, contents, signature
from slurmhooks.files import home, slurm_conf
from slurmhooks.site import sources as site

CARRIED = re.compile(rb"deploys (?:bundle|set) ([0-9a-f]+) on a node")
LONGEST_HEAD = 1024
"""Bytes of a script in which its first lines are."""
HEAD = """\
#!/bin/sh
# Made by 'slurmhooks deploy': deploys set {bundle} on a node before the next job starts there.
# If that fails, Slurm drains the node and requeues the job.
set -eu
conf=$(dirname "${{SLURM_CONF:-/run/slurm/conf/slurm.conf}}")
home=$conf
# If this names a folder that 'slurmhooks deploy' does not accept, that fails.
[ ! -e "$conf/{home}" ] || home=$(cat "$conf/{home}")
if [ "$(readlink "$home/{pointer}")" = {sets}/{bundle} ] && [ -f "$home/{pointer}/{toml}" ] &&
    [ ! -e "$home/{unfinished}" ]; then
    exit 0
fi
umask 022
# Scripts that were killed have left these.
find "$home/" -maxdepth 1 -name '.slurmhooks-deploy.*' -mmin +60 -exec rm -rf {{}} +
new=$(mktemp -d "$home/.slurmhooks-deploy.XXXXXX")
trap 'rm -rf "$new"' EXIT
"""


def render(bundle: str, data: bytes, signed: Path | None) -> bytes:
    """Return the script."""
    archive_name = f"{bundle}{archive.SUFFIX}"
    text = HEAD.format(
        bundle=bundle,
        pointer=home.SET,
        sets=home.SETS,
        toml=site.FILE_NAME,
        unfinished=contents.UNFINISHED,
        home=home.FILE_NAME,
    )
    text += _file(archive_name, data)
    if signed is not None:
        text += _file(archive_name + signature.SUFFIX, signed.read_bytes())
    # The PATH of slurmd may lack it.
    text += f"program=$(command -v slurmhooks) || program={quote(os.path.abspath(sys.argv[0]))}\n"
    text += f'"$program" deploy --sysconfdir "$conf" "$new/{archive_name}"\n'
    return text.encode()


def others(sysconfdir: Path, present: str | None) -> list[str]:
    """Return a text for each Prolog of slurm.conf that carries another set than the one in force."""
    texts = []
    for line in slurm_conf.lines(slurm_conf.file_in(str(sysconfdir))):
        name = slurm_conf.value_in(line, "Prolog")
        path = sysconfdir / name if name else None
        carried = None
        if path is not None:
            with suppress(OSError), path.open("rb") as file:
                carried = CARRIED.search(file.read(LONGEST_HEAD))
        if carried is not None and carried[1].decode() != present:
            texts.append(
                f"{path} carries {carried[1].decode()}, which comes back with the next job on this machine and on the"
                " nodes: deploy what is to stay with --prolog, then run 'scontrol reconfigure'"
            )
    return texts


def _file(name: str, content: bytes) -> str:
    return f"base64 -d >\"$new/{name}\" <<'END'\n{base64.encodebytes(content).decode()}END\n"
