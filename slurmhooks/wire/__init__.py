# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages between slurmctld and the workers: which members Slurm's structs have, and how they are packed."""
