# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin point node: health checks of a compute node, in the process of slurmhooks_health."""
