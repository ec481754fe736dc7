# SPDX-License-Identifier: GPL-2.0-or-later
"""How users set fields of a job: the options of sbatch, and the keys of ``scontrol update``, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

OPTIONS = {
    "account": ("--account", "Account"),
    "begin_time": ("--begin", "StartTime"),
    "comment": ("--comment", "Comment"),
    "cpus_per_gpu": ("--cpus-per-gpu", "CpusPerTres"),
    "deadline": ("--deadline", "Deadline"),
    "dependency": ("--dependency", "Dependency"),
    "end_time": ("--time", "EndTime"),
    "exc_nodes": ("--exclude", "ExcNodeList"),
    "features": ("--constraint", "Features"),
    "gpu": ("--gpus=1", "TresPerJob=gres/gpu:1"),
    "gpu_type": ("--gpus=TYPE:1", "TresPerJob=gres/gpu:TYPE:1"),
    "gpus": ("--gpus or --nodes", "TresPerJob or NumNodes"),
    "gpus_per_node": ("--gpus-per-node", "TresPerNode"),
    "licenses": ("--licenses", "Licenses"),
    "mail_user": ("--mail-user", "MailUser"),
    "mem": ("--mem", "MinMemoryNode"),
    "memory": ("--mem, --mem-per-cpu or --mem-per-gpu", "MinMemoryNode or MinMemoryCPU"),
    "mem_per_cpu": ("--mem-per-cpu", "MinMemoryCPU"),
    "mem_per_gpu": ("--mem-per-gpu", "MemPerTres"),
    "min_nodes": ("--nodes", "NumNodes"),
    "name": ("--job-name", "JobName"),
    "nice": ("--nice", "Nice"),
    "num_tasks": ("--ntasks", "NumTasks"),
    "partition": ("--partition", "Partition"),
    "prefer": ("--prefer", "Prefer"),
    "priority": ("--priority", "Priority"),
    "qos": ("--qos", "QOS"),
    "req_nodes": ("--nodelist", "ReqNodeList"),
    "requeue": ("--requeue", "Requeue"),
    "reservation": ("--reservation", "ReservationName"),
    "time_limit": ("--time", "TimeLimit"),
    "time_min": ("--time-min", "TimeMin"),
    "wckey": ("--wckey", "WCKey"),
    "work_dir": ("--chdir", "WorkDir"),
}
"""How users set fields and amounts, by sbatch and by scontrol update."""


def option_of(request: Request, name: str) -> str:
    """Return how the command that the user runs sets something; without an entry in OPTIONS, its name."""
    return OPTIONS.get(name, (name, name))[request.modify]
