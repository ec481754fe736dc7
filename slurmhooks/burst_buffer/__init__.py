# SPDX-License-Identifier: GPL-2.0-or-later
"""The hooks of burst_buffer.lua: the functions that Slurm calls in processes of their own, as SlurmUser."""
