# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm's power programs run: keeps the call in the spool, sees that a process delivers it, and ends.

``python -m slurmhooks.power.handover HOOK NODES``; it loads no hook file. The process is SlurmUser's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from slurmhooks.files.durable import write
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.frames import segment
from slurmhooks.processes import deliverer

HOOKS = tuple(spec.name.removeprefix("power.") for spec in POINTS["power"].hooks)


def keep(spool: Path, hook: str, nodes: str) -> None:
    """Write a call to the spool; it is on the disk when this function returns.

    Args:
        spool: its folder.
        hook: the name below ``hook.power``.
        nodes: the host list.

    Raises:
        OSError: it cannot be written.
    """
    message = json.dumps({"nodes": nodes, "jobs": _jobs()}).encode()
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = time.time_ns()
    # Segments are read in the order of their names: two programs that start in the same nanosecond differ by process.
    write(spool / f"{now:020}{os.getpid():010}{deliverer.SEGMENT}", segment(f"power.{hook}", now, message))


def _jobs() -> list[Any]:
    """Return the jobs of SLURM_RESUME_FILE; none if it is not there, because the nodes matter more than the jobs."""
    try:
        jobs = json.loads(Path(os.environ["SLURM_RESUME_FILE"]).read_bytes())["jobs"]
    except (KeyError, OSError, ValueError, TypeError):
        return []
    return [job for job in jobs if isinstance(job, dict) and "job_id" in job] if isinstance(jobs, list) else []


def main(arguments: list[str]) -> int:
    """Hand a call over; return 0 if it is kept."""
    if len(arguments) < 2 or arguments[0] not in HOOKS:
        sys.stderr.write(f"usage: python -m slurmhooks.power.handover {'|'.join(HOOKS)} NODES\n")
        return 2
    os.umask(0o077)
    spool = deliverer.folder()
    keep(spool, arguments[0], arguments[1])
    deliverer.start(spool)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
