# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of the requests of slurmctld: a file that slurmhooks.workshop.replay runs other hooks over, without Slurm.

slurmhooks.collector.recording_orders starts a recording, and writes the orders to the shared ``page``. While they are
there, slurmhooks.slurmctld.capture keeps what a worker gets and asks, and makes a ``request`` of it;
slurmhooks.collector.recording_sink passes that to the ``recorder``, which writes the ``file``.
slurmhooks.workshop.accounting.recording writes the same file from what accounting knows.
"""
