# SPDX-License-Identifier: GPL-2.0-or-later
"""The variables that Slurm sets for the processes of a launch, as Slurm 24.11 does.

Source: srun of a cluster; tests/cluster/test_kit_pairs_launch.py compares them.
"""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING, Any

from slurmhooks.job_submit.bounds.counts import Counts
from slurmhooks.job_submit.strings import Tres

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.workshop.testing.cli_filter import FakeOptions

NODE = "n1"
CLUSTER = "cluster"
"""Stands for the name of the cluster."""
_START = 1767225600
_OF_SRUN = {
    "SLURMD_DEBUG": "2",
    "SLURM_PRIO_PROCESS": "0",
    "SLURM_SUBMIT_HOST": "login",
    "SLURM_UMASK": "0022",
    "SRUN_DEBUG": "3",
}
_OF_STEP = {
    "SLURM_SRUN_COMM_HOST": "127.0.0.1",
    "SLURM_SRUN_COMM_PORT": "38039",
    "SLURM_STEP_LAUNCHER_PORT": "38039",
    "SLURM_STEP_NODELIST": NODE,
    "SLURM_TOPOLOGY_ADDR": NODE,
    "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
}
_OF_TASK = {"SLURMD_NODENAME": NODE, "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1", "SLURM_OOM_KILL_STEP": "0"}
_OF_SCRIPT = {
    "SLURMD_NODENAME": NODE,
    "SLURM_CONF": "/etc/slurm/slurm.conf",
    "SLURM_JOB_CORE_SPEC_COUNT": "0",
    "SLURM_JOB_CORE_SPEC_TYPE": "cores",
    "SLURM_JOB_END_TIME": str(_START + 3600),
    "SLURM_JOB_OVERSUBSCRIBE": "YES",
    "SLURM_JOB_START_TIME": str(_START),
}


_OF_OPTIONS = {
    "SLURM_CPUS_PER_TASK": "cpus_per_task",
    "SLURM_JOB_NAME": "name",
    "SLURM_MEM_PER_CPU": "min_mem_per_cpu",
    "SLURM_MEM_PER_NODE": "min_mem_per_node",
    "SLURM_NTASKS_PER_NODE": "ntasks_per_node",
}
"""Fields of srun's options that its steps have in variables."""
_OF_FLAGS = {"SLURM_LABELIO": "label", "SLURM_OVERCOMMIT": "overcommit"}
_OF_TEXTS = {"SLURM_GPUS": "gpus", "SLURM_GPUS_PER_NODE": "gpus-per-node"}
_GPUS = ("gres", *_OF_TEXTS.values())
"""Options of srun by which a job gets GPUs, of which one node has all."""
_OF_DEVICES = ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
OPTIONS = (
    *("account", "chdir", "comment", "cpus-per-task", "job-name", "label", "mem", "mem-per-cpu", "ntasks"),
    *("ntasks-per-node", "overcommit", "partition", *_GPUS),
)
"""The options of srun on which its variables depend here."""


