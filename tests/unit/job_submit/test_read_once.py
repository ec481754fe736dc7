# SPDX-License-Identifier: GPL-2.0-or-later
"""What is worked out of a request is kept, but never beyond a change of the request."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.job_submit.bounds import computing
from slurmhooks.job_submit.filled import Filled
from slurmhooks.job_submit.subject import Subject
from slurmhooks.testing import FakeJob

WRITES: dict[str, list[Any]] = {
    "partition": [None, "debug", "debug,long"],
    "account": [None, "physics"],
    "qos": [None, "high"],
    "num_tasks": [None, 1, 7],
    "min_nodes": [None, 2],
    "max_nodes": [None, 3],
    "time_limit": [None, 60],
    "tres_per_node": [None, "gres/gpu:2"],
    "min_mem_per_cpu": [None, 100],
    "shared": [None, 0],
    "comment": [None, "text"],
}
MEMBERS: dict[str, list[Any]] = {"partition": [None, b"lua"], "num_tasks": [9], "account": [None, b"lua"]}
"""Members as Lua scripts write them, with raw values."""
STEPS = st.lists(
    st.one_of(
        *(st.tuples(st.just("write"), st.just(name), st.sampled_from(values)) for name, values in WRITES.items()),
        *(st.tuples(st.just("put"), st.just(name), st.sampled_from(values)) for name, values in MEMBERS.items()),
        st.tuples(st.sampled_from(["save", "roll back", "look"]), st.none(), st.none()),
    ),
    max_size=12,
)


def known(job: FakeJob) -> list[Any]:
    """Return what rules and modes ask about a request."""
    filled = Filled(job, None)
    return [
        *(computing.of_request(job, None, nodes=nodes) for nodes in (False, True)),
        *(filled.partitions, filled.account, filled.qos, filled.time_limit),
        *(Subject(job).accounts, Subject(job).partitions),
    ]


def unasked(job: FakeJob) -> FakeJob:
    """Return a view of the same request that nobody has asked anything."""
    other: FakeJob = object.__new__(type(job))
    super(FakeJob, other).__init__(job._struct)
    other._state.writes = job._state.writes.copy()
    return other


@pytest.mark.slow
@settings(max_examples=200)
@given(STEPS)
def test_nothing_outlives_a_change(steps: list[tuple[str, Any, Any]]) -> None:
    """After any writes of handlers and scripts, and rollbacks of modes, a view answers like one never asked before."""
    job = FakeJob(default_account="of user", default_qos="normal", default_partition="first")
    saved = [job.savepoint()]
    for step, name, value in steps:
        if step == "write":
            setattr(job, name, value)
        elif step == "put":
            job.members().put(name, value)
        elif step == "save":
            saved.append(job.savepoint())
        elif step == "roll back":
            job.rollback(saved.pop() if len(saved) > 1 else saved[0])
        else:
            known(job)
        assert known(job) == known(unasked(job)), step
