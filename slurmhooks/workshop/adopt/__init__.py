# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out what a Lua script uses, what is dangerous in it, and whether it decides the same under slurmhooks."""
