# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the numbers of nodes, tasks and CPUs from all options, as sbatch, srun and salloc do.

Source: opt.c:_opt_verify of each command, and slurm_opt.c:slurm_opt_create_job_desc. Each step there is one function
here, in the same order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import JobFlag, TaskDist, TaskDistFlag
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes
from slurmhooks.testing.options.numbers import int32
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmhooks.testing.sbatch.setters import Fields

LAYOUT = ("sockets_per_node", "cores_per_socket", "threads_per_core")


@dataclass
class _Opt:
    """The members of slurm_opt_t about numbers, while a command verifies its options.

    Attributes:
        fields: those that options have set.
        program: the command.
        old: the release is older than LAYOUT_SINCE.
        variables: the options that a variable of the environment sets.
        layout: ``--extra-node-info`` is given.
        names: the list of nodes; None: no option gives one.
        tasks, tasks_set: the number of tasks, and whether it counts as given.
        least, most, nodes_set: the same for nodes; ``most`` is 0 without a maximum.
        counted: the least number of nodes is that of the list.
    """

    fields: Fields
    program: str
    old: bool
    variables: Container[str]
    layout: bool
    names: list[str] | None
    tasks: int
    tasks_set: bool
    least: int
    most: int
    nodes_set: bool
    counted: bool = False

    @property
    def srun(self) -> bool:
        return self.program == "srun"

    @property
    def arbitrary(self) -> bool:
        return bool(self.fields.get("task_dist") == TaskDist.SLURM_DIST_ARBITRARY)

    @property
    def packed(self) -> bool:
        """Whether srun ignores the number of nodes of a variable, because it packs tasks."""
        flags = self.fields.get("task_dist_flags", 0)
        return self.srun and bool(flags & TaskDistFlag.SLURM_DIST_PACK_NODES) and "nodes" in self.variables

    @property
    def exact(self) -> bool:
        return self.most in (0, self.least)

    @property
    def tasks_per_node(self) -> int | None:
        number: int | None = self.fields.get("ntasks_per_node")
        return number

    @property
    def hosts(self) -> list[str]:
        """The nodes of the list, each once, in the order of hostlist_uniq()."""
        return sorted({*(self.names or ())}, key=_natural)

    def set_tasks(self, number: int) -> None:
        self.tasks, self.tasks_set = int32(number), True


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
    opt = _Opt(
        fields=fields,
        program=program,
        old=release_of(release) < LAYOUT_SINCE,
        variables=variables,
        layout=layout,
        names=None if fields.get("req_nodes") is None else expand_nodes(fields["req_nodes"]),
        tasks=fields.get("num_tasks", 1),
        tasks_set="num_tasks" in fields,
        least=fields.get("min_nodes", 1),
        most=fields.get("max_nodes", 0),
        nodes_set="min_nodes" in fields,
    )
    _validate_arbitrary(opt)
    if opt.srun:
        _ignore_variables(opt)
        _count_arbitrary(opt)
        _shorten_list_of_old_srun(opt)
        _check_numbers(opt)
        _count_nodelist(opt)
    else:
        _count_nodelist(opt)
        _multiply_tasks_per_node_in_old_release(opt)
        _check_numbers(opt)
        _check_plane(opt)
    if (opt.nodes_set or layout) and opt.exact and not opt.tasks_set and (opt.tasks_per_node is None or opt.old):
        _one_task_per_node(opt)
    elif opt.nodes_set and opt.tasks_set:
        _at_most_one_node_per_task(opt)
        _drop_tasks_or_tasks_per_node(opt)
    if opt.srun:
        _multiply_tasks_per_node(opt)
    else:
        _count_arbitrary(opt)
    _store_nodelist(opt)
    _store_numbers(opt)


def _validate_arbitrary(opt: _Opt) -> None:
    if not opt.arbitrary:
        return
    if not opt.old and opt.nodes_set and "nodes" not in opt.variables:
        raise SbatchError("--nodes is incompatible with --distribution=arbitrary")
    if opt.names is None:
        raise SbatchError("--distribution=arbitrary needs --nodelist")


def _ignore_variables(opt: _Opt) -> None:
    """Ignore numbers of variables: for an arbitrary distribution, and nodes if tasks are packed."""
    if opt.arbitrary:
        opt.tasks_set &= "ntasks" not in opt.variables
        opt.nodes_set &= "nodes" not in opt.variables
    if opt.packed:
        opt.least = 1


def _count_arbitrary(opt: _Opt) -> None:
    """Set numbers that are not given to those of the list of an arbitrary distribution."""
    if not opt.arbitrary or opt.names is None:
        return
    if not opt.tasks_set:  # old sbatch and salloc count each name once
        opt.set_tasks(len(opt.hosts if opt.old and not opt.srun else opt.names))
    if not opt.nodes_set:
        opt.least = opt.most = len({*opt.names})
        opt.nodes_set = True


def _shorten_list_of_old_srun(opt: _Opt) -> None:
    if opt.old and not opt.arbitrary and opt.most and opt.names is not None:
        opt.names = opt.names[: opt.most]


