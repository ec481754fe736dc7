# SPDX-License-Identifier: GPL-2.0-or-later
"""Job start and end, the plugin jobcomp/python: slurmctld writes records into a spool, workers deliver them."""
