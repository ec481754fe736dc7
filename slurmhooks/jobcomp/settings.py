# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints ``[jobcomp]`` for C; native/jobcomp/settings.c runs this when slurmctld starts, and in ``sacct -c``."""

from __future__ import annotations

import os
import sys

from slurmhooks.collector.folders import spool_folder
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home
from slurmhooks.site import sources as site
from slurmhooks.wire.protocol import Fsync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.config.controller import JobComp


def lines(section: JobComp, state_save_location: str) -> list[str]:
    """Return the settings as lines for C."""
    return [
        f"next={section.next or ''}",
        f"spool={spool_folder(section.spool, state_save_location)}",
        f"limit={section.spool_size}",
        f"fsync={int(Fsync[section.fsync.upper()])}",
        "end",
    ]


def main(arguments: list[str]) -> int:
    """Print the settings, or the errors in the configuration; the argument is slurmctld's StateSaveLocation."""
    try:
        # slurmctld starts all the same before its sources are deployed, and keeps records where it will look for them.
        read = site.read_config() if home.never_deployed() is None else site.shown_config()
        section = read.jobcomp
    except (ConfigError, LoadError) as error:
        output, code = error.findings, 1
    else:
        output, code = lines(section, arguments[0]), 0
    print("\n".join(output), flush=True)  # noqa: T201 - C reads it
    return code


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # slurmctld waits for the end, and Python would first take every module apart
