# SPDX-License-Identifier: GPL-2.0-or-later
"""Lua scripts as handlers: those for Slurm's own Lua plugins, and those for spank-lua."""
