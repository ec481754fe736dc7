# SPDX-License-Identifier: GPL-2.0-or-later
"""Which requests for GRES sbatch refuses; source: gres.c:gres_job_state_validate.

What is not certain passes: slurmctld checks the same again, after its plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import NotationError, Tres
from slurmhooks.testing.option_values import SbatchError
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE

if TYPE_CHECKING:
    from slurmhooks.testing.sbatch.options import Fields

KINDS = ("job", "node", "socket", "task")
GIVE_TASKS = ("num_tasks", "min_nodes", "req_nodes", "ntasks_per_node", "ntasks_per_tres")
"""Fields of which each gives a number of tasks."""
MULTIPLES = (("job", "node"), ("node", "socket"), ("job", "task"), ("node", "task"), ("socket", "task"))
"""Amounts of which the first must be a multiple of the second."""
OPTIONS = {"job": "--gpus", "node": "--gres or --gpus-per-node", "socket": "--gpus-per-socket",
           "task": "--gpus-per-task or --tres-per-task"}  # fmt: skip


def check(fields: Fields, release: str) -> None:
    """Refuse GRES as sbatch does.

    Args:
        fields: what the options have set.
        release: of Slurm.

    Raises:
        SbatchError: sbatch would refuse them.
    """
    amounts: dict[tuple[str, str | None], dict[str, int]] = {}
    try:
        for kind in KINDS:
            for item in Tres.parse(fields.get(f"tres_per_{kind}")):
                if item.name.startswith("gres/") and item.count:
                    own = amounts.setdefault((item.name, item.type), {})
                    own[kind] = own.get(kind, 0) + item.count
    except NotationError:
        return
    for name in {name for name, type_ in amounts if type_ is not None}:
        if (name, None) in amounts:
            raise SbatchError(f"{name} is requested with and without a type")
    for (name, _), own in amounts.items():
        _check_amounts(name, own, fields)
    gpus = any(name == "gres/gpu" for name, _ in amounts)
    for option in ("mem", "cpus") if release_of(release) >= LAYOUT_SINCE else ("mem",):
        if fields.get(f"{option}_per_tres") and not gpus and "ntasks_per_tres" not in fields:
            raise SbatchError(f"--{option}-per-gpu needs a request for GPUs")
    if fields.get("ntasks_per_tres") and not gpus and fields.keys().isdisjoint(("num_tasks", "min_nodes", "req_nodes")):
        raise SbatchError("--ntasks-per-gpu needs a number of GPUs, nodes or tasks")


def _check_amounts(name: str, own: dict[str, int], fields: Fields) -> None:
    """Refuse amounts of one GRES that do not fit together."""
    if "socket" in own and "sockets_per_node" not in fields:
        raise SbatchError("--gpus-per-socket requires --sockets-per-node")
    for more, fewer in MULTIPLES:
        if more in own and fewer in own and own[more] % own[fewer]:
            raise SbatchError(f"{name}: {OPTIONS[more]} is not a multiple of {OPTIONS[fewer]}")
    if "job" in own and "node" in own:
        nodes = own["job"] // own["node"]
        least, most = int(fields.get("min_nodes") or nodes), int(fields.get("max_nodes") or nodes)
        # A job has at most as many nodes as tasks.
        if not min(least, int(fields.get("num_tasks") or least)) <= nodes <= most:
            raise SbatchError(f"{name}: {OPTIONS['job']} and {OPTIONS['node']} make {nodes} nodes")
    if "task" in own and "job" in own:
        tasks = own["job"] // own["task"]
        if fields.get("num_tasks", tasks) != tasks:
            raise SbatchError(f"{name}: {OPTIONS['job']} and {OPTIONS['task']} make {tasks} tasks")
    elif "task" in own and fields.keys().isdisjoint(GIVE_TASKS):
        raise SbatchError(f"{name}: {OPTIONS['task']} needs -n")
