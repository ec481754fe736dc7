# SPDX-License-Identifier: GPL-2.0-or-later
"""The names and formats that scontrol and sacctmgr have for the fields of nodes, licenses, QOS and associations."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from slurmhooks.job_submit.constants import PreemptMode, QosFlag
from slurmhooks.job_submit.strings import time_str2mins


def _text(value: Any) -> str:
    return "(null)" if value is None else str(value)


def time_text(value: int) -> str:
    """Return a point in time as scontrol shows it."""
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%S")


NODE: dict[str, tuple[str, Callable[[Any], str]]] = {
    "arch": ("Arch", _text),
    "boards": ("Boards", _text),
    "boot_time": ("BootTime", time_text),
    "comm_name": ("NodeAddr", _text),
    "comment": ("Comment", _text),
    "core_spec_cnt": ("CoreSpecCount", _text),
    "cores": ("CoresPerSocket", _text),
    "cpu_load": ("CPULoad", lambda value: "N/A" if value is None else f"{value / 100:.2f}"),
    "cpu_spec_list": ("CPUSpecList", _text),
    "cpus": ("CPUTot", _text),
    "cpus_efctv": ("CPUEfctv", _text),
    "extra": ("Extra", _text),
    "features": ("AvailableFeatures", _text),
    "features_act": ("ActiveFeatures", _text),
    "free_mem": ("FreeMem", lambda value: "N/A" if value is None else str(value)),
    "gres": ("Gres", _text),
    "gres_used": ("GresUsed", _text),
    "last_busy": ("LastBusyTime", time_text),
    "mcs_label": ("MCS_label", lambda value: value or "N/A"),
    "mem_spec_limit": ("MemSpecLimit", _text),
    "name": ("NodeName", _text),
    "node_hostname": ("NodeHostName", _text),
    "os": ("OS", _text),
    "owner": ("Owner", lambda value: "N/A" if value is None else str(value)),
    "partitions": ("Partitions", ",".join),
    "port": ("Port", _text),
    "real_memory": ("RealMemory", _text),
    "resume_after": ("ResumeAfterTime", lambda value: time_text(value) if value else "None"),
    "resv_name": ("ReservationName", _text),
    "slurmd_start_time": ("SlurmdStartTime", time_text),
    "threads": ("ThreadsPerCore", _text),
    "tmp_disk": ("TmpDisk", _text),
    "topology_str": ("Topology", _text),
    "tot_sockets": ("Sockets", _text),
    "tres_fmt_str": ("CfgTRES", _text),
    "version": ("Version", _text),
    "weight": ("Weight", _text),
}
"""What scontrol shows of a field, and how; it leaves some out that are not set."""


LICENSE: dict[str, tuple[str, Callable[[Any], str]]] = {
    "available": ("Free", _text),
    "last_consumed": ("LastConsumed", _text),
    "last_deficit": ("LastDeficit", _text),
    "last_update": ("LastUpdate", time_text),
    "name": ("LicenseName", _text),
    "remote": ("Remote", lambda value: "yes" if value else "no"),
    "reserved": ("Reserved", _text),
    "total": ("Total", _text),
    "used": ("Used", _text),
}


def _number(text: str) -> Any:
    return int(text) if text else "UNLIMITED"


def _real(text: str) -> Any:
    return float(text) if text else "UNLIMITED"


def _minutes(text: str) -> Any:
    return time_str2mins(text) if text else "UNLIMITED"


def _seconds(text: str) -> Any:
    if not text:
        return "UNLIMITED"
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def _names(text: str) -> list[str]:
    return sorted(text.split(",")) if text else []


def _or_none(text: str) -> str | None:
    return text or None


QOS_FLAGS = {"DenyOnLimit": QosFlag.QOS_FLAG_DENY_LIMIT, "NoDecay": QosFlag.QOS_FLAG_NO_DECAY}
PREEMPT_MODES = {"cluster": PreemptMode.PREEMPT_MODE_OFF, "cancel": PreemptMode.PREEMPT_MODE_CANCEL}
Columns = dict[str, tuple[str, Callable[[str], Any]]]
LIMITS: Columns = {
    "grp_jobs": ("GrpJobs", _number),
    "grp_jobs_accrue": ("GrpJobsAccrue", _number),
    "grp_submit_jobs": ("GrpSubmit", _number),
    "grp_tres": ("GrpTRES", _or_none),
    "grp_tres_mins": ("GrpTRESMins", _or_none),
    "grp_tres_run_mins": ("GrpTRESRunMins", _or_none),
    "grp_wall": ("GrpWall", _minutes),
    "id": ("ID", int),
    "max_tres_mins_pj": ("MaxTRESMins", _or_none),
    "max_tres_pj": ("MaxTRES", _or_none),
    "max_tres_pn": ("MaxTRESPerNode", _or_none),
    "max_wall_pj": ("MaxWall", _minutes),
}
"""What QOS and associations have."""
QOS_COLUMNS: Columns = {
    **LIMITS,
    "description": ("Description", str),
    "flags": ("Flags", lambda text: int(sum(QOS_FLAGS[name] for name in _names(text)))),
    "grace_time": ("GraceTime", _seconds),
    "limit_factor": ("LimitFactor", _real),
    "max_jobs_accrue_pa": ("MaxJobsAccruePA", _number),
    "max_jobs_accrue_pu": ("MaxJobsAccruePU", _number),
    "max_jobs_pa": ("MaxJobsPA", _number),
    "max_jobs_pu": ("MaxJobsPU", _number),
    "max_submit_jobs_pa": ("MaxSubmitPA", _number),
    "max_submit_jobs_pu": ("MaxSubmitPU", _number),
    "max_tres_pa": ("MaxTRESPA", _or_none),
    "max_tres_pu": ("MaxTRESPU", _or_none),
    "max_tres_run_mins_pa": ("MaxTRESRunMinsPA", _or_none),
    "max_tres_run_mins_pu": ("MaxTRESRunMinsPU", _or_none),
    "min_prio_thresh": ("MinPrioThres", _number),
    "min_tres_pj": ("MinTRES", _or_none),
    "name": ("Name", str),
    "preempt": ("Preempt", _names),
    "preempt_exempt_time": ("PreemptExemptTime", _seconds),
    "preempt_mode": ("PreemptMode", lambda text: int(PREEMPT_MODES[text])),
    "priority": ("Priority", int),
    "usage_factor": ("UsageFactor", float),
    "usage_thres": ("UsageThres", _real),
}
GROUP = {"accrue_cnt": "GrpJobsAccrue", "grp_used_jobs": "GrpJobs", "grp_used_submit_jobs": "GrpSubmitJobs"}
"""What is in use, as "scontrol show assoc_mgr" shows it: in parentheses behind the limit."""


def used(text: str, label: str) -> str:
    """Return how much of a limited resource is in use."""
    found = re.search(rf"\b{label}=[^ (]*\(([\d.]+)\)", text)
    assert found, f"{label} in {text}"
    return found[1]


def used_tres(text: str) -> set[str]:
    """Return TRES in use, as name=count."""
    found = re.search(r"\bGrpTRES=(\S*)", text)
    assert found, text
    pairs = re.findall(r"([\w/]+)=\w+\((\d+)\)", found[1])
    return {f"{name}={count}" + ("M" if name == "mem" else "") for name, count in pairs if count != "0"}


def words(text: str | None) -> set[str]:
    """Return the texts between commas."""
    return set(text.split(",")) if text else set()


ASSOCIATION_COLUMNS: Columns = {
    **LIMITS,
    "account": ("Account", str),
    "cluster": ("Cluster", str),
    "default_qos": ("DefaultQOS", _or_none),
    "max_jobs": ("MaxJobs", _number),
    "max_jobs_accrue": ("MaxJobsAccrue", _number),
    "max_submit_jobs": ("MaxSubmit", _number),
    "parent_account": ("ParentName", _or_none),
    "parent_id": ("ParentID", lambda text: int(text or 0)),
    "partition": ("Partition", _or_none),
    "priority": ("Priority", lambda text: int(text or 0)),
    "qos": ("QOS", _names),
    "shares_raw": ("Share", int),
    "user": ("User", _or_none),
}
ASSOCIATION_GROUP = {"accrue_cnt": "GrpJobsAccrue", "used_jobs": "GrpJobs", "used_submit_jobs": "GrpSubmitJobs"}
SHARES = {"shares_norm": 1, "fs_factor": 3}
USAGE = {"usage_raw": 0, "usage_norm": 1, "usage_efctv": 2}
"""Places of what slurmctld shows with slashes between."""
