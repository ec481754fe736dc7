# SPDX-License-Identifier: GPL-2.0-or-later
"""What rows of slurmctld's tables have where nothing is configured; a test compares them with real slurmctlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields import TABLES
from slurmhooks.fields.constants import NodeState, PartitionState
from slurmhooks.fields.number_rows import Number
from slurmhooks.fields.rows import rows
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Mapping

SET: dict[str, dict[str, Any]] = {
    "partition": {
        **dict.fromkeys(("def_mem_per_node", "grace_time", "max_mem_per_node", "min_nodes", "min_nodes_orig"), 0),
        **dict.fromkeys(("max_share", "priority_job_factor", "priority_tier"), 1),
        "state_up": PartitionState.PARTITION_UP,
    },
    "qos": {
        **dict.fromkeys(("grace_time", "grp_used_wall", "priority", "usage_raw"), 0),
        **dict.fromkeys(("limit_factor", "min_prio_thresh", "preempt_exempt_time", "usage_thres"), UNLIMITED),
        "usage_factor": 1.0,
    },
    "association": {
        **dict.fromkeys(("fs_factor", "grp_used_wall", "priority", "usage_efctv", "usage_norm", "usage_raw"), 0),
        "min_prio_thresh": UNLIMITED,
        "shares_raw": 1,
    },
    "node": {**dict.fromkeys(("boards", "cores", "threads", "weight"), 1), "state": NodeState.NODE_STATE_IDLE},
}
"""Fields that are neither unset nor 0, or not unset, by the name of the table in messages."""
LIMITS = ("grp_", "max_")
"""Begin the names of limits, which are UNLIMITED; those that are TRES are unset."""


def defaults_of(table: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row, by its table in messages, that a test does not give, as slurmctld sets them."""
    fields = dict(SET.get(table, {}))
    if table in SET:
        limits = (name for name, row in rows(TABLES[table]).items() if type(row) is Number)
        fields |= dict.fromkeys((name for name in limits if name.startswith(LIMITS)), UNLIMITED)
    if table == "license" and "total" in given:
        fields["available"] = max(given["total"] - given.get("used", 0), 0)
    if table == "node":
        fields["features_act"] = given.get("features")
        if "cpus" in given:
            cores = given["cpus"] // (given.get("threads") or 1)
            fields |= {
                "cpus_efctv": given["cpus"],
                "tot_cores": cores,
                "tot_sockets": cores // (given.get("cores") or 1),
            }
    return fields
