# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for Slurm; slurmhooks.testing is what sites import of it."""
