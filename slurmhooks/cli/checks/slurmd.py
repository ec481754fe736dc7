# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out whether the slurmd that runs on this machine calls the handlers of prologs and epilogs."""

import os
from contextlib import suppress
from pathlib import Path

from slurmhooks.hooks.points import JOB_CALLBACKS
from slurmhooks.site import variants
from slurmhooks.site.manifest_writer import ManifestLine

PROC = Path("/proc")
LEAN = f"spank_python-{variants.LEAN}.so"


def never_called(lines: list[ManifestLine]) -> list[str]:
    """Return a finding for each handler of a prolog or epilog that a running slurmd does not call yet.

    It looks only at its start, or when it is reconfigured, whether plugins export these callbacks.
    """
    handlers = [
        handler for line in lines for name in JOB_CALLBACKS for handler in line.registry.handlers(f"spank.{name}")
    ]
    if not handlers:
        return []
    return [
        f"{handler.where}: slurmd (process {pid}) does not call handler {handler.label} yet, because {why}: restart"
        " slurmd; from Slurm 23.11 on 'scontrol reconfigure' will do; then run this command again"
        for pid, why in _blind()
        for handler in handlers
    ]


def _blind() -> list[tuple[int, str]]:
    """Return each slurmd on this machine that does not know our callbacks, and why."""
    found = []
    for process in PROC.iterdir():
        if not process.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended, or is not ours
            if (process / "comm").read_text() != "slurmd\n":
                continue
            if not os.path.samefile(process / "root", "/"):  # it is in a container
                continue
            maps = (process / "maps").read_text(errors="replace")
            if LEAN in maps:
                found.append((int(process.name), "it has started with the lean plugin"))
            elif "/spank_python" not in maps:
                found.append((int(process.name), "it has started without a line for spank_python.so in plugstack.conf"))
    return found
