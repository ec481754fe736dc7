# SPDX-License-Identifier: GPL-2.0-or-later
"""Which options of a command decide the members of its request; test_influences.py compares them with sbatch's."""

from __future__ import annotations

_LAYOUT = (
    "cores-per-socket cpus-per-gpu cpus-per-task extra-node-info gpus gpus-per-node gpus-per-socket gpus-per-task gres "
    "hint nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket "
    "ntasks-per-tres overcommit sockets-per-node threads-per-core tres-per-task"
)
_SOCKETS = "cores-per-socket extra-node-info hint ntasks-per-core sockets-per-node threads-per-core"
_FLAGS = (
    "account consolidate-segments external gres-flags kill-on-invalid-dep partition qos spread-job spread-segments "
    "stepmgr use-min-nodes wckey"
)
_PER_TASK = "cpus-per-task gpus-per-task ntasks-per-gpu tres-per-task"
_TABLE = f"""
    account: account
    acctg_freq: acctg-freq
    array_inx: array
    batch_features: batch
    bitflags: {_LAYOUT} {_FLAGS}
    begin_time: begin
    burst_buffer: bb bbf
    cluster_features: cluster-constraint
    clusters: clusters
    comment: comment
    container: container
    container_id: container-id
    container_type: container-type
    contiguous: contiguous
    core_spec: core-spec thread-spec
    cores_per_socket: {_SOCKETS}
    cpu_freq_gov: cpu-freq
    cpu_freq_max: cpu-freq
    cpu_freq_min: cpu-freq
    cpus_per_task: cpus-per-task tres-per-task
    cpus_per_tres: cpus-per-gpu
    deadline: deadline
    delay_boot: delay-boot
    dependency: dependency
    exc_nodes: exclude
    extra: extra
    features: constraint
    job_size_str: {_LAYOUT}
    kill_on_node_fail: no-kill
    licenses: licenses resources
    mail_type: mail-type
    mail_user: mail-user
    max_nodes: {_LAYOUT}
    mcs_label: mcs-label
    mem_bind: mem-bind
    mem_bind_type: mem-bind
    mem_per_tres: mem mem-per-cpu mem-per-gpu
    mem_update_delay: mem-update
    mem_update_margin: mem-update
    min_cpus: {_LAYOUT}
    min_nodes: {_LAYOUT}
    name: job-name wrap
    network: network
    nice: nice
    ntasks_per_core: {_SOCKETS}
    ntasks_per_node: ntasks-per-node
    ntasks_per_socket: ntasks-per-socket
    ntasks_per_tres: ntasks-per-gpu ntasks-per-tres
    num_tasks: {_LAYOUT}
    oom_kill_step: oom-kill-step
    open_mode: open-mode
    overcommit: overcommit
    partition: partition
    plane_size: distribution
    pn_min_cpus: cpus-per-task mincpus tres-per-task
    pn_min_memory: mem mem-per-cpu mem-per-gpu
    pn_min_tmp_disk: tmp
    prefer: prefer
    priority: hold priority
    profile: profile
    qos: qos
    reboot: reboot
    req_context: context
    req_nodes: nodefile nodelist
    req_switch: switches
    requeue: no-requeue requeue
    reservation: reservation
    resv_port_cnt: resv-ports
    segment_size: segment
    shared: exclusive oversubscribe
    sockets_per_node: {_SOCKETS}
    std_err: chdir error
    std_in: chdir input
    std_out: chdir output
    task_dist: distribution
    threads_per_core: {_SOCKETS}
    time_limit: time
    time_min: time-min
    tres_bind: gpu-bind tres-bind {_PER_TASK}
    tres_freq: gpu-freq
    tres_per_job: gpus
    tres_per_node: gpus-per-node gres
    tres_per_socket: gpus-per-socket
    tres_per_task: {_PER_TASK}
    wait4switch: switches
    wait_all_nodes: wait-all-nodes
    warn_flags: signal
    warn_signal: signal
    warn_time: signal
    wckey: wckey
    work_dir: chdir
"""
INFLUENCES = {
    member: frozenset(options.split())
    for member, _, options in (line.strip().partition(":") for line in _TABLE.strip().splitlines())
}
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
