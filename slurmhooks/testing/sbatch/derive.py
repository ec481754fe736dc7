# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the fields of a submission from all options together, as sbatch does after it has read them.

Source: opt.c:_opt_verify of sbatch, slurm_opt.c:validate_options_salloc_sbatch_srun, slurm_opt_create_job_desc, and
gres.c:gres_job_state_validate. A name with a leading underscore is an option that is only a part of a field.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import CpuFreq, JobFlag, TaskDist
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import collapse_nodes, expand_nodes
from slurmhooks.testing.job_submit import DEFAULTS
from slurmhooks.testing.option_values import SbatchError, number
from slurmhooks.testing.sbatch import gres
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE

if TYPE_CHECKING:
    from slurmhooks.testing.sbatch.options import Fields

ALWAYS = {
    **dict.fromkeys(("boards_per_node", "ntasks_per_board", "sockets_per_board", "contiguous", "immediate"), 0),
    **dict.fromkeys(("bitflags", "mail_type", "mem_bind_type", "task_dist_flags", "segment_size"), 0),
    **dict.fromkeys(("mem_update_delay", "mem_update_margin", "power_flags"), 0),
    "task_dist": int(TaskDist.SLURM_DIST_UNKNOWN),
}
"""Fields that sbatch sends without any option."""
WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"
"""The script of ``--wrap``."""
LONGEST_TRES = 64 << 10
"""Maximum length of a list of TRES in characters."""
OF_GPUS = ("tres_per_job", "tres_per_node")
LAYOUT = ("sockets_per_node", "cores_per_socket", "threads_per_core")


def derive(fields: Fields, work_dir: str, release: str) -> None:
    """Convert the fields that options have set to those that sbatch sends.

    Args:
        fields: the fields that the options have set.
        work_dir: where sbatch runs.
        release: of Slurm.

    Raises:
        SbatchError: sbatch would refuse the options together.
    """
    _exclusions(fields)
    if "cpus_per_task" in fields and "cpu" not in fields.get("tres_per_task", "") and release_of(release) >= (24, 5):
        fields["_cpus_in_tres"] = True
    layout, old = "_extra" in fields, release_of(release) < LAYOUT_SINCE
    bound = "tres_bind" in fields
    join(fields)
    gres.check(fields, release)
    if old:
        _of_old_release(fields, bound=bound)
    _files(fields, work_dir)
    nodes_given, tasks_given = "min_nodes" in fields, "num_tasks" in fields
    if fields.get("req_nodes") is not None:
        names = sorted(set(expand_nodes(fields["req_nodes"])), key=_natural)
        fields["req_nodes"] = collapse_nodes(names)
        if not nodes_given:
            fields["min_nodes"] = len(names)
    if "cpus_per_task" in fields:
        fields["pn_min_cpus"] = max(fields.get("pn_min_cpus", 0), fields["cpus_per_task"])
    tasks = _layout(fields, tasks_given, layout)
    _cpus(fields, tasks)
    if not old or "min_nodes" in fields:
        _nodes(fields)
    _nodes_of_gpus(fields)
    _gpu_counts(fields, with_cpus=not old)
    flags = int(fields.get("bitflags", 0))
    if "num_tasks" in fields and not fields.pop("_implied", False):
        flags |= JobFlag.JOB_NTASKS_SET
    if "cpus_per_task" in fields:
        flags |= JobFlag.JOB_CPUS_SET
    flags |= sum(int(flag) for name, flag in DEFAULTS.items() if fields.get(name) is None)
    fields["bitflags"] = int(flags)
    for name, value in ALWAYS.items():
        fields.setdefault(name, value)


def _of_old_release(fields: Fields, *, bound: bool) -> None:
    """Change fields to those that releases before LAYOUT_SINCE send; ``bound``: an option sets ``tres_bind``."""
    if "tres_per_task" in fields and not bound:
        fields.pop("tres_bind", None)
    if "tres_bind" in fields:
        fields["tres_bind"] = fields["tres_bind"].removeprefix("gres/")
    if fields.get("cpu_freq_gov") == CpuFreq.CPU_FREQ_USERSPACE and "cpu_freq_min" not in fields:
        del fields["cpu_freq_gov"]
    least, most, each = fields.get("min_nodes"), fields.get("max_nodes"), fields.get("ntasks_per_node")
    if least is None and fields.get("req_nodes") is not None:
        least = len(set(expand_nodes(fields["req_nodes"])))
    if "num_tasks" not in fields and each and least != 0 and most in (None, 0, least):
        fields["num_tasks"] = (least or 1) * each


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
    _tres_per_task(fields)
    if "_resources" in fields:
        fields["licenses"] = ",".join(filter(None, [fields.get("licenses"), fields["_resources"]]))
    if "_ntasks_per_gpu" in fields:
        fields.setdefault("ntasks_per_tres", fields["_ntasks_per_gpu"])
    if "_wrap" in fields:
        fields.setdefault("script", WRAPPED.format(fields["_wrap"]))
        fields.setdefault("name", "wrap")
    for name in [name for name in fields if name.startswith("_")]:
        del fields[name]


def _exclusions(fields: Fields) -> None:
    """Refuse options that exclude each other."""
    memory = [name for name in ("min_mem_per_node", "min_mem_per_cpu", "mem_per_tres") if name in fields]
    if len(memory) > 1:
        raise SbatchError("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive")
    if "_ntasks_per_gpu" in fields:
        for name in ("tres_per_task", "_gpus_per_task", "tres_per_socket", "ntasks_per_node"):
            if name in fields:
                raise SbatchError(f"--ntasks-per-gpu excludes the option that sets {name.lstrip('_')}")
    if "cpus_per_tres" in fields and "cpus_per_task" in fields:
        raise SbatchError("--cpus-per-task and --cpus-per-gpu are mutually exclusive")
    least = fields.get("min_nodes")
    if least is not None and fields.get("max_nodes") and least > fields["max_nodes"]:
        raise SbatchError("the maximum of nodes is less than the minimum")


