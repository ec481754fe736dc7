# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm's power programs run: ``python -m slurmhooks.power.handover HOOK NODES [FEATURES]``.

The name stays: while slurmhooks is replaced, the programs of one release run the modules of another.
"""

import sys

from slurmhooks.handover.program import main

if __name__ == "__main__":
    sys.exit(main([f"power.{word}" if place == 0 else word for place, word in enumerate(sys.argv[1:])]))
