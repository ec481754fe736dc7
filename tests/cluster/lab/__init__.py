# SPDX-License-Identifier: GPL-2.0-or-later
"""Bring up private real Slurm clusters of several releases on one machine."""
