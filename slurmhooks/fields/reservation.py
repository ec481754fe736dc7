# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a reservation."""

from __future__ import annotations

from slurmhooks.fields.constants import ReservationFlag
from slurmhooks.fields.facts import NO_LUA, R
from slurmhooks.fields.flag_rows import Bit, Flag
from slurmhooks.fields.number_rows import Number, Plain, Time
from slurmhooks.fields.rows import Text

RESV_CTLD_FULL_NODE = 0x4
RESV_CTLD_NODE_FLAGS_SET = 0x8


class ReservationFields:
    """A reservation, ``slurmctld_resv_t``; read-only."""

    __slots__ = ()

    ASKED_FOR = ("lua",)
    """The facts that each row states; see facts.py."""

    accounts = Text("Accounts that may use the reservation; with '-' in front: may not.", writable=False, lua=R)
    assoc_list = Text("Associations that may use the reservation, as ids.", writable=False, lua=R)
    burst_buffer = Text("Reserved burst buffers.", writable=False, lua=NO_LUA)
    comment = Text("Comment.", writable=False, since="23.02", lua=NO_LUA)
    duration = Number(32, "Duration.", unit="minutes", writable=False, lua=R)
    end_time = Time("End.", writable=False, lua=R)
    features = Text("Features of the nodes.", writable=False, lua=R)
    flags = Flag(64, ReservationFlag, "Properties of the reservation.", optional=False, writable=False, lua=R)
    flags_set_node = Bit(RESV_CTLD_NODE_FLAGS_SET, "Whether the nodes are marked as reserved now.", member="ctld_flags",
                         lua=R)  # fmt: skip
    full_nodes = Bit(RESV_CTLD_FULL_NODE, "Whether whole nodes are reserved.", member="ctld_flags", lua=R)
    groups = Text("Groups that may use the reservation.", writable=False, lua=NO_LUA)
    licenses = Text("Reserved licenses.", writable=False, lua=R)
    name = Text("Name of the reservation.", writable=False, lua=NO_LUA)
    node_cnt = Plain(32, "Number of nodes.", writable=False, lua=R)
    node_list = Text("Nodes, as a node list.", writable=False, lua=R)
    partition = Text("Partition.", writable=False, lua=R)
    start_time = Time("Start.", writable=False, lua=R)
    tres_fmt_str = Text("Reserved TRES, as name=count.", writable=False, lua=NO_LUA)
    users = Text("Users who may use the reservation; with '-' in front: may not.", writable=False, lua=R)
