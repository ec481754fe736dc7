# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the fields of a submission from all options together, approximately as sbatch, srun and salloc do.

Source: opt.c:_opt_verify of each command, and slurm_opt.c:slurm_opt_create_job_desc. A name with a leading underscore
is an option that is only a part of a field. What follows from options for GPUs, GRES and the binding of tasks is left
out: slurmctld computes the same again, after its plugins.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import JobFlag, TaskDist
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes
from slurmhooks.workshop.testing.job_submit import DEFAULTS
from slurmhooks.workshop.testing.options.numbers import int32, strtol
from slurmhooks.workshop.testing.options.values import SbatchError

if TYPE_CHECKING:
    from slurmhooks.workshop.testing.sbatch.setters import Fields

ALWAYS = {
    **dict.fromkeys(("boards_per_node", "ntasks_per_board", "sockets_per_board", "contiguous", "immediate"), 0),
    **dict.fromkeys(("bitflags", "mail_type", "mem_bind_type", "task_dist_flags", "segment_size"), 0),
    **dict.fromkeys(("mem_update_delay", "mem_update_margin", "power_flags"), 0),
    "task_dist": int(TaskDist.SLURM_DIST_UNKNOWN),
}
"""Fields that sbatch sends without any option."""
WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"
"""The script of ``--wrap``."""


def derive(fields: Fields, work_dir: str, program: str) -> None:
    """Convert the fields that options have set to those that a command sends.

    Raises:
        SbatchError: the command would refuse the options together.
    """
    if len([name for name in ("min_mem_per_node", "min_mem_per_cpu", "mem_per_tres") if name in fields]) > 1:
        raise SbatchError("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive")
    if fields.get("begin_time", 0) > fields.get("deadline", fields.get("begin_time", 0)):
        raise SbatchError("--deadline is before --begin")
    if program != "sbatch" and "_burst_buffer" in fields:
        fields["burst_buffer"] = fields["_burst_buffer"]
    join(fields)
    folder = fields["work_dir"] = os.path.join(work_dir, fields.get("work_dir", work_dir))
    fields.setdefault("std_in", "/dev/null")
    for name in ("std_in", "std_out", "std_err"):
        if fields.get(name) is not None:
            fields[name] = os.path.join(folder, fields[name])
    if "cpus_per_task" in fields:
        fields["pn_min_cpus"] = max(fields.get("pn_min_cpus", 0), fields["cpus_per_task"])
    _count(fields, program)
    flags = int(fields["bitflags"]) | sum(int(flag) for name, flag in DEFAULTS.items() if fields.get(name) is None)
    fields["bitflags"] = flags
    for name, value in ALWAYS.items():
        fields.setdefault(name, value)


def insert(fields: Fields) -> None:
    """Insert the burst buffer directives of --bbf after the first line of the script."""
    first, newline, rest = fields["script"].partition("\n")
    if fields.get("_burst_buffer"):
        fields["script"] = first + newline + fields["_burst_buffer"] + rest


def external(fields: Fields) -> None:
    """Make a request without a script: --external."""
    if int(fields.get("bitflags", 0)) & int(JobFlag["EXTERNAL_JOB"]):
        fields.update(name="external", argv=[], std_in=None, environment={})


def join(fields: Fields) -> None:
    """Combine the options that are parts of one field: GPUs and GRES, GPUs and CPUs per task."""
    node = [f"gres/gpu:{part}" for part in fields.get("_gpus_per_node", "").split(",") if part]
    node += [fields["_gres"]] if fields.get("_gres") else []
    if node:
        fields["tres_per_node"] = ",".join(node)
    _join_per_task(fields)
    if "_resources" in fields:
        fields["licenses"] = ",".join(filter(None, [fields.get("licenses"), fields["_resources"]]))
    if "_ntasks_per_gpu" in fields:
        fields.setdefault("ntasks_per_tres", fields["_ntasks_per_gpu"])
    if "_wrap" in fields:
        fields.setdefault("script", WRAPPED.format(fields["_wrap"]))
        fields.setdefault("name", "wrap")
    for name in [name for name in fields if name.startswith("_")]:
        del fields[name]


