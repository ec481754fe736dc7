# SPDX-License-Identifier: GPL-2.0-or-later
"""The views and raw values behind stand-ins."""

from typing import Any

from slurmhooks.job_submit import model
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.testing.job_submit import FakeStruct, bound_to, release_of_view, request_of
from slurmhooks.workshop.testing.job_tables import FakeTable


def view_of(job: FakeJob, hook: str = "job_submit") -> Any:
    """Return the view of a request for the handlers of a hook; commits pending writes."""
    made: Any = bound_to(model.Job, release_of_view(job))
    return made(request_of(job, hook), modify=hook == "job_modify", owner=1000)


def struct_of(view: Any) -> FakeStruct:
    """Return the struct of a view, with committed writes."""
    struct = view._struct
    assert isinstance(struct, FakeStruct)
    struct.settle()
    return struct


def raw(view: Any, member: str) -> Any:
    """Return the raw value of a member, with committed writes."""
    return struct_of(view).raw(member)


def table_of(table: FakeTable) -> model.Table[Any, Any]:
    """Return the view of a table for handlers."""
    return model.Table(table._find_one, table._find_all, table._find_some, table._count_some)
