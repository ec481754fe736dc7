# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a request comes from: computed fields of ``job`` that need nothing but the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields.constants import JobFlag

if TYPE_CHECKING:
    from slurmhooks.fields.classes import Computations

USER, UPDATE, SIBLING, REQUEUE = "user", "update", "sibling", "requeue"
FROM_SIBLINGS = (SIBLING, REQUEUE)
"""The origins whose sender is another cluster instead of the job's user."""


def origin(job: Any) -> str:
    """Return where the request comes from: one of the words above.

    The cluster of a federation that gets a job sends it to its siblings, which call their plugins as root
    (_fed_mgr_job_allocate_sib() of fed_mgr.c). A user can set the members of such a request, but cannot be root.
    """
    if job._modify:
        return UPDATE
    if job._sender != 0 or job.job_id is None or not job.fed_siblings_viable:
        return USER
    return REQUEUE if job.restart_cnt else SIBLING


def interactive(job: Any) -> bool:
    """Tell whether the job comes from srun or salloc; for an update, whether the job that it changes did.

    A submission of a program that waits for an allocation on a port counts as one, whatever else may become of it; see
    may_be_batch(). In slurmctld, only the first component of a heterogeneous batch job is marked as a batch job.
    """
    record = job._record
    if record is not None:
        if is_external(record):
            return False
        leader = job._struct.asking.row("record", record.het_job_id) if record.het_job_offset else None
        return not (record.batch_flag or (leader is not None and leader.raw("batch_flag")))
    return not job._modify and (bool(job.alloc_resp_port) or not may_be_batch(job))


def may_be_batch(job: Any) -> bool:
    """Tell whether a submission may become a job that is not interactive, also if its client waits on a port.

    Only the first component of a heterogeneous batch job has the script; the other ones have an environment, which srun
    and salloc do not send. slurmctld runs each script, unless it starts an allocation at once, and does not say which
    request it has got. A job of ``sbatch --external`` has neither script nor port.
    """
    return job._is_set("script") or bool(job.het_job_offset and job.env_size) or is_external(job)


def is_external(job: Any) -> bool:
    """Tell whether something outside of Slurm runs in the allocation; releases before 25.05 have no such jobs."""
    external = JobFlag.__members__.get("EXTERNAL_JOB")
    return external is not None and external in job.bitflags


OF_REQUESTS: Computations = {"interactive": interactive, "origin": origin}
"""These fields by their names."""
