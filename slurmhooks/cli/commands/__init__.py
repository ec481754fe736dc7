# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands, one module each; see :mod:`slurmhooks.cli`."""
