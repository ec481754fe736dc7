# SPDX-License-Identifier: GPL-2.0-or-later
"""Tools to write, test and judge hooks: nothing here runs on a cluster's behalf, and a node can do without it."""
