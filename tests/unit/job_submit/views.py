# SPDX-License-Identifier: GPL-2.0-or-later
"""What handlers get of a stand-in."""

from typing import Any

from slurmhooks.job_submit import model
from slurmhooks.testing import FakeJob
from slurmhooks.testing.job_submit import FakeStruct, FakeTable, bound_to, release_of_view, request_of


def view_of(job: FakeJob, hook: str = "job_submit") -> Any:
    """Return what the handlers of a hook get of a request; what was written into it before is applied."""
    made: Any = bound_to(model.Job, release_of_view(job))
    return made(request_of(job, hook), modify=hook == "job_modify", owner=1000)


def struct_of(view: Any) -> FakeStruct:
    """Return a view's struct, with what was committed in it."""
    struct = view._struct
    assert isinstance(struct, FakeStruct)
    struct.settle()
    return struct


def raw(view: Any, member: str) -> Any:
    """Return what Slurm would find in a member, with what was committed."""
    return struct_of(view).raw(member)


def table_of(table: FakeTable) -> model.Table[Any, Any]:
    """Return what handlers get of a table."""
    return model.Table(table._find_one, table._find_all, table._find_some)
