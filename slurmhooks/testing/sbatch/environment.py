# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment that sbatch sends with a job.

Source: sbatch.c:_fill_job_desc_from_opts and opt.c:set_envs.
"""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import JobFlag, TaskDist
from slurmhooks.fields.rows import release_of
from slurmhooks.testing.options.texts import printed
from slurmhooks.testing.sbatch.releases import LAST_SINCE, LAYOUT_SINCE
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.testing.sbatch.setters import Fields

WORD = re.compile(r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|[^,'"])+,?|,""")
"""A word of --export, with the comma after it."""
UNLIMITED_16 = 0xFFFF
KEPT = ("SLURM_", "_SLURM_SPANK_OPTION_")
"""Begins the names of variables that --export does not remove."""
OF_OPTIONS = {
    "cpus-per-gpu": "SLURM_CPUS_PER_GPU",
    "distribution": "SLURM_DISTRIBUTION",
    "gpu-freq": "SLURM_GPU_FREQ",
    "gpus": "SLURM_GPUS",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
    "gpus-per-socket": "SLURM_GPUS_PER_SOCKET",
    "hint": "SLURM_HINT",
    "ntasks-per-gpu": "SLURM_NTASKS_PER_GPU",
    "ntasks-per-tres": "SLURM_NTASKS_PER_TRES",
}
"""Variables that have the text of an option."""
OF_OLD_OPTIONS = {
    "acctg-freq": "SLURM_ACCTG_FREQ",
    "cpu-freq": "SLURM_CPU_FREQ_REQ",
    "gpu-bind": "SLURM_GPU_BIND",
    "gpus-per-task": "SLURM_GPUS_PER_TASK",
    "open-mode": "SLURM_OPEN_MODE",
    "profile": "SLURM_PROFILE",
}
"""More of them, before LAYOUT_SINCE."""
OF_NEW_FIELDS = ("tres_bind", "tres_per_task")
"""Fields without variables before LAYOUT_SINCE."""
OF_FIELDS = {
    "cpus_per_task": ("SLURM_CPUS_PER_TASK",),
    "num_tasks": ("SLURM_NPROCS", "SLURM_NTASKS"),
    "ntasks_per_core": ("SLURM_NTASKS_PER_CORE",),
    "ntasks_per_node": ("SLURM_NTASKS_PER_NODE",),
    "ntasks_per_socket": ("SLURM_NTASKS_PER_SOCKET",),
    "plane_size": ("SLURM_DIST_PLANESIZE",),
    "threads_per_core": ("SLURM_THREADS_PER_CORE",),
    "tres_bind": ("SLURM_TRES_BIND",),
    "tres_per_task": ("SLURM_TRES_PER_TASK",),
}
"""Variables that have the value of a field."""


def export(fields: Fields, environment: Mapping[str, str], work_dir: str, release: str) -> None:
    """Compute the environment of the job, without the variables that follow from its fields.

    Args:
        fields: of the submission, with ``_export`` and ``_export_file``.
        environment: of sbatch.
        work_dir: where sbatch runs.
        release: of Slurm.
    """
    given, old = fields.get("_export", "ALL"), release_of(release) < LAYOUT_SINCE
    # With --export-file, sbatch has emptied its own environment by then.
    own = {} if "_export_file" in fields else environment
    environment = {**own, **_of_process(environment, work_dir)}
    if old and "name" in fields and "_export_file" not in fields:
        environment["SLURM_JOB_NAME"] = fields["name"]
    if given.upper() != "ALL" and "_export_file" not in fields:
        environment = {"SLURM_EXPORT_ENV": given, **environment}
    if "dependency" in fields and fields["dependency"] is not None:
        environment["SLURM_JOB_DEPENDENCY"] = fields["dependency"]
    for name in ("container", "container_id", "container_type"):
        if fields.get(name):
            environment.setdefault(f"SLURM_{name.upper()}", fields[name])
    kept_names = KEPT[:1] if old else KEPT
    kept = {name: value for name, value in environment.items() if name.startswith(kept_names)}
    if given.upper() == "ALL":
        kept = dict(environment)
    elif given.upper() not in ("NONE", "NIL"):
        for word in exported(given):
            name, equals, value = word.partition("=")
            if word.upper() == "ALL":
                kept.update(environment)
            elif equals or name in environment:
                kept[name] = value if equals else environment[name]
    if "_export_file" in fields and (given.upper() != "ALL" or release_of(release) < LAST_SINCE):
        pairs = (line.partition("=") for line in fields["_export_file"].split("\0"))
        of_file = {name: value for name, _, value in pairs if name}
        kept = of_file | kept
    if fields.pop("_user_environment", False) or given.upper() not in (("ALL",) if old else ("ALL", "NIL")):
        kept["SLURM_GET_USER_ENV"] = "1"
    fields["environment"] = kept


def exported(text: str) -> list[str]:
    """Return the words of ``--export``: a comma within quotes is part of a value, which keeps the quotes.

    Only quotes around a whole word are removed. The text after a quote that is not closed is one word.
    """
    words: list[str] = []
    for match in WORD.finditer(text):
        word = match[0].removesuffix(",")
        words.append(word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word)
    return words


def variables_of(fields: Fields, given: Mapping[str, str | None], release: str) -> dict[str, str]:
    """Return the variables that follow from the options.

    Args:
        fields: of the submission, as options set them.
        given: the options with their arguments.
        release: of Slurm.
    """
    old = release_of(release) < LAYOUT_SINCE
    tasks_given = int(fields["bitflags"]) & int(JobFlag.JOB_NTASKS_SET)
    of_options = OF_OPTIONS | OF_OLD_OPTIONS if old else OF_OPTIONS
    printed_ones = {
        name: printed(name, text, release_of(release))
        for name, text in given.items()
        if name in of_options and text is not None
    }
    variables = {of_options[name]: text for name, text in printed_ones.items()}
    if "SLURM_DISTRIBUTION" in variables:
        variables["SLURM_DISTRIBUTION"] = variables["SLURM_DISTRIBUTION"].partition("=")[0]
    if "SLURM_NTASKS_PER_TRES" in variables:
        variables.pop("SLURM_NTASKS_PER_GPU", None)
    if fields.get("task_dist") == TaskDist.SLURM_DIST_ARBITRARY:  # also if SLURM_HOSTFILE makes it so
        variables["SLURM_DISTRIBUTION"] = "arbitrary"
    if "mem_per_tres" in fields:
        variables["SLURM_MEM_PER_GPU"] = fields["mem_per_tres"].rpartition(":")[2]
    for name, names in OF_FIELDS.items():
        left_out = (old and name in OF_NEW_FIELDS) or (name == "num_tasks" and not tasks_given)
        left_out |= name == "plane_size" and fields.get("task_dist") != TaskDist.SLURM_DIST_PLANE
        if (value := fields.get(name)) is not None and not left_out:
            number = UNLIMITED_16 if value is UNLIMITED else value
            variables |= dict.fromkeys(names, str(number if isinstance(number, str) else int(number)))
    return variables


def _of_process(environment: Mapping[str, str], work_dir: str) -> dict[str, str]:
    mask = os.umask(0)
    os.umask(mask)
    return {
        "SLURM_PRIO_PROCESS": str(os.getpriority(os.PRIO_PROCESS, 0)),
        "SLURM_SUBMIT_DIR": work_dir,
        "SLURM_SUBMIT_HOST": socket.gethostname(),
        "SLURM_UMASK": environment.get("SLURM_UMASK", f"{mask:04o}"),
    }