def _tres_per_task(fields: Fields) -> None:
    """Join --tres-per-task with --gpus-per-task and --cpus-per-task, and bind tasks to their GRES."""
    if len(fields.get("tres_per_task", "")) + len(fields.get("tres_bind", "")) > LONGEST_TRES:
        raise SbatchError(f"lists of TRES have more than {LONGEST_TRES} characters")  # each is compared with all others
    given = [part for part in fields.get("tres_per_task", "").split(",") if part]
    cpus = next((part for part in given if part.startswith("cpu")), None)
    if cpus is not None and "cpus_per_task" not in fields:
        fields["cpus_per_task"] = number(cpus.replace(":", "=").partition("=")[2])
    if "_gpus_per_task" in fields:
        kinds = [part.rpartition(":") for part in fields["_gpus_per_task"].split(",")]
        given += [f"gres/gpu{colon}{kind}={count}" for kind, colon, count in kinds]
    if "_cpus_in_tres" in fields:
        given.insert(0, f"cpu={fields['cpus_per_task']}")
    if not given:
        return
    fields["tres_per_task"] = ",".join(given)
    bound = fields.get("tres_bind", "")
    for part in given:
        match = re.fullmatch(r"gres/([^:=]+)(?:[:=](?!\d)[^:=]+)?(?:[:=](\d+))?", part)
        if match and match[1] not in bound:
            bound += f"{'+' if bound else ''}gres/{match[1]}:per_task:{match[2] or 1}"
    if bound:
        fields["tres_bind"] = bound


def _nodes_of_gpus(fields: Fields) -> None:
    """Compute the number of nodes from GPUs per job and per node."""
    counts = [re.fullmatch(r"gres/gpu:(?:[^:,]+:)?(\d+)", fields.get(name) or "") for name in OF_GPUS]
    if all(counts) and "min_nodes" not in fields:
        total, each = (int(match[1]) for match in counts if match)
        if each and total % each == 0:
            fields["min_nodes"] = fields["max_nodes"] = total // each


def _gpu_counts(fields: Fields, *, with_cpus: bool) -> None:
    """Compute tasks and CPUs from the number of all GPUs, which limits the number of nodes."""
    counts = [part.rpartition(":")[2] for part in (fields.get("tres_per_job") or "").split(",") if "gpu" in part]
    gpus = sum(number(count) for count in counts if count.isdecimal())
    per_gpu = fields.get("ntasks_per_tres")
    if gpus and per_gpu and "num_tasks" not in fields:
        fields["num_tasks"] = gpus * per_gpu
        fields["_implied"] = True
    each = (fields.get("cpus_per_tres") or "").rpartition(":")[2]
    if gpus and (fields.get("max_nodes") or 0) > gpus:
        fields["max_nodes"] = gpus
    if gpus and each.isdecimal() and with_cpus:
        fields["min_cpus"] = max(fields["min_cpus"], gpus * number(each))


def _files(fields: Fields, work_dir: str) -> None:
    """Make the names of files absolute."""
    folder = fields["work_dir"] = os.path.join(work_dir, fields.get("work_dir", work_dir))
    fields.setdefault("std_in", "/dev/null")
    for name in ("std_in", "std_out", "std_err"):
        if fields.get(name) is not None and fields[name] != "none":
            fields[name] = os.path.join(folder, fields[name])


def _layout(fields: Fields, tasks_given: bool, layout: bool) -> int:
    """Compute tasks from nodes, or vice versa; return the number of tasks, even if it is not sent.

    Args:
        fields: see :func:`derive`.
        tasks_given: an option names the number of tasks.
        layout: --extra-node-info is given.
    """
    tasks: int = fields.get("num_tasks", 1)
    least, most = fields.get("min_nodes"), fields.get("max_nodes", 0)
    exact = least == most or not most
    if (least is not None or layout) and exact and "ntasks_per_node" not in fields and not tasks_given:
        tasks = max(1 if least is None else least, 1)
        for name in LAYOUT:
            if name in fields:
                tasks *= fields[name]
                fields["num_tasks"] = tasks
    elif least is not None and tasks_given:
        if tasks < most:
            fields["max_nodes"] = tasks
        if tasks < least:
            fields["min_nodes"] = fields["max_nodes"] = tasks
    return tasks


def _cpus(fields: Fields, tasks: int) -> None:
    """Compute ``min_cpus``."""
    least, most, per_node = fields.get("min_nodes"), fields.get("max_nodes", 0), fields.get("ntasks_per_node")
    if per_node and "num_tasks" not in fields and (not most or least == most):
        tasks = (1 if least is None else least) * per_node
    if fields.get("overcommit"):
        fields["min_cpus"] = max(1 if least is None else least, 1)
    elif "cpus_per_task" in fields:
        fields["min_cpus"] = tasks * fields["cpus_per_task"]
    elif least == 0:
        fields["min_cpus"] = 0
    else:
        fields["min_cpus"] = tasks


def _nodes(fields: Fields) -> None:
    """Compute ``min_nodes`` if no option sets it."""
    tasks, per_node = fields.get("num_tasks"), fields.get("ntasks_per_node")
    if "min_nodes" in fields:
        if not fields.get("max_nodes"):
            fields.pop("max_nodes", None)
            fields.pop("job_size_str", None)
    elif tasks == 0:
        fields["min_nodes"] = 0
    elif tasks is not None and per_node:
        fields["min_nodes"] = -(-tasks // per_node)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts n9 before n10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]
