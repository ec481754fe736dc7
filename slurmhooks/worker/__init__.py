# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run handlers for slurmctld, which itself runs no Python.

``supervisor`` is started by slurmctld's plugin (native/client/spawn.c) and runs no code of a site. It forks a
``generation`` for each set of hook files, which loads them once and forks ``worker`` processes from that state. Each
worker has a socket (``channel``) whose other end is in slurmctld. All run as SlurmUser and end with slurmctld.
"""
