# SPDX-License-Identifier: GPL-2.0-or-later
"""The constants in the table ``slurm`` of job_submit/lua, by release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields import constants
from slurmhooks.fields.rows import Release
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.codes import stand_ins
from slurmhooks.job_submit import slurmctld

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBERS = (
    "ALLOC_SID_ADMIN_HOLD ALLOC_SID_USER_HOLD INFINITE INFINITE64 MAIL_INVALID_DEPEND MAIL_JOB_BEGIN MAIL_JOB_END"
    " MAIL_JOB_FAIL MAIL_JOB_REQUEUE MAIL_JOB_TIME100 MAIL_JOB_TIME80 MAIL_JOB_TIME50 MAIL_JOB_STAGE_OUT MEM_PER_CPU"
    " NICE_OFFSET JOB_SHARED_NONE JOB_SHARED_OK JOB_SHARED_USER JOB_SHARED_MCS NO_VAL64 NO_VAL NO_VAL16 NO_VAL8"
    " SHARED_FORCE"
)
FLAGS: dict[str, Release] = {
    **dict.fromkeys(
        ("GRES_DISABLE_BIND", "GRES_ENFORCE_BIND", "KILL_INV_DEP", "NO_KILL_INV_DEP", "SPREAD_JOB", "USE_MIN_NODES"),
        (22, 5),
    ),
    **dict.fromkeys(("GRES_ALLOW_TASK_SHARING", "GRES_MULT_TASKS_PER_SHARING", "GRES_ONE_TASK_PER_SHARING"), (23, 11)),
    "STEPMGR_ENABLED": (24, 5),
    **dict.fromkeys(("SPREAD_SEGMENTS", "CONSOLIDATE_SEGMENTS", "EXPEDITED_REQUEUE"), (25, 11)),
}
OLD_ERRORS = (
    "ESLURM_ACCESS_DENIED ESLURM_ACCOUNTING_POLICY ESLURM_INVALID_ACCOUNT ESLURM_INVALID_LICENSES"
    " ESLURM_INVALID_NODE_COUNT ESLURM_INVALID_TIME_LIMIT ESLURM_JOB_MISSING_SIZE_SPECIFICATION"
    " ESLURM_MISSING_TIME_LIMIT"
)
"""The error codes that scripts have before 23.02, which added all others."""

NO_TEXT = (
    "ESLURMD_KILL_JOB_ALREADY_COMPLETE ESLURMD_TOO_MANY_RPCS ESLURM_INVALID_HET_JOB_AND_ARRAY"
    " ESLURM_INVALID_HET_JOB_COMP_NON_NUMERIC ESLURM_TOPO_ERROR_START ESLURM_TOPO_ERROR_END"
)
"""Codes of slurm_errno.h that are missing in the table of slurm_errno.c, which scripts get."""


def table_constants(release: Release) -> dict[str, object]:
    """Return the members of the table ``slurm`` of a release that are not functions."""
    return numbers(release) | {"CLUSTER_NAME": _cluster_name()}


def numbers(release: Release) -> dict[str, object]:
    """Return those that are numbers, which do not depend on the cluster."""
    table: dict[str, object] = {}
    codes = _codes()
    if release >= (23, 2):
        table.update((name, float(code)) for name, code in codes.items() if name not in NO_TEXT.split())
        table["EINPROGRESS"] = 115.0
    else:
        table.update((name, float(codes[name])) for name in OLD_ERRORS.split())
    for name in NUMBERS.split():
        table[name] = float(getattr(constants, name))
    table["MAIL_JOB_TIME890"] = float(constants.MailType.MAIL_JOB_TIME90)  # spelled so in slurm_lua.c
    for name, since in FLAGS.items():
        if since <= release:
            table[name] = float(getattr(constants, name))
    return table


def _codes() -> Mapping[str, int]:
    """Return the numbers of error codes; without a plugin, numbers that represent them."""
    numbers: Mapping[str, int] | None = getattr(constants.ESLURM, "__members__", None)
    if numbers is not None:
        return numbers
    return {name: code for name, code in stand_ins().items() if name.startswith("ESLURM")}


def _cluster_name() -> str | None:
    try:
        return slurmctld.cluster_name()
    except NotImplementedError:
        return slurm_conf.cluster_name()
