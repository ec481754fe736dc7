# SPDX-License-Identifier: GPL-2.0-or-later
"""What `slurmhooks adopt` finds out about a Lua script: what it uses, what is dangerous, and whether it decides alike."""
