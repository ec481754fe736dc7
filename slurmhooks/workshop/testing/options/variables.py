# SPDX-License-Identifier: GPL-2.0-or-later
"""The variables that give options to Slurm's commands.

Source: env_vars of opt.c of sbatch, salloc and srun of 26.05, in the same order: later ones win.
"""

from __future__ import annotations

_COMMON = """
    ACCOUNT=account ACCTG_FREQ=acctg-freq BURST_BUFFER=bb CLUSTER_CONSTRAINT=cluster-constraint
    CONSOLIDATE_SEGMENTS=consolidate-segments CONTAINER=container CONTAINER_ID=container-id
    CONTAINER_TYPE=container-type CONSTRAINT=constraint CORE_SPEC=core-spec CPU_FREQ_REQ=cpu-freq
    CPUS_PER_GPU=cpus-per-gpu DELAY_BOOT=delay-boot EXCLUSIVE=exclusive GRES=gres GRES_FLAGS=gres-flags GPUS=gpus
    GPU_BIND=gpu-bind GPU_FREQ=gpu-freq GPUS_PER_NODE=gpus-per-node GPUS_PER_SOCKET=gpus-per-socket
    GPUS_PER_TASK=gpus-per-task MEM_BIND=mem-bind MEM_PER_CPU=mem-per-cpu MEM_PER_GPU=mem-per-gpu MEM_PER_NODE=mem
    NETWORK=network NO_KILL=no-kill OVERCOMMIT=overcommit PARTITION=partition POWER=power PROFILE=profile QOS=qos
    REQ_SWITCH=switch-req RESERVATION=reservation SEGMENT_SIZE=segment SIGNAL=signal SPREAD_JOB=spread-job
    SPREAD_SEGMENTS=spread-segments THREAD_SPEC=thread-spec THREADS_PER_CORE=threads-per-core TIMELIMIT=time
    TRES_BIND=tres-bind TRES_PER_TASK=tres-per-task USE_MIN_NODES=use-min-nodes WAIT4SWITCH=switch-wait WCKEY=wckey
"""
_SBATCH = """
    ARRAY_INX=array BATCH=batch CLUSTERS=clusters DISTRIBUTION=distribution EXPORT=export GET_USER_ENV=get-user-env
    HINT=hint JOB_NAME=job-name NO_REQUEUE=no-requeue OPEN_MODE=open-mode REQUEUE=requeue WAIT=wait
    WAIT_ALL_NODES=wait-all-nodes ERROR=error INPUT=input OUTPUT=output IGNORE_PBS=ignore-pbs DEBUG=verbose
"""
_SALLOC = """
    BELL=bell CLUSTERS=clusters DEBUG=verbose HINT=hint IMMEDIATE=immediate KILL_CMD=kill-command NO_BELL=no-bell
    WAIT_ALL_NODES=wait-all-nodes
"""
_SRUN = """
    BCAST=bcast BCAST_EXCLUDE=bcast-exclude CLUSTERS=clusters COMPRESS=compress CPUS_PER_TASK=cpus-per-task
    CPU_BIND=cpu-bind DEPENDENCY=dependency DISABLE_STATUS=disable-status DISTRIBUTION=distribution EPILOG=epilog
    EXACT=exact EXPORT_ENV=export EXTERNAL_LAUNCHER=external-launcher HINT=hint JOB_ID=jobid JOB_NAME=job-name
    JOB_NUM_NODES=nodes KILL_BAD_EXIT=kill-on-bad-exit LABELIO=label MPI_TYPE=mpi NCORES_PER_SOCKET=cores-per-socket
    NPROCS=ntasks NTASKS=ntasks NSOCKETS_PER_NODE=sockets-per-node NTASKS_PER_CORE=ntasks-per-core
    NTASKS_PER_NODE=ntasks-per-node NTASKS_PER_GPU=ntasks-per-gpu NTASKS_PER_TRES=ntasks-per-tres
    OOM_KILL_STEP=oom-kill-step OPEN_MODE=open-mode OVERLAP=overlap PROLOG=prolog REMOTE_CWD=chdir
    RESV_PORTS=resv-ports SEND_LIBS=send-libs SRUN_MULTI=multi-prog STDERRMODE=error STDINMODE=input
    STDOUTMODE=output TASK_EPILOG=task-epilog TASK_PROLOG=task-prolog THREADS=threads UNBUFFEREDIO=unbuffered
    WAIT=wait WORKING_DIR=chdir DEBUG=verbose
"""
_OTHERS = {
    "sbatch": "SLURM_CLUSTERS=clusters",
    "salloc": "SLURM_CLUSTERS=clusters SLURM_HINT=hint",
    "srun": """
        SRUN_CPUS_PER_TASK=cpus-per-task SRUN_EXPORT_ENV=export SLURMD_DEBUG=slurmd-debug SRUN_CONTAINER=container
        SRUN_CONTAINER_ID=container-id SRUN_CONTAINER_TYPE=container-type SRUN_SEGMENT_SIZE=segment SRUN_ERROR=error
        SRUN_INPUT=input SRUN_OUTPUT=output
    """,
    "scrontab": "",
}
_OWN = {"sbatch": ("SBATCH_", _SBATCH), "salloc": ("SALLOC_", _SALLOC), "srun": ("SLURM_", _SRUN)}
_NOT_OF_SRUN = frozenset({"SLURM_CONTAINER", "SLURM_CONTAINER_ID", "SLURM_CONTAINER_TYPE", "SLURM_SEGMENT_SIZE"})


def _variables(command: str) -> tuple[tuple[str, str], ...]:
    prefix, own = _OWN.get(command, ("", ""))
    words = f"{_COMMON} {own}".split() if prefix else []
    pairs = [(f"{prefix}{name}", option) for name, option in (word.split("=") for word in words)]
    others = [(name, option) for name, option in (word.split("=") for word in _OTHERS[command].split())]
    kept = [pair for pair in pairs if command != "srun" or pair[0] not in _NOT_OF_SRUN]
    # SBATCH_HINT wins over SLURM_HINT; other variables of this list win.
    first = (("SLURM_HINT", "hint"),) if command == "sbatch" else ()
    return (*first, *kept, *others)


VARIABLES = {command: _variables(command) for command in _OTHERS}
"""Variables and the long names of their options, by command; scrontab reads none."""


NAMELESS = {"switch-req": "switches", "switch-wait": "switches"}
"""Options that only variables give, and those whose parts they are; they show nothing."""
