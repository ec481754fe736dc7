# SPDX-License-Identifier: GPL-2.0-or-later
"""One row a field of what job_submit handlers see; a new one is a row here.

Names are those of job_submit/lua where it has one, else those of the C member; an alias is a row with the same member.
``None`` is unset. Within each group rows are in alphabetical order.
"""

from __future__ import annotations

from slurmhooks.job_submit.fields.job import JobFields
from slurmhooks.job_submit.fields.partition import PartitionFields
from slurmhooks.job_submit.fields.record import RecordFields
from slurmhooks.job_submit.fields.reservation import ReservationFields

__all__ = ["COUNTERS", "TABLES", "JobFields", "PartitionFields", "RecordFields", "ReservationFields"]

TABLES: dict[str, type] = {
    "job": JobFields,
    "record": RecordFields,
    "partition": PartitionFields,
    "reservation": ReservationFields,
}
"""The classes by the names that messages have for their structs; a message refers to them by their places here."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of texts of a request, each with the member that counts it."""
