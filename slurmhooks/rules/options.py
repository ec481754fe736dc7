# SPDX-License-Identifier: GPL-2.0-or-later
"""How users set fields of a job: the options of sbatch, and the keys of ``scontrol update``, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import rows
from slurmhooks.log import visible
from slurmhooks.rules.kinds import shown_memory, shown_moment, shown_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slurmhooks.rules.request import Request

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


def _per_gpu(text: str) -> str:
    """Return an amount of memory for each GPU as users give it."""
    number = text.rpartition(":")[2]
    return shown_memory(int(number)) if number.isdecimal() else _shown(text)


MOMENTS = ("begin_time", "deadline", "end_time")
"""Fields with seconds since 1970, of which 0 means none."""
AMOUNTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "min_mem_per_cpu": ("mem_per_cpu", shown_memory),
    "min_mem_per_node": ("mem", shown_memory),
    "mem_per_tres": ("mem_per_gpu", _per_gpu),
    "time_limit": ("time_limit", shown_time),
    "time_min": ("time_min", shown_time),
    **{name: (name, shown_moment) for name in MOMENTS},
}
"""Fields that have another name in OPTIONS, or are not shown as they are."""
AS_SENT: tuple[dict[str, Any], None, dict[str, Any]] = {}, None, {}
"""The savepoint of a request to which no handler has written."""


def option_name(field: str) -> str:
    """Return the name in OPTIONS of a field."""
    return AMOUNTS[field][0] if field in AMOUNTS else field


def option_shown(field: str) -> str:
    """Return the option of sbatch for a field, as Markdown."""
    return f"`{OPTIONS.get(option_name(field), (field,))[0]}`"


def filled_in(request: Request, fields: Iterable[str]) -> list[str]:
    """Return a line for each of the given fields that handlers have filled in or changed: the user gave none of it.

    Other fields are not read: a replay may not know them.
    """
    job, own = request.job, rows(JobFields)
    written = job.savepoint()
    members = job._state.writes.keys()
    known = [name for name in fields if name in own and name in OPTIONS | AMOUNTS]
    names = [name for name in known if not members.isdisjoint(own[name].members)]
    now = {name: getattr(job, name) for name in names}
    try:
        job.rollback(AS_SENT)
        sent = {name: getattr(job, name) for name in names}
    finally:
        job.rollback(written)
    lines = []
    for name, value in now.items():
        if value is None or value == sent[name]:
            continue
        named, show = AMOUNTS.get(name, (name, _shown))
        option, given = option_of(request, named), sent[name]
        if given is None or (name in MOMENTS and not given):
            lines.append(f"you gave no {option}: {show(value)} was filled in")
        else:
            lines.append(f"you gave {option} {show(given)}: it was changed to {show(value)}")
    return lines


def _shown(value: object) -> str:
    return visible(str(value), limit=200)
