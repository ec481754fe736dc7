# SPDX-License-Identifier: GPL-2.0-or-later
"""One row a field of what job_submit handlers see; a new one is a row here.

Names are those of job_submit/lua where it has one, else those of the C member. ``None`` is unset.
"""

from __future__ import annotations

from slurmhooks.job_submit.rows import Memory, Number, Offset, Plain, Text


class JobFields:
    """``job``: the request, ``job_desc_msg_t`` of slurm.h."""

    __slots__ = ()

    account = Text("Account to charge.")
    admin_comment = Text("Comment of an administrator.")
    begin_time = Plain(64, "Do not start before this time.", unit="seconds since the epoch")
    comment = Text("Comment of the user.")
    cpus_per_task = Number(16, "CPUs for each task.")
    features = Text("Features that nodes must have (--constraint).")
    group_id = Plain(32, "Group id of the job.", writable=False)
    licenses = Text("Licenses that the job needs.")
    max_nodes = Number(32, "Most nodes that the job may get.")
    min_cpus = Number(32, "Fewest CPUs that the job needs.")
    min_mem_per_cpu = Memory("Memory for each CPU; None if it is asked for by node.", per_cpu=True)
    min_mem_per_node = Memory("Memory on each node; None if it is asked for by CPU.", per_cpu=False)
    min_nodes = Number(32, "Fewest nodes that the job needs.")
    name = Text("Name of the job.")
    nice = Offset(32, "Change of the priority, positive is lower.")
    num_tasks = Number(32, "Tasks to start.")
    partition = Text("Partitions, separated by commas; None for the default one.")
    priority = Number(32, "Priority; 0 holds the job.")
    qos = Text("Quality of service.")
    reservation = Text("Reservation to use.")
    script = Text("The batch script; None for srun and salloc.")
    time_limit = Number(32, "Longest run time.", unit="minutes")
    time_min = Number(32, "Shortest run time that the user accepts.", unit="minutes")
    tres_per_node = Text("TRES on each node, as name:count.")
    gres = Text("The older name of tres_per_node.", member="tres_per_node")
    user_id = Plain(32, "User id of the job's owner.", writable=False)
    work_dir = Text("Working directory.")


class RecordFields:
    """``record``: a job as slurmctld knows it, ``job_record_t``; read-only."""

    __slots__ = ()

    account = Text("Account that is charged.", writable=False)
    comment = Text("Comment of the user.", writable=False)
    job_id = Plain(32, "Slurm's job id.", member=("job_id", "step_id.job_id"), writable=False)
    name = Text("Name of the job.", writable=False)
    partition = Text("Partitions, separated by commas.", writable=False)
    time_limit = Number(32, "Longest run time.", unit="minutes", writable=False)
    user_id = Plain(32, "User id of the job's owner.", writable=False)


class PartitionFields:
    """A partition, ``part_record_t``; read-only."""

    __slots__ = ()

    name = Text("Its name.", writable=False)
    default_time = Number(32, "Time limit of jobs that name none.", unit="minutes", writable=False)
    max_time = Number(32, "Longest time limit.", unit="minutes", writable=False)
    nodes = Text("Its nodes, as a node list.", writable=False)
    total_nodes = Plain(32, "How many nodes it has.", writable=False)
    total_cpus = Plain(32, "How many CPUs it has.", writable=False)


class ReservationFields:
    """A reservation, ``slurmctld_resv_t``; read-only."""

    __slots__ = ()

    name = Text("Its name.", writable=False)
    partition = Text("Its partition.", writable=False)
    users = Text("Who may use it.", writable=False)
    start_time = Plain(64, "When it begins.", unit="seconds since the epoch", writable=False)
    end_time = Plain(64, "When it ends.", unit="seconds since the epoch", writable=False)
