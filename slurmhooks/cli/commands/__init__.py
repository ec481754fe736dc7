# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of the program; :mod:`slurmhooks.cli` describes what a module here must have."""
