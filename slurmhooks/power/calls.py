# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of Slurm's power programs as the delivery reads them; handover.py writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Attributes:
        nodes: the host list.
        features: those that the nodes get; None: those that they have.
        jobs: those of SLURM_RESUME_FILE, or only the id of one.
    """

    nodes: str
    features: str | None
    jobs: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, message: bytes) -> Call:
        """Return the call that a power program has kept.

        Raises:
            ValueError: it is damaged.
        """
        nodes, features, job_id, resume_file = (part.decode(errors="replace") for part in message.split(b"\0", 3))
        return cls(nodes, features or None, tuple(_jobs(job_id, resume_file)))


def _jobs(job_id: str, resume_file: str) -> list[dict[str, Any]]:
    """Return the jobs of a call; none if they cannot be read, because the nodes matter more than the jobs.

    If nodes that are up must boot again with other features of a job, Slurm only gives its id.
    """
    try:
        jobs = json.loads(resume_file)["jobs"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return [{"job_id": int(job_id)}] if job_id.isdecimal() else []
    return [job for job in jobs if isinstance(job, dict) and "job_id" in job] if isinstance(jobs, list) else []
