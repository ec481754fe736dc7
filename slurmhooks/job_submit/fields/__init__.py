# SPDX-License-Identifier: GPL-2.0-or-later
"""One row a field of what job_submit handlers see; a new one is a row here.

Names are those of job_submit/lua where it has one, else those of the C member; an alias is a row with the same member.
``None`` is unset. Within each group rows are in alphabetical order.
"""

from __future__ import annotations

from slurmhooks.job_submit.fields.association import AssociationFields
from slurmhooks.job_submit.fields.job import JobFields
from slurmhooks.job_submit.fields.license import LicenseFields
from slurmhooks.job_submit.fields.node import NodeFields
from slurmhooks.job_submit.fields.partition import PartitionFields
from slurmhooks.job_submit.fields.qos import QosFields
from slurmhooks.job_submit.fields.record import RecordFields
from slurmhooks.job_submit.fields.reservation import ReservationFields

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
"""The classes by the names that messages have for their structs; a message refers to them by their places here."""
LISTS = {
    "partitions": "partition",
    "reservations": "reservation",
    "jobs": "record",
    "nodes": "node",
    "licenses": "license",
    "qos": "qos",
    "associations": "association",
}
"""The mappings of slurmctld's records that handlers may take as arguments, each with the table of its records."""
KEYS = {"record": "job_id", "association": "id"}
"""The fields that are the keys of those mappings, by table; of others it is ``name``."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of texts of a request, each with the member that counts it."""
