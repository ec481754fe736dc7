# SPDX-License-Identifier: GPL-2.0-or-later
"""Prolog and epilog of slurmctld: PrEpPlugins=prep/script,prep/python."""
