# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of the views that job_submit handlers get: one class for each struct, one row for each field.

A field has the name that job_submit/lua gives it, or else the name of the C member. An alias is another row with the
same member. ``None`` means unset. Within each group the rows are in alphabetical order.
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
"""The classes by the names of their structs in messages; a message refers to a struct by its position here."""
COUNTERS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of texts of a request, each with the member that has its length."""
