# SPDX-License-Identifier: GPL-2.0-or-later
"""Which options of a command decide the members of its request; test_influences.py compares them with sbatch's."""

from __future__ import annotations

from slurmhooks.fields.rows import rows
from slurmhooks.testing import FakeJob
from slurmhooks.testing.options.names import NAMES
from slurmhooks.testing.sbatch.options import OPTIONS
from slurmhooks.testing.sbatch.setters import Sets

_LAYOUT = (
    "cores-per-socket cpus-per-gpu cpus-per-task distribution extra-node-info gpus gpus-per-node gpus-per-socket "
    "gpus-per-task gres hint nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node "
    "ntasks-per-socket ntasks-per-tres overcommit sockets-per-node threads-per-core tres-per-task"
)
_SOCKETS = "cores-per-socket extra-node-info hint ntasks-per-core sockets-per-node threads-per-core"
_FLAGS = (
    "account consolidate-segments external gres-flags kill-on-invalid-dep partition qos spread-job spread-segments "
    "stepmgr use-min-nodes wckey"
)
_PER_TASK = "cpus-per-task gpus-per-task ntasks-per-gpu tres-per-task"
OF_ROOT = ("gid", "uid")
"""Options that replace who sends the request."""
_TABLE = f"""
    bitflags: {_LAYOUT} {_FLAGS}
    burst_buffer: bbf
    cores_per_socket: {_SOCKETS}
    cpu_freq_gov: cpu-freq
    cpu_freq_max: cpu-freq
    cpu_freq_min: cpu-freq
    cpus_per_task: {_LAYOUT}
    job_size_str: {_LAYOUT}
    kill_on_node_fail: no-kill
    licenses: resources
    max_nodes: {_LAYOUT}
    mem_bind: mem-bind
    mem_bind_type: mem-bind
    mem_per_tres: mem mem-per-cpu mem-per-gpu
    mem_update_delay: mem-update
    mem_update_margin: mem-update
    min_cpus: {_LAYOUT}
    min_nodes: {_LAYOUT}
    name: wrap
    ntasks_per_core: {_SOCKETS}
    ntasks_per_node: {_LAYOUT}
    ntasks_per_socket: {_LAYOUT}
    ntasks_per_tres: ntasks-per-gpu
    num_tasks: {_LAYOUT}
    plane_size: distribution
    pn_min_cpus: cpus-per-task tres-per-task
    pn_min_memory: mem-per-gpu
    req_nodes: nodefile {_LAYOUT}
    req_switch: switches
    sockets_per_node: {_LAYOUT}
    std_err: chdir
    std_in: chdir
    std_out: chdir
    task_dist: distribution
    threads_per_core: {_SOCKETS}
    tres_bind: gpu-bind tres-bind {_PER_TASK}
    tres_per_node: gpus-per-node gres
    tres_per_task: {_PER_TASK}
    wait4switch: switches
    warn_flags: signal
    warn_signal: signal
    warn_time: signal
"""
"""Members, and the options that have an influence besides those that set their fields."""


def _influences() -> dict[str, frozenset[str]]:
    fields, influences = rows(FakeJob), dict[str, set[str]]()
    for line in _TABLE.strip().splitlines():
        member, _, options = line.strip().partition(":")
        influences[member] = set(options.split())
    for name, setter in OPTIONS.items():
        if isinstance(setter, Sets) and setter.field in fields and name in {*NAMES["sbatch"]} - {*OF_ROOT}:
            for member in fields[setter.field].members:
                influences.setdefault(member, set()).add(name)
    return {member: frozenset(options) for member, options in influences.items()}


INFLUENCES = _influences()
"""The options that have an influence on a member of the request of sbatch."""
DECISIVE = {
    "cpus_per_task": ("cpus-per-task",),
    "mem_per_tres": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "num_tasks": ("ntasks",),
    "pn_min_memory": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "requeue": ("no-requeue", "requeue"),
    "shared": ("exclusive", "oversubscribe"),
}
"""Options of which the last one on the command line decides a member, whatever script and variables give."""
PER_GPU = ("ntasks-per-gpu", "ntasks-per-tres")
"""Options that replace ``--ntasks`` if GPUs are requested, too; of those in a script or variable, nobody gives both."""
MERGED = frozenset(
    {"cpu-freq", "distribution", "extra-node-info", "hint", "mail-type", "mem-bind", "signal", "switches"}
)
"""Options that keep a part of what the same option has set before, in script or variables."""
CONSTANT = frozenset({"boards_per_node", "immediate", "max_cpus", "ntasks_per_board", "sockets_per_board"})
"""Members that no option of sbatch changes."""
_INTERACTIVE = """
    account cluster_features comment core_spec deadline dependency exc_nodes features licenses mem_per_tres network nice
    partition pn_min_memory prefer priority qos reboot reservation time_limit time_min tres_per_job tres_per_node
    tres_per_socket wckey
"""
INTERACTIVE = frozenset(_INTERACTIVE.split())
"""The members that options of srun and salloc set as those of sbatch do."""
