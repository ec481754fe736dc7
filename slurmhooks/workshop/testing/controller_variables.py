# SPDX-License-Identifier: GPL-2.0-or-later
"""The variables of PrologSlurmctld and EpilogSlurmctld that follow from the record of a job.

Source: job_mgr.c:job_common_env_vars. tests/cluster/test_controller_points.py compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields.rows import release_of
from slurmhooks.workshop.testing.environments import CLUSTER, group_name
from slurmhooks.workshop.testing.job_submit import release_of_view

if TYPE_CHECKING:
    from slurmhooks.workshop.testing.job_submit import FakeRecord

TIMES_SINCE = (23, 2)
"""Since then there are variables for the start and the end."""
ALWAYS = {
    "ACCOUNT": "account", "END_TIME": "end_time", "GID": "group_id", "ID": "job_id", "NAME": "name",
    "NODELIST": "nodes", "RESTART_COUNT": "restart_cnt", "START_TIME": "start_time", "UID": "user_id",
    "USER": "user_name",
}  # fmt: skip
"""Fields by variables, without their prefix, that have a text even if the field has none."""
IF_SET = {
    "COMMENT": "comment", "CONSTRAINTS": "features", "EXTRA": "extra", "LICENSES": "licenses",
    "RESERVATION": "resv_name", "STDERR": "std_err", "STDIN": "std_in", "STDOUT": "std_out", "WORK_DIR": "work_dir",
}  # fmt: skip
FIELDS = (
    *(*ALWAYS.values(), *IF_SET.values()),
    *("alloc_partition", "array_job_id", "array_task_id", "het_job_id", "het_job_offset", "partition", "wckey"),
)
"""The fields that the variables of a prolog need."""
MISSING = (
    *("SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_EXCLUSIVE", "SLURM_JOB_NUM_NODES", "SLURM_JOB_OVERSUBSCRIBE"),
    "SLURM_JOB_SLUID",
)
"""Variables that do not follow from what a record has."""


def of_record(record: FakeRecord, *, ended: bool) -> dict[str, str]:
    """Return the variables for a job."""
    values = dict(record)
    variables = {name: "(null)" if values[field] is None else values[field] for name, field in ALWAYS.items()}
    variables |= {name: values[field] for name, field in IF_SET.items() if values.get(field) is not None}
    variables["GROUP"] = group_name(record.group_id or 0)
    variables["PARTITION"] = values["alloc_partition"] or values["partition"] or "(null)"
    if ended:
        code = record.exit_code
        raw = 0 if code is None else int(getattr(code, "raw", code))
        derived = record.derived_ec
        variables["EXIT_CODE"] = raw
        variables["EXIT_CODE2"] = f"{raw >> 8 & 255}:{raw & 127}"
        variables["DERIVED_EC"] = 0 if derived is None else int(getattr(derived, "raw", derived))
    if release_of(release_of_view(record)) < TIMES_SINCE:
        del variables["START_TIME"], variables["END_TIME"]
    named = {f"SLURM_JOB_{name}": value for name, value in variables.items()}
    named |= {"SLURM_CLUSTER_NAME": CLUSTER, "SLURM_JOBID": record.job_id or 0}
    if record.wckey is not None:
        named["SLURM_WCKEY"] = record.wckey
    if record.array_task_id is not None:
        named |= {"SLURM_ARRAY_JOB_ID": record.array_job_id or 0, "SLURM_ARRAY_TASK_ID": record.array_task_id}
    if record.het_job_id:
        for prefix in ("SLURM_HET", "SLURM_PACK"):
            named[f"{prefix}_JOB_ID"] = record.het_job_id
            named[f"{prefix}_JOB_OFFSET"] = record.het_job_offset or 0
    return {name: str(value) for name, value in named.items()}
