# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a request are known, if not all options of its command are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields.rows import rows
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.testing.sbatch.options import OPTIONS
from slurmhooks.workshop.testing.sbatch.setters import Sets

if TYPE_CHECKING:
    from collections.abc import Set

MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
OWN = {
    "account": ("account",),
    "array_inx": ("array",),
    "comment": ("comment",),
    "dependency": ("dependency",),
    "exc_nodes": ("exclude",),
    "features": ("constraint",),
    "licenses": ("licenses", "resources"),
    "mem_per_tres": MEMORY,
    "nice": ("nice",),
    "partition": ("partition",),
    "pn_min_memory": MEMORY,
    "prefer": ("prefer",),
    "qos": ("qos",),
    "reservation": ("reservation",),
    "time_limit": ("time",),
    "time_min": ("time-min",),
    "tres_per_job": ("gpus",),
    "tres_per_node": ("gpus-per-node", "gres"),
    "tres_per_socket": ("gpus-per-socket",),
    "wckey": ("wckey",),
}
"""Members that few options decide: these are known if the options are. All others are known together."""
ONLY_OF_SBATCH = {"array_inx"}
DECISIVE = {
    "cpus_per_task": ("cpus-per-task",),
    "mem_per_tres": MEMORY,
    "num_tasks": ("ntasks",),
    "pn_min_memory": MEMORY,
}
"""Options of which the last one on the command line decides a member, whatever script and variables give."""
PER_GPU = ("ntasks-per-gpu", "ntasks-per-tres")
"""Options that replace ``--ntasks`` if GPUs are requested, too; of those in a script or variable, nobody gives both."""
SHOWN = frozenset(
    {"account", "chdir", "comment", "constraint", "job-name", "partition", "qos", "reservation", "time", "wckey"}
)
"""The options of which accounting shows the effect: a column has what the job got."""
ALONE = SHOWN.union(*OWN.values()) - {"gpus", "gpus-per-node", "gpus-per-socket", "gres"}
"""Options on which no member depends but those above and flags."""
OF_MORE = {"name", "work_dir", "std_in", "std_out", "std_err"}
"""Members that more than options decide, or --chdir, too."""
_COMPUTED = """
    bitflags boards_per_node cpu_freq_gov cpu_freq_max cpu_freq_min end_time immediate job_size_str
    kill_on_node_fail max_cpus max_nodes mem_bind mem_bind_type mem_update_delay mem_update_margin min_cpus
    min_nodes ntasks_per_board plane_size req_switch sockets_per_board task_dist threads_per_core wait4switch
    warn_flags warn_signal warn_time
"""
_OF_ROOT = {"gid", "uid"}
"""Options that replace who sends the request."""
_FIELDS = rows(FakeJob)
_SET = {setter.field for name, setter in OPTIONS.items() if isinstance(setter, Sets) and name not in _OF_ROOT}
OTHERS = frozenset(
    {member for name in _SET.intersection(_FIELDS) for member in _FIELDS[name].members}.union(_COMPUTED.split())
    - {*OWN, *OF_MORE}
)
"""Members that are known if every option but those of ALONE is."""


_LAYOUT = """
    cores-per-socket cpus-per-gpu cpus-per-task distribution extra-node-info gpus gpus-per-node gpus-per-socket
    gpus-per-task gres hint nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node
    ntasks-per-socket ntasks-per-tres overcommit sockets-per-node threads-per-core tres-per-task
"""
LAYOUT = frozenset(_LAYOUT.split())
"""Options of which several together decide numbers of nodes, tasks and CPUs."""
EXACT = frozenset({"cpus-per-task", "nodes", "ntasks", "ntasks-per-node", "overcommit"})
EXACT_OLD, OLD = frozenset({"nodes", "ntasks", "overcommit"}), (24, 5)
"""Those of them that are computed exactly together, and those that are so for a release before OLD."""
CHANGED = frozenset({"cpu-freq", "gpu-bind", "requeue", "tres-bind"})
"""Options whose members differ before OLD."""
_DERIVED = """
    bitflags cores_per_socket cpu_freq_gov cpus_per_task job_size_str max_nodes min_cpus min_nodes ntasks_per_core
    ntasks_per_node ntasks_per_socket ntasks_per_tres num_tasks plane_size pn_min_cpus req_nodes requeue
    sockets_per_node task_dist threads_per_core tres_bind tres_per_task
"""
DERIVED = frozenset(_DERIVED.split())
"""Members that are not known if options are given whose effect together is computed approximately."""


def is_exact(given: Set[str], release: tuple[int, ...]) -> bool:
    """Tell whether the members in DERIVED are computed exactly for some options."""
    layout, old = given & LAYOUT, release < OLD
    if layout <= (EXACT_OLD if old else EXACT):
        return not (old and given & CHANGED)
    return len(layout) == 1 and not old


def by_options(unknown: frozenset[str], certain: frozenset[str], possible: frozenset[str], *, exact: bool) -> set[str]:
    """Return the members of a request of sbatch that its options decide, and that are known.

    ``unknown`` options may be given, or have another value. ``exact``: see :func:`is_exact`.
    """
    known = {member for member, options in OWN.items() if unknown.isdisjoint(options)}
    if unknown <= ALONE:
        known |= OTHERS - ({"bitflags"} if unknown else set()) - (set() if exact else DERIVED)
    for member, options in DECISIVE.items():
        per_gpu = member == "num_tasks" and (certain | possible).intersection(PER_GPU)
        if (certain - unknown).intersection(options) and possible.isdisjoint(options) and not per_gpu:
            known.add(member)
    return known
