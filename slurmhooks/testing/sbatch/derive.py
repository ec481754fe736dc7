# SPDX-License-Identifier: GPL-2.0-or-later
"""Compute the fields of a submission from all options together, as sbatch does after it has read them.

Source: opt.c:_opt_verify of sbatch, slurm_opt.c:validate_options_salloc_sbatch_srun, slurm_opt_create_job_desc, and
gres.c:gres_job_state_validate. A name with a leading underscore is an option that is only a part of a field.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import CpuFreq, JobFlag, TaskDist
from slurmhooks.fields.rows import release_of
from slurmhooks.testing.job_submit import DEFAULTS
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch import gres, hints, nodelists, tres_per_task
from slurmhooks.testing.sbatch.counts import count
from slurmhooks.testing.sbatch.releases import CPUS_SINCE, LAST_SINCE, LAYOUT_SINCE

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from slurmhooks.testing.sbatch.setters import Fields

ALWAYS = {
    **dict.fromkeys(("boards_per_node", "ntasks_per_board", "sockets_per_board", "contiguous", "immediate"), 0),
    **dict.fromkeys(("bitflags", "mail_type", "mem_bind_type", "task_dist_flags", "segment_size"), 0),
    **dict.fromkeys(("mem_update_delay", "mem_update_margin", "power_flags"), 0),
    "task_dist": int(TaskDist.SLURM_DIST_UNKNOWN),
}
"""Fields that sbatch sends without any option."""
WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"
"""The script of ``--wrap``."""


def derive(
    fields: Fields,
    work_dir: str,
    release: str,
    program: str,
    variables: Container[str],
    environment: Mapping[str, str],
) -> Fields:
    """Convert the fields that options have set to those that a command sends.

    Args:
        fields: the fields that the options have set.
        work_dir: where the command runs.
        release: of Slurm.
        program: the command.
        variables: the options that variables of the environment set.
        environment: of the command.

    Returns:
        the fields as they are before GRES change them.

    Raises:
        SbatchError: the command would refuse the options together.
    """
    _exclusions(fields, program, release, variables)
    if "cpus_per_task" in fields and release_of(release) >= CPUS_SINCE:
        fields["_cpus_given"] = True
    if program != "sbatch" and "_burst_buffer" in fields:
        fields["burst_buffer"] = fields["_burst_buffer"]
    layout, old = "_extra" in fields, release_of(release) < LAYOUT_SINCE
    bound = "tres_bind" in fields
    nodelists.read_files(fields, program, release, variables, environment, work_dir)
    hints.apply(fields, program, release)
    join(fields, release, variables)
    if old:
        _of_old_release(fields, bound=bound)
    _files(fields, work_dir)
    if "cpus_per_task" in fields:
        fields["pn_min_cpus"] = max(fields.get("pn_min_cpus", 0), fields["cpus_per_task"])
    count(fields, program, release, variables, layout=layout)
    of_options = dict(fields)
    if "clusters" not in fields:
        gres.validate(fields, release)
    flags = int(fields["bitflags"]) | sum(int(flag) for name, flag in DEFAULTS.items() if fields.get(name) is None)
    fields["bitflags"] = flags
    for name, value in ALWAYS.items():
        fields.setdefault(name, value)
    return of_options


def _of_old_release(fields: Fields, *, bound: bool) -> None:
    """Change fields to those that releases before LAYOUT_SINCE send; ``bound``: an option sets ``tres_bind``."""
    if "tres_per_task" in fields and not bound:
        fields.pop("tres_bind", None)
    if "tres_bind" in fields:
        fields["tres_bind"] = fields["tres_bind"].removeprefix("gres/")
    if fields.get("cpu_freq_gov") == CpuFreq.CPU_FREQ_USERSPACE and "cpu_freq_min" not in fields:
        del fields["cpu_freq_gov"]


def insert(fields: Fields) -> None:
    """Insert the burst buffer directives of --bbf after the first line of the script."""
    first, newline, rest = fields["script"].partition("\n")
    if fields.get("_burst_buffer"):
        fields["script"] = first + newline + fields["_burst_buffer"] + rest


def external(fields: Fields) -> None:
    """Make a request without a script: --external."""
    if int(fields.get("bitflags", 0)) & int(JobFlag["EXTERNAL_JOB"]):
        fields.update(name="external", argv=[], std_in=None, environment={})


def join(fields: Fields, release: str, variables: Container[str] = ()) -> None:
    """Combine the options that are parts of one field: GPUs and GRES, GPUs and CPUs per task."""
    node = [f"gres/gpu:{part}" for part in fields.get("_gpus_per_node", "").split(",") if part]
    node += [fields["_gres"]] if fields.get("_gres") else []
    if node:
        fields["tres_per_node"] = ",".join(node)
    tres_per_task.join(fields, release, variables)
    if "_resources" in fields:
        fields["licenses"] = ",".join(filter(None, [fields.get("licenses"), fields["_resources"]]))
    if "_ntasks_per_gpu" in fields:
        fields.setdefault("ntasks_per_tres", fields["_ntasks_per_gpu"])
    if "_wrap" in fields:
        fields.setdefault("script", WRAPPED.format(fields["_wrap"]))
        fields.setdefault("name", "wrap")
    for name in [name for name in fields if name.startswith("_")]:
        del fields[name]


def _exclusions(fields: Fields, program: str, release: str, variables: Container[str]) -> None:
    """Refuse options that exclude each other."""
    old, last = release_of(release) < LAYOUT_SINCE, release_of(release) >= LAST_SINCE
    memory = [name for name in ("min_mem_per_node", "min_mem_per_cpu", "mem_per_tres") if name in fields]
    if len(memory) > 1:
        raise SbatchError("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive")
    per_gpu = [fields[name] for name in ("_ntasks_per_gpu", "ntasks_per_tres") if name in fields]
    if len({*per_gpu}) > 1:
        raise SbatchError("--ntasks-per-gpu and --ntasks-per-tres differ")
    excluded = ["_gpus_per_task", "tres_per_socket", "ntasks_per_node"]
    if not last or "tres-per-task" not in variables or "gres/gpu" in fields.get("tres_per_task", ""):
        excluded.append("tres_per_task")
    for name in excluded if per_gpu else ():
        if name in fields:
            raise SbatchError(f"--ntasks-per-gpu excludes the option that sets {name.lstrip('_')}")
    if "_quiet" in fields and "_verbose" in fields:
        raise SbatchError("--quiet and --verbose are mutually exclusive")
    if "burst_buffer" in fields and "_burst_buffer" in fields:
        raise SbatchError("--bb and --bbf are mutually exclusive")
    if fields.get("begin_time", 0) > fields.get("deadline", fields.get("begin_time", 0)):
        raise SbatchError("--deadline is before --begin")
    if last and "_gpus_per_node" in fields and "gres/gpu" in fields.get("_gres", ""):
        raise SbatchError("--gpus-per-node and --gres=gpu are mutually exclusive")
    segment, nodes = fields.get("segment_size"), fields.get("min_nodes")
    nodes = fields.get("max_nodes") or nodes if "job_size_str" in fields else nodes
    if last and segment and nodes is not None and nodes > segment and nodes % segment:
        raise SbatchError("--nodes is no multiple of --segment")
    if "resv_port_cnt" in fields and not int(fields.get("bitflags", 0)) & int(JobFlag["STEPMGR_ENABLED"]):
        if program != "srun" and not old:
            raise SbatchError("--resv-ports needs --stepmgr")
        del fields["resv_port_cnt"]


def _files(fields: Fields, work_dir: str) -> None:
    """Make the names of files absolute."""
    folder = fields["work_dir"] = os.path.join(work_dir, fields.get("work_dir", work_dir))
    fields.setdefault("std_in", "/dev/null")
    for name in ("std_in", "std_out", "std_err"):
        if fields.get(name) is not None and fields[name] != "none":
            fields[name] = os.path.join(folder, fields[name])
