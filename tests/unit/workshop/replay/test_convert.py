# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
from typing import Any

import pytest

from slurmhooks import UNLIMITED
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.job_submit.views import Views
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.testing import FakeJob
from slurmhooks.wire.message import Message, answer, decode
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.replay.convert import Conversion
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of

RELEASES = ("22.05", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
PAIRS = [
    *itertools.pairwise(RELEASES),
    *itertools.pairwise(RELEASES[::-1]),
    (RELEASES[0], RELEASES[-1]),
    (RELEASES[-1], RELEASES[0]),
]
SET: dict[str, Any] = {
    "account": "physics",
    "argv": ["run.sh", "a b"],
    "environment": {"HOME": "/home/alice"},
    "max_nodes": 7,
    "min_cpus": 3,
    "name": "jöb",
    "nice": -5,
    "priority": 99,
    "script": "#!/bin/sh",
    "time_limit": UNLIMITED,
    "time_min": 5,
}


def converted(old: str, new: str, fields: dict[str, Any]) -> tuple[FakeJob, Any]:
    """Return a request of a release, and a view of the same converted for another."""
    job = FakeJob(release=old, **fields)
    conversion = Conversion(tables_of(old), tables_of(new))
    message = Message(Type.REQUEST, items=((0, request_of(job, "job_submit").data),)).encode(conversion.old)
    moved = conversion._structs(decode(message, conversion.old))
    return job, Views(conversion.new, {}).job(Struct(conversion.new["job"], moved.items[0][1], None))


def common(*jobs: Any) -> list[str]:
    """Return the names of fields that all jobs have."""
    names = [name for name, row in rows(FakeJob).items() if not isinstance(row, Computed)]
    return [name for name in names if all(name not in job._missing for job in jobs)]


@pytest.mark.parametrize(("old", "new"), PAIRS)
@pytest.mark.parametrize("fields", [{}, SET], ids=["unset", "set"])
def test_fields_keep_their_values(old: str, new: str, fields: dict[str, Any]) -> None:
    """Each field that both releases have has the same value, and those that only the new one has are unset."""
    job, other = converted(old, new, fields)
    assert {name: getattr(other, name) for name in common(job, other)} == {
        name: getattr(job, name) for name in common(job, other)
    }
    fresh = FakeJob(release=new)
    only_new = [name for name in common(fresh) if name in job._missing]
    assert {name: getattr(other, name) for name in only_new} == {name: getattr(fresh, name) for name in only_new}
    assert list(other.argv) == fields.get("argv", [])
    assert dict(other.environment) == fields.get("environment", {})


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_answers_keep_their_meaning(old: str, new: str) -> None:
    """Codes are those of the new release by name, and writes go to the same fields."""
    conversion = Conversion(tables_of(old), tables_of(new))
    code = conversion.old.constants["ESLURM"]["ESLURM_INVALID_ACCOUNT"]
    refused = conversion._answer(decode(answer(conversion.old, code, b"no"), conversion.old))
    assert refused.first == conversion.new.constants["ESLURM"]["ESLURM_INVALID_ACCOUNT"]
    writes: dict[str, Any] = {"account": b"art", "time_limit": 60, "environment": [b"A=1"]}
    accepted = conversion._answer(decode(answer(conversion.old, 0, None, writes), conversion.old))
    assert read_answer(conversion.new["job"], accepted).writes == writes
