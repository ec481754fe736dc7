# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of slurm.conf: partitions, and the defaults and limits by which slurmctld completes or changes a request."""

from __future__ import annotations

import os
import re
from functools import cache, lru_cache
from typing import NamedTuple

from slurmhooks.files import slurm_conf
from slurmhooks.job_submit.bounds.model import ENDLESS
from slurmhooks.job_submit.strings import NotationError, time_str2mins
from slurmhooks.values import UNLIMITED, Unlimited

ASSIGNMENT = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|(\S+))')
TRUE = ("yes", "up", "true", "1")
OF_ALL = "default"
"""The name of partitions whose line of slurm.conf has defaults for the lines below it."""


class Defaults(NamedTuple):
    """Values that Slurm fills in, and limits by which it changes a request. None: not set, or not known.

    Attributes:
        mem_per_cpu, mem_per_node: DefMemPerCPU and DefMemPerNode, in MiB.
        max_mem_per_cpu: MaxMemPerCPU; jobs that ask for more get more CPUs.
        cpu_per_gpu, mem_per_gpu: DefCpuPerGPU and DefMemPerGPU.
        min_nodes: MinNodes.
        exclusive: OverSubscribe=EXCLUSIVE.
        default_time: DefaultTime in minutes; ENDLESS for UNLIMITED.
        max_time: MaxTime in minutes.
        alternate: Alternate: the partition that takes its jobs while it accepts none.
        threads: the largest ThreadsPerCore.
        core_spec: AllowSpecResourcesUsage: Slurm does not ignore --core-spec and --thread-spec.
        linear: SelectType=select/linear: jobs get whole nodes; None: slurm.conf sets no SelectType.
        whole_sockets, whole_cores: SelectTypeParameters: jobs get whole sockets, or whole cores, at least.
        one_task_per_core: CR_ONE_TASK_PER_CORE.
        binds_gpus: ENFORCE_BINDING_GRES: jobs get CPUs next to their GPUs, unless they refuse.
    """

    mem_per_cpu: int | None = None
    mem_per_node: int | None = None
    max_mem_per_cpu: int | None = None
    cpu_per_gpu: int | None = None
    mem_per_gpu: int | None = None
    min_nodes: int | None = None
    exclusive: bool = False
    default_time: int | None = None
    max_time: int | None = None
    alternate: str | None = None
    threads: int = 1
    core_spec: bool = True
    linear: bool | None = False
    whole_sockets: bool = False
    whole_cores: bool = True
    one_task_per_core: bool = False
    binds_gpus: bool = False


def of_partition(name: str | None) -> Defaults:
    """Return the defaults of a partition, as slurm.conf has them, or else those of the cluster; no name: only these.

    Raises:
        ConfigError: a file includes itself.
    """
    return _of_partition(name or "", *_version())


@lru_cache(1000)  # users choose the names
def _of_partition(name: str, path: str, changed: int, size: int) -> Defaults:
    cluster, partitions = _read(path, changed, size)
    values = {**cluster, **partitions.get(name, {})}
    select = values.get("selecttypeparameters", "").lower()
    return Defaults(
        mem_per_cpu=_number(values.get("defmempercpu")),
        mem_per_node=_number(values.get("defmempernode")),
        max_mem_per_cpu=_number(values.get("maxmempercpu")),
        cpu_per_gpu=_number(values.get("defcpupergpu")),
        mem_per_gpu=_number(values.get("defmempergpu")),
        min_nodes=_number(values.get("minnodes")),
        exclusive=values.get("oversubscribe", values.get("shared", "")).lower() == "exclusive",
        default_time=_minutes(values.get("defaulttime"), ENDLESS),
        max_time=_minutes(values.get("maxtime")),
        alternate=values.get("alternate") or None,
        threads=_number(values.get("threadspercore")) or 1,
        core_spec=not cluster or values.get("allowspecresourcesusage", "no").lower() in TRUE,
        linear=_is_linear(cluster),
        whole_sockets="cr_socket" in select,
        whole_cores="cr_cpu" not in select,
        one_task_per_core="cr_one_task_per_core" in cluster.get("selecttypeparameters", "").lower(),
        binds_gpus="enforce_binding_gres" in cluster.get("selecttypeparameters", "").lower(),
    )


