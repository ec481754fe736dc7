# SPDX-License-Identifier: GPL-2.0-or-later
"""An option --gpu-mode with a few choices; every task gets the choice in a variable."""

from slurmhooks import Reject, hook
from slurmhooks.types import Spank

MODES = ("shared", "exclusive")

gpu_mode = hook.spank.option("gpu-mode", "MODE", usage=f"[site] how to use the GPUs: {' or '.join(MODES)}")


@gpu_mode.check
def known_mode(value: str) -> str:
    """Accept abbreviations, and refuse anything else before the job is submitted."""
    chosen = [mode for mode in MODES if mode.startswith(value.lower())]
    if len(chosen) != 1:
        raise Reject(f"{value!r} is not one of {', '.join(MODES)}")
    return chosen[0]


@hook.spank.task_init
def set_mode(spank: Spank) -> None:
    """`.value` is None if the user did not give the option."""
    if gpu_mode.value is not None:
        spank.env["SITE_GPU_MODE"] = gpu_mode.value