def of_options(options: FakeOptions) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the variables of options of srun: in srun and the step, in prolog and epilog, and only in the step."""
    everywhere = {"SLURM_JOB_ACCOUNT": options.account, "SLURM_JOB_PARTITION": options.partition}
    step = {name: getattr(options, field) for name, field in _OF_OPTIONS.items()}
    step |= {name: 1 for name, option in _OF_FLAGS.items() if option in options.given}
    step |= {name: options[option] for name, option in _OF_TEXTS.items()}
    if options.cpus_per_task is not None:
        step["SLURM_TRES_PER_TASK"] = f"cpu={options.cpus_per_task}"
    scripts = {"SLURM_JOB_COMMENT": options.comment, "SLURM_JOB_WORK_DIR": options.work_dir}
    tasks = options.num_tasks or options.ntasks_per_node
    if tasks is not None:
        scripts["SLURM_JOB_NTASKS"] = str(tasks)
    count = max(map(_gpus, filter(None, (options[name] for name in _GPUS))), default=0)
    of_gpus = dict.fromkeys(_OF_DEVICES, ",".join(map(str, range(count)))) if count else {}
    all_gpus = of_gpus.get(_OF_DEVICES[0])
    on_node = {**of_gpus, "SLURM_GPUS_ON_NODE": count or None, "SLURM_STEP_GPUS": all_gpus}
    rows = ({**everywhere, **step}, {**everywhere, **scripts, **of_gpus, "SLURM_JOB_GPUS": all_gpus}, on_node)
    in_step, in_scripts, in_stepd = (
        {name: str(value) for name, value in row.items() if value is not None} for row in rows
    )
    return in_step, in_scripts, in_stepd


def _gpus(text: str) -> int:
    """Return the number of GPUs in an option; --gpus has no name, others have."""
    items = (item if item.startswith(("gpu:", "gres")) else f"gpu:{item}" for item in text.split(","))
    return Counts.of(Tres.parse(",".join(items))).total


def of_srun(items: Mapping[str, Any]) -> dict[str, str]:
    """Return what srun sets once it has a step: from local_user_init on."""
    tasks, argv = str(items["job_total_task_count"]), items["job_argv"]
    return {
        **_OF_SRUN,
        **_of_job(items),
        "SLURM_JOB_GROUP": group_name(items["job_gid"]),
        "SLURM_JOB_NAME": os.path.basename(argv[0]) if argv else "",
        "SLURM_NNODES": str(items["job_nnodes"]),
        "SLURM_NPROCS": tasks,
        "SLURM_NTASKS": tasks,
        "SLURM_STEPID": str(items["job_stepid"]),
        "SLURM_STEP_ID": str(items["job_stepid"]),
        "SLURM_SUBMIT_DIR": os.getcwd(),
        "SLURM_TASKS_PER_NODE": str(items["job_local_task_count"]),
    }


def of_step(items: Mapping[str, Any]) -> dict[str, str]:
    """Return what slurmstepd has in addition to the variables of srun."""
    return {
        **_OF_STEP,
        "SLURM_JOB_NODELIST": NODE,
        "SLURM_STEP_NUM_NODES": str(items["job_nnodes"]),
        "SLURM_STEP_NUM_TASKS": str(items["job_total_task_count"]),
        "SLURM_STEP_TASKS_PER_NODE": str(items["job_local_task_count"]),
    }


def of_task(items: Mapping[str, Any]) -> dict[str, str]:
    """Return what a task has in addition: from task_init on."""
    return {
        **_OF_TASK,
        **_place(items),
        "SLURM_CPUS_ON_NODE": str(items["job_ncpus"]),
        "SLURM_GTIDS": ",".join(map(str, items["job_local_to_global_id"].values())),
        "SLURM_JOB_END_TIME": str(_START + 3600),
        "SLURM_JOB_START_TIME": str(_START),
        "SLURM_TASK_PID": str(items["task_pid"]),
    }


def after_task(items: Mapping[str, Any]) -> dict[str, str]:
    """Return what slurmstepd has in addition after a task has ended: in task_exit and exit."""
    return {**_OF_TASK, **_place(items), "SLURM_JOB_GID": "0", "SLURM_SCRIPT_CONTEXT": "epilog_task"}


def of_script(items: Mapping[str, Any], callback: str) -> dict[str, str]:
    """Return the whole environment of prolog and epilog."""
    variables = {
        **_OF_SCRIPT,
        **_of_job(items),
        "SLURM_JOB_NODELIST": NODE,
        "SLURM_JOB_RESTART_COUNT": str(items["slurm_restart_count"]),
        "SLURM_JOB_WORK_DIR": os.getcwd(),
        "SLURM_SCRIPT_CONTEXT": "prolog_slurmd",
        "SLURM_UID": str(items["job_uid"]),
    }
    if callback == "job_epilog":
        status = items["task_exit_status"]
        raw = int(getattr(status, "raw", status))
        variables |= {
            "SLURM_JOB_DERIVED_EC": str(raw),
            "SLURM_JOB_EXIT_CODE": str(raw),
            "SLURM_JOB_EXIT_CODE2": f"{raw >> 8 & 255}:{raw & 127}",
            "SLURM_SCRIPT_CONTEXT": "epilog_slurmd",
        }
    return variables


def _of_job(items: Mapping[str, Any]) -> dict[str, str]:
    return {
        "SLURM_CLUSTER_NAME": CLUSTER,
        "SLURM_JOBID": str(items["job_id"]),
        "SLURM_JOB_CPUS_PER_NODE": str(items["job_ncpus"]),
        "SLURM_JOB_GID": str(items["job_gid"]),
        "SLURM_JOB_ID": str(items["job_id"]),
        "SLURM_JOB_NUM_NODES": str(items["job_nnodes"]),
        "SLURM_JOB_PARTITION": "debug",
        "SLURM_JOB_UID": str(items["job_uid"]),
        "SLURM_JOB_USER": _user(items["job_uid"]),
        "SLURM_NODELIST": NODE,
    }


def _place(items: Mapping[str, Any]) -> dict[str, str]:
    return {
        "SLURM_LOCALID": str(items["task_id"]),
        "SLURM_NODEID": str(items["job_nodeid"]),
        "SLURM_PROCID": str(items["task_global_id"]),
    }


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group on this machine; its number in digits if it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
