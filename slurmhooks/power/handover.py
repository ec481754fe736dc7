# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm's power programs run: keeps the call in the spool, sees that a process delivers it, and ends.

``python -m slurmhooks.power.handover HOOK NODES [FEATURES]``; it loads no hook file. The process is SlurmUser's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from slurmhooks.files import slurm_conf
from slurmhooks.files.durable import write
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.frames import segment
from slurmhooks.processes import deliverer

MOST = 2
"""Arguments that Slurm gives to a program: the nodes, and sometimes features."""
HOOKS = tuple(spec.name.removeprefix("power.") for spec in POINTS["power"].hooks)


def keep(spool: Path, hook: str, nodes: str, features: str | None) -> None:
    """Write a call to the spool; it is on the disk when this function returns.

    Args:
        spool: its folder.
        hook: the name below ``hook.power``.
        nodes: the host list.
        features: those that a reboot gives to the nodes; None: those that they have.

    Raises:
        OSError: it cannot be written, or there is no StateSaveLocation.
    """
    message = json.dumps({"nodes": nodes, "jobs": _jobs(), "features": features}).encode()
    for folder in (spool.parent, spool):
        folder.mkdir(mode=0o700, exist_ok=True)
    now = time.time_ns()
    # Segments are read in the order of their names: two programs that start in the same nanosecond differ by process.
    write(spool / f"{now:020}{os.getpid():010}{deliverer.SEGMENT}", segment(f"power.{hook}", now, message))


def _jobs() -> list[Any]:
    """Return the jobs of SLURM_RESUME_FILE; none if it is not there, because the nodes matter more than the jobs.

    If nodes that are up must boot again with other features of a job, Slurm only gives its id.
    """
    job_id = os.environ.get("SLURM_JOB_ID", "")
    try:
        jobs = json.loads(Path(os.environ["SLURM_RESUME_FILE"]).read_bytes())["jobs"]
    except (KeyError, OSError, ValueError, TypeError):
        return [{"job_id": int(job_id)}] if job_id.isdecimal() else []
    return [job for job in jobs if isinstance(job, dict) and "job_id" in job] if isinstance(jobs, list) else []


def main(arguments: list[str]) -> int:
    """Hand a call over; return 0 if it is kept."""
    hook, *given = arguments or ("",)
    if hook not in HOOKS or not 1 <= len(given) <= MOST:
        sys.stderr.write(f"usage: python -m slurmhooks.power.handover {'|'.join(HOOKS)} NODES [FEATURES]\n")
        return 2
    if hook == "reboot" and os.geteuid() != slurm_conf.slurm_user():
        # slurmd gives the features, or nothing, as the first argument.
        sys.stderr.write("RebootProgram runs on a node: add SlurmctldParameters=reboot_from_controller to slurm.conf\n")
        return 2
    os.umask(0o077)
    spool = deliverer.folder()
    keep(spool, hook, given[0], given[1] if len(given) == MOST else None)
    deliverer.start(spool)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
