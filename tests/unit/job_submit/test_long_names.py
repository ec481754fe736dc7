# SPDX-License-Identifier: GPL-2.0-or-later
"""One user's lists of names cost slurmctld few questions."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import LONGEST_NAMES, Service
from slurmhooks.slurmctld.call import Call
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.slurmctld.decided import decision

READS = """
from slurmhooks import hook, log

@hook.job
def reads(job):
    log.user("%d %s", len(job.partitions), ",".join(job.partitions[:5]))
    job.time_limit, job.account, job.qos
"""


class Asked:
    """Calls handlers, and notes how many questions the last request cost, and the calls that followers got."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "reads.py").write_text(READS)
        self._registry = loader.load([loader.Source(path=str(folder / "reads.py"))])
        self.questions = 0
        self.calls: list[Call] = []
        handle = Service.handle

        def counted(service: Service, request: bytes, query: Any) -> bytes:
            done = False

            def ask(question: bytes) -> bytes:
                self.questions += not done
                answer: bytes = query(question)
                return answer

            service.followers.append(self.calls.append)
            answer = handle(service, request, ask)
            done = True
            return answer

        monkeypatch.setattr(Service, "handle", counted)

    def __call__(self, hook: str, **fields: Any) -> Result:
        """Return the result of a request."""
        self.questions = 0
        partitions = {"p1": {"default_time": 5}, "day": {"flag_default": True, "default_time": 7}}
        reservations = {"r7": {"partition": "p1"}, "r8": {}, "other": {"partition": "p2"}}
        given: dict[str, Any] = {"job": FakeJob(**fields), "partitions": partitions, "reservations": reservations}
        if hook == "job_modify":
            given["record"] = FakeRecord(partition="day")
        return run(self._registry, hook, **given)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return what calls a handler that reads the job."""
    return Asked(tmp_path, monkeypatch)


@pytest.mark.parametrize("hook", ["job_submit", "job_modify"])
@pytest.mark.parametrize("field", ["account", "partition", "qos", "reservation"])
@pytest.mark.parametrize("count", [600, 60_000])
def test_longer_lists_than_slurm_accepts_are_refused_unread(asked: Asked, hook: str, field: str, count: int) -> None:
    """Slurm refuses them only after its plugins, each name of which would cost a question."""
    result = asked(hook, **{field: ",".join(f"p{number}" for number in range(count))})
    assert result.text == f"{field} is longer than 1024 bytes, the most that Slurm accepts"
    assert result.code == "ESLURM_PATHNAME_TOO_LONG"
    assert asked.questions == 0
    (call,) = asked.calls
    assert decision(call, tables_of("24.11"))["text"] == result.text


@pytest.mark.parametrize(
    ("hook", "field", "letter", "expected"),
    [
        ("job_submit", "partition", "p", "200 p0,p1,p2,p3,p4"),
        ("job_modify", "partition", "p", "200 p0,p1,p2,p3,p4"),
        ("job_submit", "reservation", "r", "2 day,p1"),
        ("job_submit", "reservation", "s", "1 day"),
        ("job_modify", "reservation", "r", "1 day"),
    ],
)
def test_the_longest_lists_cost_few_questions(asked: Asked, hook: str, field: str, letter: str, expected: str) -> None:
    """slurmctld is asked for all partitions, or reservations, at once if a request names many."""
    names = ",".join(f"{letter}{number}" for number in range(200))
    names += "," * (LONGEST_NAMES - len(names))
    result = asked(hook, **{field: names})
    assert result.accepted, result
    assert result.user_messages == [expected]
    assert asked.questions < 20
