# SPDX-License-Identifier: GPL-2.0-or-later
"""Drain nodes whose scratch file system is full, and warn about GPUs that are reset often."""

import os

from slurmhooks import Reject, hook
from slurmhooks.types import HealthNode

SCRATCH = "/scratch"
RESETS = "/var/lib/gpu-resets"


@hook.node.health_check(fails=3)
def scratch(node: HealthNode) -> None:
    """Require free space."""
    del node
    found = os.statvfs(SCRATCH)
    if found.f_bavail < found.f_blocks // 20:
        raise Reject(f"{SCRATCH} is full")


@hook.node.health_check(every="1h", contexts=("start", "idle"), mode="warn")
def gpu_resets(node: HealthNode) -> None:
    """Warn about GPUs that are reset often."""
    del node
    with open(RESETS) as file:
        resets = len(file.readlines())
    if resets > 10:
        raise Reject(f"{resets} resets of GPUs")
