# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the numbers of nodes, tasks and CPUs from all options, as sbatch, srun and salloc do.

Source: opt.c:_opt_verify of each command, and slurm_opt.c:slurm_opt_create_job_desc.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import JobFlag, TaskDist, TaskDistFlag
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes
from slurmhooks.testing.option_numbers import int32
from slurmhooks.testing.option_values import SbatchError
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmhooks.testing.sbatch.options import Fields

LAYOUT = ("sockets_per_node", "cores_per_socket", "threads_per_core")


@dataclass
class _Counts:
    """Members of slurm_opt_t, with their defaults; ``tasks_set`` and ``nodes_set``: they count as given."""

    tasks: int
    least: int
    most: int
    tasks_set: bool
    nodes_set: bool

    @property
    def exact(self) -> bool:
        return self.most in (0, self.least)

    def set_tasks(self, number: int) -> None:
        self.tasks, self.tasks_set = int32(number), True

    def of_hosts(self, names: list[str]) -> None:
        """Take the numbers that are not given from the nodes of an arbitrary distribution."""
        if not self.tasks_set:
            self.set_tasks(len(names))
        if not self.nodes_set:
            self.least = self.most = len({*names})
            self.nodes_set = True


def count(fields: Fields, program: str, release: str, variables: Container[str], *, layout: bool) -> None:
    """Compute numbers of nodes, tasks and CPUs, and the list of nodes.

    Args:
        fields: those that options have set; they are changed.
        program: ``sbatch``, ``srun`` or ``salloc``.
        release: of Slurm.
        variables: the options that a variable of the environment sets.
        layout: ``--extra-node-info`` is given.

    Raises:
        SbatchError: the command would refuse the numbers.
    """
    old, srun = release_of(release) < LAYOUT_SINCE, program == "srun"
    arbitrary = fields.get("task_dist") == TaskDist.SLURM_DIST_ARBITRARY
    names = None if fields.get("req_nodes") is None else expand_nodes(fields["req_nodes"])
    counts = _Counts(
        fields.get("num_tasks", 1),
        fields.get("min_nodes", 1),
        fields.get("max_nodes", 0),
        "num_tasks" in fields,
        "min_nodes" in fields,
    )
    each = fields.get("ntasks_per_node")
    if arbitrary and not old and counts.nodes_set and "nodes" not in variables:
        raise SbatchError("--nodes is incompatible with --distribution=arbitrary")
    if arbitrary and names is None:
        raise SbatchError("--distribution=arbitrary needs --nodelist")
    if srun:
        if arbitrary:
            counts.tasks_set &= "ntasks" not in variables
            counts.nodes_set &= "nodes" not in variables
        packed = fields.get("task_dist_flags", 0) & TaskDistFlag.SLURM_DIST_PACK_NODES and "nodes" in variables
        if packed:
            counts.least = 1
        if arbitrary and names is not None:
            counts.of_hosts(names)
        elif old and counts.most and names is not None:
            names = names[: counts.most]
        _check(fields, counts, program, old=old)
    hosts = None if names is None else sorted({*names}, key=_natural)
    if hosts is not None and (old or not counts.nodes_set):
        counts.least = max(len(hosts), counts.least) if counts.nodes_set else len(hosts)
        counted, counts.nodes_set = True, True
    else:
        counted = False
    if old and each and not srun and not counts.tasks_set and (counts.exact or program == "salloc"):
        counts.set_tasks(counts.least * each)
    if not srun:
        _check(fields, counts, program, old=old)
        _check_plane(fields, counts, program)
    given = [fields[name] for name in LAYOUT if name in fields]
    if (counts.nodes_set or layout) and counts.exact and not counts.tasks_set and (each is None or old):
        counts.tasks = max(counts.least, 1) if program == "sbatch" else counts.least
        if given and (not srun or len(given) == len(LAYOUT)):
            counts.set_tasks(counts.tasks * prod(given))
        elif srun and each:
            counts.set_tasks(counts.tasks * each)
    elif counts.nodes_set and counts.tasks_set:
        if counts.tasks < counts.most:
            counts.most = counts.tasks
        if counts.tasks < counts.least:
            counts.least = counts.most = counts.tasks
            if srun:  # it reads --nodes again
                fields.pop("job_size_str", None)
            if (srun or old) and counted and hosts is not None:
                names = hosts[: counts.least]
        if srun and each:
            if old and counts.least and each != counts.tasks // counts.least:
                each = None
            elif not old and "ntasks" in variables and "nodes" not in variables:
                counts.tasks, counts.tasks_set = 1, False
            elif not old and packed and counts.least and each < counts.tasks != counts.least * each:
                each = None
            if each is None:
                del fields["ntasks_per_node"]
    if srun and each and not counts.tasks_set:
        counts.set_tasks(counts.least * each)
    if not srun and arbitrary and names is not None:
        counts.of_hosts(names)
    if names is not None:
        kept = names if arbitrary and not old else sorted({*names}, key=_natural)
        fields["req_nodes"] = collapse_nodes(kept)
    _store(fields, counts, old=old)


def _check(fields: Fields, counts: _Counts, program: str, *, old: bool) -> None:
    if counts.tasks < (program != "sbatch"):
        raise SbatchError(f"{counts.tasks} is no valid number of tasks")
    if counts.least < 0 or counts.most < 0 or (counts.most and counts.least > counts.most):
        raise SbatchError(f"{counts.least}-{counts.most} is no valid number of nodes")
    per_core, threads = fields.get("ntasks_per_core"), fields.get("threads_per_core")
    if not old and isinstance(per_core, int) and threads is not None and threads < per_core:
        raise SbatchError("--ntasks-per-core is larger than --threads-per-core")


def _check_plane(fields: Fields, counts: _Counts, program: str) -> None:
    size = fields.get("plane_size") if fields.get("task_dist") == TaskDist.SLURM_DIST_PLANE else None
    few = size and (counts.tasks // size < counts.least or (program == "sbatch" and counts.least <= 0))
    if size and few and (counts.least - 1) * size >= counts.tasks:
        raise SbatchError("--distribution=plane needs more tasks")


def _store(fields: Fields, counts: _Counts, *, old: bool) -> None:
    """Store what slurm_opt_create_job_desc() sends."""
    each, flags = fields.get("ntasks_per_node"), int(fields.get("bitflags", 0))
    fields.pop("num_tasks", None)
    if counts.tasks_set:
        fields["num_tasks"] = counts.tasks
        flags |= JobFlag.JOB_NTASKS_SET
    estimated = counts.tasks
    if each and not old and not counts.tasks_set and counts.exact:
        estimated = counts.least * each
    if fields.get("overcommit"):
        fields["min_cpus"] = max(counts.least, 1)
    elif "cpus_per_task" in fields:
        fields["min_cpus"] = int32(estimated * fields["cpus_per_task"]) % (1 << 32)
    else:
        fields["min_cpus"] = 0 if counts.nodes_set and counts.least == 0 else estimated
    if "cpus_per_task" in fields:
        flags |= JobFlag.JOB_CPUS_SET
    fields["bitflags"] = int(flags)
    for name in ("min_nodes", "max_nodes"):
        fields.pop(name, None)
    if counts.nodes_set:
        fields["min_nodes"] = counts.least
        if counts.most:
            fields["max_nodes"] = counts.most
    elif counts.tasks_set and not counts.tasks:
        fields["min_nodes"] = 0
    elif counts.tasks_set and each and not old:
        fields["min_nodes"] = -(-counts.tasks // each)
    if "max_nodes" not in fields:
        fields.pop("job_size_str", None)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts n9 before n10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]
