# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the cost of hooks on real clusters: one module for each group of rows. See `tests/cluster/bench --help`."""
