# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules cost: a request is read once, however many rules look at it; rules that are for others cost nothing."""

from __future__ import annotations

from typing import Any

import pytest

from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit.service import Service
from slurmhooks.testing import FakeJob, FakeRecord, fake_nodes, fake_partitions, run
from slurmhooks.worker.interface import Query
from tests.costs import cost
from tests.unit.policies.conftest import Rules

KINDS = (
    'rule = "time_ceiling"\nlimit = "30-00:00:00"',
    'rule = "node_count"\nmost = 5000',
    'rule = "task_count"\nmost = 500000',
    'rule = "cpu_count"\nmost = 500000',
    'rule = "memory_ceiling"\nper_node = "4T"',
    'rule = "gpu_ceiling"\nper_job = 64',
    'rule = "array_size"\nmost = 50000',
    'rule = "reserved_names"\nnames = ["zz*"]',
    'rule = "forbid"\npartitions = ["other"]\naccounts = ["closed"]',
    'rule = "work_directory"\noutside = ["/root"]',
    'rule = "licenses"\nallowed = ["matlab"]',
    'rule = "require_account"\nqos = ["normal"]\ngroups = ["users"]',
    'rule = "notice"\nusers = ["alice"]\nmessage = "{where} {account} {qos}"',
    'rule = "default_memory"\nper_cpu = "1G"\npartitions = ["d*"]',
    'rule = "interactive_limit"\nnodes = 5000\nexcept_groups = ["staff"]',
)
"""Rules that pass, one of each way to look at a job."""
CLUSTER: dict[str, Any] = {
    "partitions": fake_partitions({"debug": {"flag_default": True, "max_nodes": 4}, "two": {}}),
    "nodes": fake_nodes({"n1": {"partitions": ["debug"], "cpus": 8, "real_memory": 9000}}),
}
JOB = {
    "user_name": "alice",
    "groups": {"users": 100},
    "work_dir": "/tmp",
    "account": "physics",
    "default_qos": "normal",
}


def toml(repeated: int, more: str = "", kinds: tuple[str, ...] = KINDS) -> str:
    """Return so many rules of each kind."""
    return "".join(
        f'[[policies]]\nname = "r{place}-{number}"\n{kind}\n{more}\n'
        for number in range(repeated)
        for place, kind in enumerate(kinds)
    )


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The questions that were asked while handlers ran."""
    asked: list[bytes] = []
    handle = Service.handle

    def count(self: Service, request: bytes, query: Query) -> bytes:
        running = True

        def ask(question: bytes) -> bytes:
            asked.extend([question] * running)  # later, the kit itself reads all fields
            return query(question)

        answer = handle(self, request, ask)
        running = False
        return answer

    monkeypatch.setattr(Service, "handle", count)
    return asked


def submit(registry: Registry, **fields: Any) -> None:
    """Submit a job that all rules accept."""
    result = run(registry, "job_submit", job=FakeJob(**JOB | fields), **CLUSTER)
    assert result.accepted, result


def update(registry: Registry, **fields: Any) -> None:
    """Change a job in a way that all rules accept."""
    record = FakeRecord(partition="debug", account="physics", qos="normal", user_name="alice", work_dir="/tmp")
    job = FakeJob(user_name="alice", groups={"users": 100}, **fields)
    result = run(registry, "job_modify", job=job, record=record, **CLUSTER)
    assert result.accepted, result


@pytest.mark.parametrize(
    "fields", [{}, {"partition": "debug,two", "min_nodes": 1, "max_nodes": 2}], ids=["plain", "several"]
)
@pytest.mark.parametrize("more", ["", 'mode = "warn"'], ids=["enforce", "warn"])
def test_a_submission_is_asked_about_once(
    rules: Rules, questions: list[bytes], fields: dict[str, Any], more: str
) -> None:
    """Many rules of a kind ask slurmctld no more than one, and nothing twice."""
    submit(rules(toml(1, more)), **fields)
    first = questions.copy()
    questions.clear()
    submit(rules(toml(6, more)), **fields)
    assert sorted(questions) == sorted(first)
    assert len(questions) == len(set(questions))


def test_an_update_is_asked_about_once(rules: Rules, questions: list[bytes]) -> None:
    """An update, which concerns the job as it is and as it would be, is asked about once, too."""
    many = (
        toml(6) + '[[policies]]\nrule = "guard_updates"\nchanges = ["nice"]\npartitions = ["x*"]\naccounts = ["y*"]\n'
    )
    for text in (toml(1), many):
        questions.clear()
        update(rules(text), time_limit=5, min_nodes=2, partition="debug")
        assert len(questions) == len(set(questions))


def lines(registry: Registry, **fields: Any) -> int:
    """Return how many lines of Python a submission runs, once everything is imported."""
    submit(registry, **fields)
    return cost(lambda: submit(registry, **fields))[0]


def test_a_further_rule_reads_no_request(rules: Rules) -> None:
    """A further rule, also one about sizes, takes a few lines of Python: it finds what others have worked out."""
    for kind in KINDS:
        few, many = (lines(rules(toml(number, kinds=(kind,)))) for number in (2, 22))
        assert many - few < 20 * 220, kind


def test_a_rule_that_is_for_others_costs_nothing(rules: Rules) -> None:
    """Rules that select other jobs are not called, so a further one takes hardly more than the test whether it is."""
    kinds = tuple(kind for kind in KINDS if "partitions" not in kind)
    few, many = (lines(rules(toml(number, 'partitions = ["other"]', kinds))) for number in (2, 22))
    assert many - few < 20 * len(kinds) * 30


def test_bounds_with_nodes_cost_once(rules: Rules) -> None:
    """Rules that need the nodes of the cluster compute with them once."""
    kinds = ('rule = "cpu_count"\nmost = 8', 'rule = "memory_ceiling"\nper_node = 9000')
    few, many = (lines(rules(toml(number, kinds=kinds)), shared=0, min_nodes=1, max_nodes=1) for number in (1, 21))
    assert many - few < 20 * len(kinds) * 160
