# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of the views of slurmctld's structs: one class for each struct, one row for each field.

A field has the name that job_submit/lua gives it, or else the name of the C member. An alias is another row with the
same member. ``None`` means unset. Within each group the rows are in alphabetical order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # written by tools/make_stubs.py
    from slurmhooks.fields.stubs.association import AssociationFields
    from slurmhooks.fields.stubs.job import JobFields
    from slurmhooks.fields.stubs.license import LicenseFields
    from slurmhooks.fields.stubs.node import NodeFields
    from slurmhooks.fields.stubs.partition import PartitionFields
    from slurmhooks.fields.stubs.qos import QosFields
    from slurmhooks.fields.stubs.record import RecordFields
    from slurmhooks.fields.stubs.reservation import ReservationFields
else:
    from slurmhooks.fields.association import AssociationFields
    from slurmhooks.fields.job import JobFields
    from slurmhooks.fields.license import LicenseFields
    from slurmhooks.fields.node import NodeFields
    from slurmhooks.fields.partition import PartitionFields
    from slurmhooks.fields.qos import QosFields
    from slurmhooks.fields.record import RecordFields
    from slurmhooks.fields.reservation import ReservationFields

from slurmhooks.fields.rows import rows as rows_of

__all__ = [
    "COUNTERS",
    "KEYS",
    "LISTS",
    "TABLES",
    "AssociationFields",
    "JobFields",
    "LicenseFields",
    "NodeFields",
    "PartitionFields",
    "QosFields",
    "RecordFields",
    "ReservationFields",
]

TABLES: dict[str, type] = {
    "job": JobFields,
    "record": RecordFields,
    "partition": PartitionFields,
    "reservation": ReservationFields,
    "node": NodeFields,
    "license": LicenseFields,
    "qos": QosFields,
    "association": AssociationFields,
}
"""The classes by the names of their structs in messages; a message refers to a struct by its position here."""
LISTS = {
    "partitions": "partition",
    "reservations": "reservation",
    "jobs": "record",
    "nodes": "node",
    "licenses": "license",
    "qos": "qos",
    "associations": "association",
}
"""The tables of slurmctld that handlers may take as arguments, with the names of their structs."""
KEYS = {"record": "job_id", "association": "id"}
"""The field that is the key of a table, by the name of its struct; ``name`` for others."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of texts of a request, each with the member that has its length."""
ZERO_LEAVES = frozenset(name for name, row in rows_of(JobFields).items() if row.facts.get("zero_leaves"))
"""Fields of a request that an update leaves as they are by 0."""
