# SPDX-License-Identifier: GPL-2.0-or-later
"""--gpu_cmode=MODE sets the compute mode of the job's GPUs while a task runs.

Needs ConstrainDevices in cgroup.conf: the user can change CUDA_VISIBLE_DEVICES, and must not reach the GPUs of others.
"""

from slurmhooks import Reject, hook, log
from slurmhooks.types import Spank

SMI = "/usr/bin/nvidia-smi"
MODES = {"shared": "0", "prohibited": "2", "exclusive": "3"}
DEFAULT = "exclusive"

cmode = hook.spank.option("gpu_cmode", "|".join(MODES), usage=f"[site] compute mode of the GPUs; otherwise {DEFAULT}")


@cmode.check
def known(mode: str) -> str:
    """Refuse other modes before the job is submitted."""
    if mode not in MODES:
        raise Reject(f"{mode!r} is not one of {', '.join(MODES)}")
    return mode


def set_mode(spank: Spank, mode: str) -> bool:
    """Return whether nvidia-smi has set the mode."""
    from subprocess import DEVNULL, run

    command = [SMI, "-c", MODES[mode], "-i", spank.env["CUDA_VISIBLE_DEVICES"]]
    return run(command, stdout=DEVNULL, check=False).returncode == 0


@hook.spank.task_init_privileged
def change(spank: Spank) -> None:
    """Runs in the task as root, before its program; only root may change the mode."""
    devices = spank.env.get("CUDA_VISIBLE_DEVICES", "")
    if cmode.value is not None and "MIG-" in devices:
        log.user("--gpu_cmode has no effect on parts of a GPU (MIG)")
    elif cmode.value is not None and not (devices and set_mode(spank, cmode.value)):
        raise Reject("--gpu_cmode: the task has no GPU, or nvidia-smi failed: ask for a GPU with --gres=gpu:1")


@hook.spank.task_exit
def restore(spank: Spank) -> None:
    """Runs in slurmstepd as root, after the end of each task."""
    devices = spank.env.get("CUDA_VISIBLE_DEVICES", "")
    if cmode.value is not None and devices and "MIG-" not in devices and not set_mode(spank, DEFAULT):
        log.info("the compute mode of the GPUs of job %d is not reset to %s", spank.job_id, DEFAULT)