def _check_numbers(opt: _Opt) -> None:
    if opt.tasks < (opt.program != "sbatch"):
        raise SbatchError(f"{opt.tasks} is no valid number of tasks")
    if opt.least < 0 or opt.most < 0 or (opt.most and opt.least > opt.most):
        raise SbatchError(f"{opt.least}-{opt.most} is no valid number of nodes")
    per_core, threads = opt.fields.get("ntasks_per_core"), opt.fields.get("threads_per_core")
    if not opt.old and isinstance(per_core, int) and threads is not None and threads < per_core:
        raise SbatchError("--ntasks-per-core is larger than --threads-per-core")


def _count_nodelist(opt: _Opt) -> None:
    """Set the least number of nodes to that of the list, which adds nodes in old releases only."""
    if opt.names is None or (opt.nodes_set and not opt.old):
        return
    opt.least = max(len(opt.hosts), opt.least) if opt.nodes_set else len(opt.hosts)
    opt.nodes_set = opt.counted = True


def _multiply_tasks_per_node_in_old_release(opt: _Opt) -> None:
    if opt.old and opt.tasks_per_node and not opt.tasks_set and (opt.exact or opt.program == "salloc"):
        opt.set_tasks(opt.least * opt.tasks_per_node)


def _check_plane(opt: _Opt) -> None:
    size = opt.fields.get("plane_size")
    if not size or opt.fields.get("task_dist") != TaskDist.SLURM_DIST_PLANE:
        return
    few = opt.tasks // size < opt.least or (opt.program == "sbatch" and opt.least <= 0)
    if few and (opt.least - 1) * size >= opt.tasks:
        raise SbatchError("--distribution=plane needs more tasks")


def _one_task_per_node(opt: _Opt) -> None:
    """Estimate one task for each node, or for each thread if options about sockets, cores and threads are given."""
    opt.tasks = max(opt.least, 1) if opt.program == "sbatch" else opt.least
    given = [opt.fields[name] for name in LAYOUT if name in opt.fields]
    if given and (not opt.srun or len(given) == len(LAYOUT)):
        opt.set_tasks(opt.tasks * prod(given))


def _at_most_one_node_per_task(opt: _Opt) -> None:
    if opt.tasks < opt.most:
        opt.most = opt.tasks
    if opt.tasks < opt.least:
        opt.least = opt.most = opt.tasks
        if opt.srun:  # it reads --nodes again
            opt.fields.pop("job_size_str", None)
        if (opt.srun or opt.old) and opt.counted:
            opt.names = opt.hosts[: opt.least]


def _drop_tasks_or_tasks_per_node(opt: _Opt) -> None:
    """Ignore ``--ntasks-per-node`` of srun if it does not fit, or the number of tasks of a variable."""
    each = opt.tasks_per_node
    if not opt.srun or not each:
        return
    if opt.old:
        fits = not opt.least or each == opt.tasks // opt.least
    elif "ntasks" in opt.variables and "nodes" not in opt.variables:
        opt.tasks, opt.tasks_set, fits = 1, False, True
    else:
        fits = not (opt.packed and opt.least and each < opt.tasks != opt.least * each)
    if not fits:
        del opt.fields["ntasks_per_node"]


def _multiply_tasks_per_node(opt: _Opt) -> None:
    if opt.tasks_per_node and not opt.tasks_set:
        opt.set_tasks(opt.least * opt.tasks_per_node)


def _store_nodelist(opt: _Opt) -> None:
    if opt.names is not None:
        opt.fields["req_nodes"] = collapse_nodes(opt.names if opt.arbitrary and not opt.old else opt.hosts)


def _store_numbers(opt: _Opt) -> None:
    """Store what slurm_opt_create_job_desc() sends."""
    fields, each, flags = opt.fields, opt.tasks_per_node, int(opt.fields.get("bitflags", 0))
    fields.pop("num_tasks", None)
    if opt.tasks_set:
        fields["num_tasks"] = opt.tasks
        flags |= JobFlag.JOB_NTASKS_SET
    estimated = opt.tasks
    if each and not opt.old and not opt.tasks_set and opt.exact:
        estimated = opt.least * each
    if fields.get("overcommit"):
        fields["min_cpus"] = max(opt.least, 1)
    elif "cpus_per_task" in fields:
        fields["min_cpus"] = int32(estimated * fields["cpus_per_task"]) % (1 << 32)
    else:
        fields["min_cpus"] = 0 if opt.nodes_set and opt.least == 0 else estimated
    if "cpus_per_task" in fields:
        flags |= JobFlag.JOB_CPUS_SET
    fields["bitflags"] = int(flags)
    for name in ("min_nodes", "max_nodes"):
        fields.pop(name, None)
    if opt.nodes_set:
        fields["min_nodes"] = opt.least
        if opt.most:
            fields["max_nodes"] = opt.most
    elif opt.tasks_set and not opt.tasks:
        fields["min_nodes"] = 0
    elif opt.tasks_set and each and not opt.old:
        fields["min_nodes"] = -(-opt.tasks // each)
    if "max_nodes" not in fields:
        fields.pop("job_size_str", None)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts n9 before n10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]
