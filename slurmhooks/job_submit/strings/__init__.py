# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's notations as values that one can calculate with, and back.

Pure Python, usable anywhere. Each reads what Slurm reads and raises :class:`NotationError` where Slurm refuses; where
Slurm takes something by accident ("n[1-]", "-5" minutes) it raises, too. None is taken as the empty text, so that a
field's value can be passed as it is: ``Tres.parse(job.tres_per_node)["gres/gpu"]``.
"""

from __future__ import annotations

from slurmhooks.job_submit.strings.arrays import ArraySpec
from slurmhooks.job_submit.strings.dependencies import Dependencies, Dependency, JobRef
from slurmhooks.job_submit.strings.memory import mem_str_to_mib, mib_to_mem_str
from slurmhooks.job_submit.strings.nodes import collapse_nodes, expand_nodes
from slurmhooks.job_submit.strings.notation import NotationError
from slurmhooks.job_submit.strings.times import mins_to_time_str, time_str2mins
from slurmhooks.job_submit.strings.tres import Tres, TresItem

__all__ = [
    "ArraySpec",
    "Dependencies",
    "Dependency",
    "JobRef",
    "NotationError",
    "Tres",
    "TresItem",
    "collapse_nodes",
    "expand_nodes",
    "mem_str_to_mib",
    "mib_to_mem_str",
    "mins_to_time_str",
    "time_str2mins",
]
