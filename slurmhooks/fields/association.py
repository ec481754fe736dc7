# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of an association; limits are as those of a QOS."""

from __future__ import annotations

from functools import partial

from slurmhooks.fields.number_rows import Identity, Number, Plain, Real
from slurmhooks.fields.rows import Names, Text, Truth

_Text = partial(Text, writable=False)
_Number = partial(Number, writable=False)
_Plain = partial(Plain, writable=False)


class AssociationFields:
    """An association, ``slurmdb_assoc_rec_t``: an account, or a user in an account, in one partition or in all.

    Its limits include inherited limits; limits and usage of a group cover an account and everything below it.
    Read-only.
    """

    __slots__ = ()

    # Properties
    account = _Text("The account.", member="acct")
    cluster = _Text("The cluster.")
    comment = _Text("Comment.", since="23.02")
    default_qos = _Text("QOS of jobs that name none.")
    id = _Plain(32, "Its number in the database.")
    is_default = Truth("For a user's: whether jobs that name no account are charged to it.", member="is_def",
                       writable=False)  # fmt: skip
    lineage = _Text("Its place in the tree, as /account/account/0-user/.", since="23.11")
    min_prio_thresh = _Number(32, "Minimum priority of jobs for which resources are reserved.")
    parent_account = _Text("For an account's: the account above it; None for a user's.", member="parent_acct")
    parent_id = _Plain(32, "Number of the parent association.")
    partition = _Text("The partition; None for all.")
    priority = _Number(32, "Added to the priority of its jobs.")
    qos = Names("QOS that a user's jobs may have; empty for an account's.")
    shares_raw = _Plain(32, "Its shares; 0x7fffffff means those of the account above.")
    user = _Text("The user's name; None for an account's.")
    user_id = Identity(32, "The user's number; None for an account's.", member="uid", writable=False)

    # Limits
    grp_jobs = _Number(32, "Maximum number of running jobs of the group.")
    grp_jobs_accrue = _Number(32, "Maximum number of jobs of the group that gain priority by age.")
    grp_submit_jobs = _Number(32, "Maximum number of pending and running jobs of the group.")
    grp_tres = _Text("Maximum TRES of the group's running jobs.")
    grp_tres_mins = _Text("Maximum TRES minutes of the group.")
    grp_tres_run_mins = _Text("Maximum TRES minutes that running jobs of the group have left.")
    grp_wall = _Number(32, "Maximum total run time of the group's jobs.", unit="minutes")
    max_jobs = _Number(32, "Maximum number of running jobs.")
    max_jobs_accrue = _Number(32, "Maximum number of jobs that gain priority by age.")
    max_submit_jobs = _Number(32, "Maximum number of pending and running jobs.")
    max_tres_mins_pj = _Text("Maximum TRES minutes of a job.")
    max_tres_pj = _Text("Maximum TRES of a job.")
    max_tres_pn = _Text("Maximum TRES of a job on each node.")
    max_wall_pj = _Number(32, "Maximum time limit of a job.", unit="minutes")

    # Usage
    accrue_cnt = _Plain(32, "Jobs that gain priority by age.", member="usage.accrue_cnt")
    fs_factor = Real("Fair-share factor, 0 to 1.", member="usage.fs_factor")
    grp_used_tres = _Text("TRES of the group's running jobs.")
    grp_used_wall = Real("Total run time of the group's jobs, decayed.", unit="seconds",
                         member="usage.grp_used_wall")  # fmt: skip
    shares_norm = Real("Its fraction of the cluster by shares, 0 to 1.", member="usage.shares_norm")
    usage_efctv = Real("Its fraction of all usage, as fair share counts it, 0 to 1.")
    usage_norm = Real("Its fraction of all usage, 0 to 1.")
    usage_raw = Real("Usage, decayed.", unit="billing TRES seconds")
    used_jobs = _Plain(32, "Running jobs of the group.", member="usage.used_jobs")
    used_submit_jobs = _Plain(32, "Pending and running jobs of the group.", member="usage.used_submit_jobs")
