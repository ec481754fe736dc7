# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a reservation."""

from __future__ import annotations

from slurmhooks.job_submit.constants import ReservationFlag
from slurmhooks.job_submit.flag_rows import Bit, Flag
from slurmhooks.job_submit.number_rows import Number, Plain, Time
from slurmhooks.job_submit.rows import Text

RESV_CTLD_FULL_NODE = 0x4
RESV_CTLD_NODE_FLAGS_SET = 0x8


class ReservationFields:
    """A reservation, ``slurmctld_resv_t``; read-only."""

    __slots__ = ()

    accounts = Text("Accounts that may use it; those after '-' may not.", writable=False)
    assoc_list = Text("Associations that may use it, as ids.", writable=False)
    burst_buffer = Text("Burst buffers that it holds.", writable=False)
    comment = Text("Comment.", writable=False, since="23.02")
    duration = Number(32, "How long it is.", unit="minutes", writable=False)
    end_time = Time("When it ends.", writable=False)
    features = Text("Features that its nodes have.", writable=False)
    flags = Flag(64, ReservationFlag, "Its properties.", optional=False, writable=False)
    flags_set_node = Bit(RESV_CTLD_NODE_FLAGS_SET, "Whether its nodes show as reserved now.", member="ctld_flags")
    full_nodes = Bit(RESV_CTLD_FULL_NODE, "Whether it holds whole nodes.", member="ctld_flags")
    groups = Text("Groups that may use it.", writable=False)
    licenses = Text("Licenses that it holds.", writable=False)
    name = Text("Its name.", writable=False)
    node_cnt = Plain(32, "How many nodes it holds.", writable=False)
    node_list = Text("Its nodes, as a node list.", writable=False)
    partition = Text("Its partition.", writable=False)
    start_time = Time("When it begins.", writable=False)
    tres_fmt_str = Text("What it holds, as name=count.", writable=False)
    users = Text("Users who may use it; those after '-' may not.", writable=False)
