# SPDX-License-Identifier: GPL-2.0-or-later
"""What a request can become: the least and the most that Slurm can give to a job, before it decides.

A request leaves much to Slurm: the number of nodes, which tasks share a node, defaults of partitions. ``job.bounds``
and the ready-made rules ask this model instead of reading fields.
"""

from __future__ import annotations

from slurmhooks.job_submit.bounds.model import Bounds, Range

__all__ = ["Bounds", "Range"]
