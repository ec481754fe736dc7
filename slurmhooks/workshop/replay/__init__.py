# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs hooks over recorded requests, without Slurm, and compares what they decide."""
