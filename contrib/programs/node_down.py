#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Program of a trigger of strigger: writes down which nodes went down, for those who repair them."""

import sys
import time
from pathlib import Path

FILE = Path("/var/lib/slurm/nodes-down")


def main(nodes: list[str]) -> None:
    """Write the list of nodes that slurmctld gives, with the time."""
    with FILE.open("a") as file:
        file.write(f"{time.strftime('%FT%T')} {' '.join(nodes)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
