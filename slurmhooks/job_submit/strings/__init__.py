# SPDX-License-Identifier: GPL-2.0-or-later
"""Convert Slurm's notations to values and back: times, memory, TRES, node lists, job arrays, dependencies.

The parsers accept what Slurm accepts, and raise :class:`NotationError` for texts that Slurm refuses or accepts only by
accident ("n[1a-3]", "-5" minutes). Parsers of lists take None as the empty list, so that an unset field needs no check:
``Tres.parse(job.tres_per_node)["gres/gpu"]``.

Users write these texts, so time and memory are bounded: numbers have at most 18 digits, names of nodes at most 255
characters, a node list at most 65536 nodes, and the ranges of a job array name at most 16000004 tasks.
This package is pure Python and works in any process.
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
