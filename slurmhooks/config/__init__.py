# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of slurmhooks.toml, for processes that live longer than a launch."""
