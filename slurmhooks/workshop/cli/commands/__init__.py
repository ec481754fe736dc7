# SPDX-License-Identifier: GPL-2.0-or-later
"""One module for each command; see slurmhooks.cli."""
