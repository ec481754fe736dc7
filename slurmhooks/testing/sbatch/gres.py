# SPDX-License-Identifier: GPL-2.0-or-later
"""Check requests for GRES, and compute numbers of nodes, tasks and CPUs from them, as commands do.

Source: gres.c:gres_job_state_validate and _test_gres_cnt. What is not certain passes: slurmctld checks the same again,
after its plugins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import NotationError, Tres
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch.releases import LAST_SINCE, LAYOUT_SINCE

if TYPE_CHECKING:
    from slurmhooks.testing.sbatch.setters import Fields

KINDS = ("cpus_per_tres", "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "mem_per_tres")
OPTIONS = {"job": "--gpus", "node": "--gres or --gpus-per-node", "socket": "--gpus-per-socket",
           "task": "--gpus-per-task or --tres-per-task"}  # fmt: skip
GPU, SHARED = "gres/gpu", ("gres/mps", "gres/shard")


@dataclass
class _Gres:
    """The amounts of one GRES: per job, node, socket and task, CPUs for each, and all together."""

    name: str
    job: int = 0
    node: int = 0
    socket: int = 0
    task: int = 0
    cpus: int = 0
    total: int = 0


def validate(fields: Fields, release: str) -> None:
    """Check amounts of GRES, and compute numbers of nodes, tasks and CPUs from them.

    Args:
        fields: of the submission; they are changed.
        release: of Slurm.

    Raises:
        SbatchError: the command would refuse them.
    """
    try:
        items = {kind: [(item.name, item.type, item.count) for item in Tres.parse(_gres_in(fields.get(kind)))
                        if item.name.startswith("gres/") and item.count] for kind in KINDS}  # fmt: skip
    except NotationError:
        return
    each, least = fields.get("ntasks_per_tres"), fields.get("min_nodes")
    implicit = fields.get("tres_per_task") is not None or each is not None
    if implicit and "num_tasks" not in fields and least is not None and least == fields.get("max_nodes"):
        per_node = each or fields.get("ntasks_per_node") or ("cpus_per_task" not in fields and 1)
        fields |= {"num_tasks": least * per_node} if per_node else {}
    amounts: dict[tuple[str, str | None], _Gres] = {}
    for kind, found in items.items():
        for name, type_, count in found:
            _add(amounts.setdefault((name, type_), _Gres(name)), kind, count, fields)
    gpus = any(name == GPU for kind in KINDS[1:-1] for name, _, _ in items[kind])
    if each and gpus:
        fields["num_tasks"] = each * sum(own.total for own in amounts.values() if own.name == GPU)
    elif each and fields.get("num_tasks"):
        gpus = True
        if implied := fields["num_tasks"] // each:
            _add(amounts.setdefault((GPU, None), _Gres(GPU)), "tres_per_job", implied, fields)
    elif each:
        raise SbatchError("--ntasks-per-gpu needs a number of GPUs, nodes or tasks")
    for option in ("mem", "cpus") if release_of(release) >= LAYOUT_SINCE else ("mem",):
        if items[f"{option}_per_tres"] and not gpus:
            raise SbatchError(f"--{option}-per-gpu needs a request for GPUs")
    for own in amounts.values():
        _check_amounts(own, fields)
    _check_names(amounts, fields)
    if not amounts:
        return
    per_gpu = max((own.cpus for own in amounts.values()), default=0)
    if release_of(release) >= LAYOUT_SINCE:
        needed = per_gpu * sum(own.total for own in amounts.values() if own.name == GPU)
        fields["min_cpus"] = max(fields["min_cpus"], needed)
    if release_of(release) >= LAST_SINCE and "cpus_per_task" in fields and "num_tasks" in fields:
        fields["min_cpus"] = max(fields["min_cpus"], fields["cpus_per_task"] * fields["num_tasks"])


def _gres_in(text: str | None) -> str:
    """Return the GRES of a list of TRES; Slurm takes an item for one only if it says so, as in ``gres/gpu``."""
    return ",".join(part for part in (text or "").split(",") if "gres" in part)


def _add(own: _Gres, kind: str, count: int, fields: Fields) -> None:
    """Add an amount, and what it makes for the whole job."""
    nodes, tasks, sockets = fields.get("min_nodes"), fields.get("num_tasks"), fields.get("sockets_per_node")
    if kind == "cpus_per_tres":
        own.cpus = count
    if kind.startswith("tres_per_"):
        setattr(own, kind.removeprefix("tres_per_"), count)
        factor = 1
        if kind == "tres_per_node" and nodes is not None:
            factor = nodes
        elif kind == "tres_per_socket" and sockets is not None:
            factor = sockets * (1 if nodes is None else nodes)
        elif kind == "tres_per_socket" and tasks is not None and fields.get("ntasks_per_socket"):
            factor = -(-tasks // fields["ntasks_per_socket"])
        elif kind == "tres_per_task" and tasks is not None:
            factor = tasks
        own.total = max(own.total, count * factor)


def _check_names(amounts: dict[tuple[str, str | None], _Gres], fields: Fields) -> None:
    """Refuse a GRES with and without a type, and GPUs together with parts of them."""
    for name in {name for name, type_ in amounts if type_ is not None}:
        own = amounts.get((name, None))
        if own is not None and (own.job or own.node or own.socket or own.task):
            raise SbatchError(f"{name} is requested with and without a type")
    shared = [name for name, _ in amounts if name in SHARED]
    if shared and (any(name == GPU for name, _ in amounts) or "gpu" in (fields.get("tres_freq") or "")):
        raise SbatchError(f"{shared[0]} excludes {GPU}")


def _check_amounts(own: _Gres, fields: Fields) -> None:
    """Refuse amounts of one GRES that do not fit together, and compute what follows from them."""
    for more, fewer in (("job", "node"), ("job", "task"), ("job", "socket"), ("node", "task"), ("node", "socket")):
        if getattr(own, more) and getattr(own, fewer) > getattr(own, more):
            raise SbatchError(f"{own.name}: {OPTIONS[more]} is less than {OPTIONS[fewer]}")
    if own.socket and "sockets_per_node" not in fields:
        raise SbatchError("--gpus-per-socket requires --sockets-per-node")
    if own.cpus and "cpus_per_task" in fields:
        raise SbatchError("--cpus-per-task and --cpus-per-gpu are mutually exclusive")
    if own.job and own.node:
        nodes = _quotient(own, "job", "node")
        if not (fields.get("min_nodes") or 0) <= nodes <= fields.get("max_nodes", nodes):
            raise SbatchError(f"{own.name}: {OPTIONS['job']} and {OPTIONS['node']} make {nodes} nodes")
        fields["min_nodes"] = fields["max_nodes"] = nodes
    if own.node and own.socket:
        _must_be(fields, "sockets_per_node", _quotient(own, "node", "socket"))
    if (each := fields.get("ntasks_per_tres")) and fields.get("num_tasks", 0) % each:
        raise SbatchError("--ntasks is no multiple of --ntasks-per-gpu")
    if own.task and own.job:
        _must_be(fields, "num_tasks", _quotient(own, "job", "task"))
    elif own.task and "num_tasks" not in fields:
        raise SbatchError(f"{own.name}: {OPTIONS['task']} needs -n")
    elif own.task:
        own.job = fields["num_tasks"] * own.task
    for kind, name in (("node", "ntasks_per_node"), ("socket", "ntasks_per_socket")):
        if own.task and getattr(own, kind):
            _must_be(fields, name, _quotient(own, kind, "task"), zero=True)
    if own.task and own.cpus:
        _must_be(fields, "cpus_per_task", own.cpus * own.task, zero=True)
    if own.job:
        if own.job < fields.get("min_nodes", 0):
            raise SbatchError(f"{own.name}: {OPTIONS['job']} is less than the number of nodes")
        if own.job < fields.get("max_nodes", 0):
            fields["max_nodes"] = own.job


def _quotient(own: _Gres, more: str, fewer: str) -> int:
    quotient, rest = divmod(getattr(own, more), getattr(own, fewer))
    if rest:
        raise SbatchError(f"{own.name}: {OPTIONS[more]} is not a multiple of {OPTIONS[fewer]}")
    return int(quotient)


def _must_be(fields: Fields, name: str, value: int, *, zero: bool = False) -> None:
    """Set a number that is not given (or 0), or refuse another one."""
    if name not in fields or (zero and not fields[name]):
        fields[name] = value
    elif fields[name] != value:
        raise SbatchError(f"{name} is {fields[name]}, but amounts of GRES make {value}")
