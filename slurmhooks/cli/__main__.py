# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``slurmhooks`` as ``python -m slurmhooks.cli``, which slurmd starts."""

from slurmhooks.cli import main

main(prog_name="slurmhooks")
