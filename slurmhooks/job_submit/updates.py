# SPDX-License-Identifier: GPL-2.0-or-later
"""What an update of a job changes: which fields, and what of them is only a value that the client always sends.

Source: _update_job() of job_mgr.c; tests/cluster/test_job_rules.py compares the table with it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from slurmhooks.errors import StaleHandleError
from slurmhooks.fields import ZERO_LEAVES, JobFields
from slurmhooks.fields.rows import Release, release_of, rows
from slurmhooks.slurmctld.logged_fields import plain
from slurmhooks.values import UNLIMITED
from slurmhooks.wire.message import MessageError

_MEMBERS = """
    account admin_comment array_inx begin_time burst_buffer cluster_features clusters comment contiguous core_spec
    cores_per_socket cpus_per_task cpus_per_tres deadline delay_boot dependency end_time exc_nodes extra features
    job_size_str licenses mail_type mail_user max_cpus max_nodes mcs_label mem_per_tres min_cpus min_nodes name network
    nice ntasks_per_node ntasks_per_socket ntasks_per_tres num_tasks partition pn_min_cpus pn_min_memory pn_min_tmp_disk
    prefer priority qos reboot req_nodes req_switch requeue reservation segment_size shared site_factor sockets_per_node
    std_err std_in std_out threads_per_core time_limit time_min tres_bind tres_freq tres_per_job tres_per_node
    tres_per_socket tres_per_task wait4switch wckey work_dir
"""
_SINCE = {"mcs_label": (25, 5), "segment_size": (26, 11), "std_err": (23, 2), "std_in": (23, 2)}
"""The first release with each of these that is not in all releases."""

_READ_BEFORE = frozenset({"array_inx", "burst_buffer"})
_OF_OPERATORS = frozenset({"core_spec", "deadline", "ntasks_per_node", "ntasks_per_socket", "reboot", "shared"})
"""Members that slurmctld lets only operators change, also if a plugin has set them."""

_WITH_A_MOVE = frozenset({
    "account", "admin_comment", "comment", "extra", "licenses", "mail_type", "mail_user", "name", "partition", "qos",
    "requeue", "reservation", "std_err", "std_in", "std_out", "work_dir",
})  # fmt: skip
"""Members that slurmctld never refuses after it has moved a job."""

FIRST_OF_FEDERATION = 1 << 26
"""The lowest job id of a federation: its upper bits are the number of a cluster."""

_OF_ASSOCIATION = ("account", "partition", "reservation")
DEPENDS = {
    "partition": ("partition", "reservation"),
    "default_partition": ("reservation",),
    "licenses": ("licenses", "tres_per_task"),
    **dict.fromkeys(("assoc_comment", "assoc_qos", "charged_account", "default_qos"), _OF_ASSOCIATION),
}
"""The fields of a request on which another one depends: those that slurmctld works out, and the partition."""


def members(release: Release | None = None) -> frozenset[str]:
    """Return the members that slurmctld reads in an update of a release, or of any; it ignores others that are sent."""
    return frozenset(name for name in _MEMBERS.split() if release is None or release >= _SINCE.get(name, release))


@cache
def fields(release: Release | None = None) -> frozenset[str]:
    """Return the fields that an update may change in a release, or in any."""
    read = members(release)
    return frozenset(name for name, row in rows(JobFields).items() if read.intersection(row.members))


@cache
def ignores(name: str, release: Release) -> bool:
    """Tell whether slurmctld ignores a field in an update; scontrol sends few of these, other clients can send all."""
    own = rows(JobFields)
    return name in own and bool(own[name].members) and name not in fields(release)


@cache
def is_read_before(name: str) -> bool:
    """Tell whether slurmctld reads a field of an update before plugins run, so what these write has no effect."""
    return not _READ_BEFORE.isdisjoint(rows(JobFields)[name].members)


def cannot_write(name: str, value: Any, release: Release, *, job_id: int, of_user: bool) -> bool:
    """Tell whether a plugin cannot give a field this value in an update.

    slurmctld would ignore it, or refuse it after it has applied a part of the update, such as a move.
    """
    if ignores(name, release) or is_read_before(name) or name == "job_size_str":  # its nodes must be among the job's
        return True
    if name in ("clusters", "cluster_features"):
        return job_id < FIRST_OF_FEDERATION
    if not of_user:
        return False
    if name == "contiguous":
        return bool(value)
    if name == "nice":
        return bool(value < 0)
    if name == "priority":
        return value not in (0, UNLIMITED)
    return not _OF_OPERATORS.isdisjoint(rows(JobFields)[name].members)


def late(job: Any) -> list[str]:
    """Return the fields that a user sets in an update and that slurmctld may refuse after it has moved the job.

    It applies an update in its own order, and keeps what it has applied when it refuses the rest, which may be what a
    plugin has set.
    """
    own, written = rows(JobFields), job._state.writes.keys()
    found: dict[frozenset[str], str] = {}
    for name in sorted(fields(release_of(job._release)) - job._missing.keys()):
        given = frozenset(own[name].members)
        if given.isdisjoint(_WITH_A_MOVE | written) and sets(job, name) and not _lowers(job, name):
            found.setdefault(given, name)
    return list(found.values())


def _lowers(job: Any, name: str) -> bool:
    """Tell whether an update only lowers the priority by nice, or the time limit, which users may."""
    if name == "nice":
        return bool(job.nice >= 0)
    record, limit = job._record, job.time_limit
    if name != "time_limit" or record is None or limit < (record.time_min or 0):
        return False
    # Slurm takes a job without a limit for one that has more than any limit, but not more than UNLIMITED.
    return bool(limit != UNLIMITED if record.time_limit is None else limit <= record.time_limit)


@cache
def sharing(name: str) -> frozenset[str]:
    """Return a field and those that are other views of its member, such as ``gres`` and ``tres_per_node``."""
    own = rows(JobFields)
    members = set(own[name].members) if name in own else set()
    return frozenset({name, *(other for other, row in own.items() if members.intersection(row.members))})


def sets(job: Any, name: str) -> bool:
    """Tell whether an update sets a field."""
    value = getattr(job, name)
    return value is not None and not (value == 0 and name in ZERO_LEAVES)


def asked(job: Any) -> list[str]:
    """Return what an update asks for, as NAME=VALUE, for people; each member once, and no secrets."""
    found: dict[frozenset[str], str] = {}
    own = rows(JobFields)
    for name in sorted(fields(release_of(job._release)) - job._missing.keys()):
        try:
            if sets(job, name):
                text = (
                    f"{name} (not logged)" if own[name].facts.get("secret") else f"{name}={plain(getattr(job, name))}"
                )
                found.setdefault(frozenset(own[name].members), text)
        except (StaleHandleError, MessageError):  # it was too long to be sent, and slurmctld no longer answers
            found.setdefault(frozenset(own[name].members), f"{name}=(too long)")
    return list(found.values())
