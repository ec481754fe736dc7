# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a QOS.

Limits of TRES are texts as sacctmgr shows them (``cpu=4,gres/gpu=2,mem=1000M``), for
:class:`slurmhooks.job_submit.strings.Tres`; ``None`` means no limit. For other limits ``UNLIMITED`` means no limit.
"""

from __future__ import annotations

from functools import partial

from slurmhooks.fields.constants import PreemptMode, QosFlag
from slurmhooks.fields.flag_rows import Flag
from slurmhooks.fields.number_rows import Number, Plain, Real
from slurmhooks.fields.rows import Names, Text

_Text = partial(Text, writable=False)
_Number = partial(Number, writable=False)
_Plain = partial(Plain, writable=False)


class QosFields:
    """A QOS, ``slurmdb_qos_rec_t``; read-only."""

    __slots__ = ()

    # Properties
    description = _Text("Its description.")
    flags = Flag(32, QosFlag, "Its properties.", optional=False, writable=False)
    grace_time = _Number(32, "Time that preempted jobs have to end.", unit="seconds")
    id = _Plain(32, "Its number in the database.")
    limit_factor = Real("Factor for the limits of associations.")
    min_prio_thresh = _Number(32, "Minimum priority of jobs for which resources are reserved.")
    name = _Text("Its name.")
    preempt = Names("QOS whose jobs it preempts.")
    preempt_exempt_time = _Number(32, "How long its jobs run before they can be preempted.", unit="seconds")
    preempt_mode = Flag(16, PreemptMode, "What happens to its preempted jobs; 0: as in the cluster.", optional=False,
                        writable=False)  # fmt: skip
    priority = _Number(32, "Added to the priority of its jobs.")
    usage_factor = Real("Factor for the usage of its jobs.")
    usage_thres = Real("Minimum remaining share of usage that jobs need.")

    # Limits of a job, a user, an account
    max_jobs_accrue_pa = _Number(32, "Maximum number of jobs of an account that gain priority by age.")
    max_jobs_accrue_pu = _Number(32, "Maximum number of jobs of a user that gain priority by age.")
    max_jobs_pa = _Number(32, "Maximum number of running jobs of an account.")
    max_jobs_pu = _Number(32, "Maximum number of running jobs of a user.")
    max_submit_jobs_pa = _Number(32, "Maximum number of pending and running jobs of an account.")
    max_submit_jobs_pu = _Number(32, "Maximum number of pending and running jobs of a user.")
    max_tres_mins_pj = _Text("Maximum TRES minutes of a job.")
    max_tres_pa = _Text("Maximum TRES of an account's running jobs.")
    max_tres_pj = _Text("Maximum TRES of a job.")
    max_tres_pn = _Text("Maximum TRES of a job on each node.")
    max_tres_pu = _Text("Maximum TRES of a user's running jobs.")
    max_tres_run_mins_pa = _Text("Maximum TRES minutes that an account's running jobs have left.")
    max_tres_run_mins_pu = _Text("Maximum TRES minutes that a user's running jobs have left.")
    max_wall_pj = _Number(32, "Maximum time limit of a job.", unit="minutes")
    min_tres_pj = _Text("Minimum TRES of a job.")

    # Limits of all its jobs
    grp_jobs = _Number(32, "Maximum number of running jobs.")
    grp_jobs_accrue = _Number(32, "Maximum number of jobs that gain priority by age.")
    grp_submit_jobs = _Number(32, "Maximum number of pending and running jobs.")
    grp_tres = _Text("Maximum TRES of running jobs.")
    grp_tres_mins = _Text("Maximum TRES minutes.")
    grp_tres_run_mins = _Text("Maximum TRES minutes that running jobs have left.")
    grp_wall = _Number(32, "Maximum total run time.", unit="minutes")

    # Usage
    accrue_cnt = _Plain(32, "Jobs that gain priority by age.", member="usage.accrue_cnt")
    grp_used_jobs = _Plain(32, "Running jobs.", member="usage.grp_used_jobs")
    grp_used_submit_jobs = _Plain(32, "Pending and running jobs.", member="usage.grp_used_submit_jobs")
    grp_used_tres = _Text("TRES of running jobs.")
    grp_used_wall = Real("Total run time, decayed.", unit="seconds", member="usage.grp_used_wall")
    usage_raw = Real("Usage, decayed.", unit="billing TRES seconds")
