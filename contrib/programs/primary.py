#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SlurmctldPrimaryOnProg and SlurmctldPrimaryOffProg: act once when another machine becomes primary.

slurm.conf gives no arguments: put links to this file there, named primary_on and primary_off.
"""

import os
import subprocess
import sys
from pathlib import Path

STATE = Path("/var/spool/slurmctld/primary.host")
"""Beside what StateSaveLocation has, so that all controllers see it."""
ACTION = ["/usr/bin/sudo", "-n", "/usr/local/sbin/move-address"]
"""What moves the address to this machine."""


def main() -> int:
    """Act, unless this machine was the last one that has acted."""
    # Slurm closes the standard streams: without this, the next file that is opened would be one of them.
    while os.open(os.devnull, os.O_RDWR) <= 2:
        pass
    here = os.uname().nodename
    if Path(sys.argv[0]).name == "primary_off":
        return 0  # every stop of slurmctld runs it, so the address stays until another machine takes it
    if STATE.exists() and STATE.read_text() == here:
        return 0  # every start and reconfiguration runs primary_on
    subprocess.run(ACTION, check=True, timeout=30)
    STATE.write_text(here)
    return 0


if __name__ == "__main__":
    sys.exit(main())
