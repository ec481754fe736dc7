#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""RebootProgram on a node: put the features in place that the node boots with, and reboot.

slurmd gives the features as an argument if `scontrol reboot` or a job asks for some. In 26.05 there is no PATH.
"""

import subprocess
import sys
from pathlib import Path

REBOOT = ["/sbin/shutdown", "-r", "now"]
FEATURES = Path("/etc/next-boot-features")
"""Read by what sets them up at boot."""


def main(features: str) -> int:
    """Keep the features, then reboot: the file is on the disk before the machine ends."""
    if features:
        FEATURES.write_text(f"{features}\n")
        subprocess.run(["/bin/sync", str(FEATURES.parent)], check=True, timeout=60)
    return subprocess.run(REBOOT, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