def limits_memory_of_cpus(partitions: str | None) -> bool:
    """Return whether one of the partitions of a job has MaxMemPerCPU."""
    return any(of_partition(name).max_mem_per_cpu for name in (partitions or "").split(","))


def default_partition() -> str | None:
    """Return the default partition in slurm.conf; None if there is none."""
    names = [name for name, values in _conf()[1].items() if values.get("default", "").lower() == "yes"]
    return names[-1] if names else None


def mail_user(name: str | None) -> str | None:
    """Return the address that slurmctld gives to the job of a user who names none (_get_mail_user() of job_mgr.c)."""
    domain = _conf()[0].get("maildomain")
    return f"{name}@{domain}" if domain else name


def times() -> set[int | Unlimited]:
    """Return the time limits in minutes that partitions give to jobs that name none."""
    found = {_minutes(values.get("defaulttime"), ENDLESS) for values in _conf()[1].values()}
    return {UNLIMITED if minutes == ENDLESS else minutes for minutes in found if minutes is not None}


def requeues() -> bool:
    """Return whether slurmctld requeues jobs that do not say it: JobRequeue."""
    return _conf()[0].get("jobrequeue", "1") != "0"


def counts_gpus() -> bool:
    """Return whether slurmctld counts GPUs among the TRES of jobs."""
    return "gres/gpu" in _conf()[0].get("accountingstoragetres", "").lower().split(",")


def enforces_associations() -> bool:
    """Return whether slurmctld refuses jobs of users in accounts that are not theirs."""
    enforced = _conf()[0].get("accountingstorageenforce", "").lower().split(",")
    return not {"1", "2", "all", "associations", "limits", "qos", "safe", "wckeys"}.isdisjoint(enforced)


def partitions() -> list[str]:
    """Return the names of the partitions in slurm.conf."""
    return list(_conf()[1])


def _is_linear(cluster: dict[str, str]) -> bool | None:
    select = cluster.get("selecttype", "").lower()
    return select == "select/linear" if select or not cluster else None


def _conf() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    return _read(*_version())


def _version() -> tuple[str, int, int]:
    """Return the path of slurm.conf, and when it was changed and its size; no path if there is no such file."""
    path = slurm_conf.environment("SLURM_CONF") or f"{slurm_conf.directory()}/slurm.conf"
    try:
        status = os.stat(path)
    except OSError:
        return "", 0, 0
    return path, status.st_mtime_ns, status.st_size


@cache
def _read(path: str, changed: int, size: int) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the values of the cluster and those of each partition; read once for each version of the file."""
    if not path:
        return {}, {}
    cluster: dict[str, str] = {}
    partitions: dict[str, dict[str, str]] = {}
    general: dict[str, str] = {}
    for line in slurm_conf.lines(path):
        values = {match[1].lower(): match[2] or match[3] or "" for match in ASSIGNMENT.finditer(line)}
        names = values.pop("partitionname", None)
        if names is None:
            threads = (each.get("threadspercore", "") for each in (cluster, values))
            cluster |= {**values, "threadspercore": str(max(_number(each) or 1 for each in threads))}
        elif names.lower() == OF_ALL:
            general |= values
        else:
            partitions |= {name: {**general, **values} for name in names.split(",")}
    return cluster, partitions


def _number(text: str | None) -> int | None:
    """Return a number of slurm.conf; 0 and UNLIMITED are no limit."""
    return int(text) or None if text is not None and text.isdecimal() else None


def _minutes(text: str | None, unlimited: int | None = None) -> int | None:
    """Return a time limit of slurm.conf; None for none, or one that slurmctld refuses."""
    try:
        minutes = time_str2mins(text) if text else None
    except NotationError:
        return None
    return minutes if isinstance(minutes, int) else unlimited if minutes is UNLIMITED else None