def _join_per_task(fields: Fields) -> None:
    """Join CPUs, GPUs and other TRES per task, and bind tasks to their GRES, unless an option binds them."""
    given = [re.sub("^(gres|license):", r"\1/", part) for part in fields.get("tres_per_task", "").split(",") if part]
    for kind, colon, count in [part.rpartition(":") for part in fields.get("_gpus_per_task", "").split(",") if part]:
        given.insert(0, f"gres/gpu{colon}{kind}={strtol(count)[0]}")
    cpus = next((strtol(part[4:])[0] for part in given if re.match("cpu[=:]", part)), 0)
    if cpus:
        fields.setdefault("cpus_per_task", cpus)
    elif fields.get("cpus_per_task"):
        given.insert(0, f"cpu={fields['cpus_per_task']}")
    if not given:
        return
    fields["tres_per_task"] = ",".join(given)
    amounts: dict[str, int] = {}
    for part in given:
        match = re.fullmatch(r"gres/([^:=]+)(?:[:=](?!\d)[^:=]+)?(?:[:=](\d+))?", part)
        if match and match[1] not in fields.get("tres_bind", ""):
            amounts[match[1]] = amounts.get(match[1], 0) + int(match[2] or 1)
    bound = [f"gres/{name}:per_task:{amount}" for name, amount in amounts.items()]
    if bound:
        fields["tres_bind"] = "+".join(filter(None, [fields.get("tres_bind"), *bound]))


def _count(fields: Fields, program: str) -> None:
    """Compute numbers of nodes, tasks and CPUs, and the list of nodes."""
    tasks: int | None = fields.pop("num_tasks", None)
    nodes_set, each = "min_nodes" in fields, fields.get("ntasks_per_node")
    least, most = fields.pop("min_nodes", 1), fields.pop("max_nodes", 0)
    if fields.get("req_nodes") is not None and "/" not in fields["req_nodes"]:  # a "/" is in the name of a file
        hosts = sorted({*expand_nodes(fields["req_nodes"])}, key=_natural)
        fields["req_nodes"] = collapse_nodes(hosts)
        least = least if nodes_set else len(hosts)
        nodes_set = True
    if tasks is not None and tasks < (program != "sbatch"):
        raise SbatchError(f"{tasks} is no valid number of tasks")
    if least < 0 or most < 0 or (most and least > most):
        raise SbatchError(f"{least}-{most} is no valid number of nodes")
    estimated, exact = 1, most in (0, least)
    if tasks is None and nodes_set and exact and each is None:
        estimated = max(least, 1)
    elif tasks is not None and nodes_set:  # at most one node for each task
        most = min(tasks, most)
        if tasks < least:
            least = most = tasks
    if program == "srun" and each and tasks is None:
        tasks = int32(least * each)
    if tasks is not None:
        estimated = tasks
    elif each and exact:
        estimated = least * each
    _store(fields, tasks, estimated, (least, most) if nodes_set else None)


def _store(fields: Fields, tasks: int | None, estimated: int, nodes: tuple[int, int] | None) -> None:
    """Store what slurm_opt_create_job_desc() sends, of a number of ``tasks``, if it is given.

    There may be as many tasks as ``estimated``. ``nodes`` are the least number of nodes, and the highest, or 0, if
    given.
    """
    flags, each = int(fields.get("bitflags", 0)), fields.get("ntasks_per_node")
    if tasks is not None:
        fields["num_tasks"] = tasks
        flags |= JobFlag.JOB_NTASKS_SET
    if fields.get("overcommit"):
        fields["min_cpus"] = max(nodes[0] if nodes else 1, 1)
    elif "cpus_per_task" in fields:
        fields["min_cpus"] = int32(estimated * fields["cpus_per_task"]) % (1 << 32)
    else:
        fields["min_cpus"] = 0 if nodes and nodes[0] == 0 else estimated
    if "cpus_per_task" in fields:
        flags |= JobFlag.JOB_CPUS_SET
    fields["bitflags"] = int(flags)
    if nodes:
        fields["min_nodes"] = nodes[0]
        if nodes[1]:
            fields["max_nodes"] = nodes[1]
    elif tasks == 0:
        fields["min_nodes"] = 0
    elif tasks and each:
        fields["min_nodes"] = -(-tasks // each)
    if "max_nodes" not in fields:
        fields.pop("job_size_str", None)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts n9 before n10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]
