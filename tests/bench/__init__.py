# SPDX-License-Identifier: GPL-2.0-or-later
"""What the hooks cost, measured on real clusters: one module a group of rows. See `tests/cluster/bench --help`."""
