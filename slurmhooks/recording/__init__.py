# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of the requests of slurmctld: a file that slurmhooks.replay runs other hooks over, without Slurm."""
