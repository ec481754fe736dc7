# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules cost: a request is read once, however many rules look at it; rules that are for others cost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit.service import Service
from slurmhooks.testing import FakeJob, FakeRecord, fake_nodes, fake_partitions, run
from slurmhooks.worker.interface import Query
from tests.bench import rules as bench
from tests.costs import cost
from tests.unit.rules.conftest import Rules

pytestmark = [pytest.mark.slow, pytest.mark.moved]

KINDS = (
    *bench.KINDS,
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
        f'[[rule]]\nname = "r{place}-{number}"\n{kind}\n{more}\n'
        for number in range(repeated)
        for place, kind in enumerate(kinds)
    )


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, int]]:
    """The questions that were asked while handlers ran, each with the length of its answer."""
    asked: list[tuple[bytes, int]] = []
    handle = Service.handle

    def count(self: Service, request: bytes, query: Query) -> bytes:
        running = True

        def ask(question: bytes) -> bytes:
            answer = query(question)
            asked.extend([(question, len(answer))] * running)  # later, the kit itself reads all fields
            return answer

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
    rules: Rules, questions: list[tuple[bytes, int]], fields: dict[str, Any], more: str
) -> None:
    """Many rules of a kind ask slurmctld no more than one, and nothing twice."""
    submit(rules(toml(1, more)), **fields)
    first = questions.copy()
    questions.clear()
    submit(rules(toml(6, more)), **fields)
    assert sorted(questions) == sorted(first)
    assert len(questions) == len(set(questions))


def test_an_update_is_asked_about_once(rules: Rules, questions: list[tuple[bytes, int]]) -> None:
    """An update, which concerns the job as it is and as it would be, is asked about once, too."""
    many = toml(6) + '[[rule]]\nrule = "guard_updates"\nchanges = ["nice"]\npartitions = ["x*"]\naccounts = ["y*"]\n'
    for text in (toml(1), many):
        questions.clear()
        update(rules(text), time_limit=5, min_nodes=2, partition="debug")
        assert len(questions) == len(set(questions))


@pytest.mark.parametrize("fields", [{}, {"shared": 0}, {"partition": "p0,p1", "qos": "q1"}])
def test_no_rule_reads_a_table(rules: Rules, questions: list[tuple[bytes, int]], fields: dict[str, Any]) -> None:
    """What slurmctld answers does not grow with the cluster: rules ask for single rows, and for numbers."""
    lengths = []
    for count in (5, 250):
        questions.clear()
        tables: dict[str, Any] = {
            "partitions": {f"p{n}": {"flag_default": not n, "max_nodes": 4} for n in range(count)},
            "nodes": {f"n{n}": {"partitions": ["p0", "p1"], "cpus": 8, "real_memory": 9000} for n in range(count)},
            "qos": {f"q{n}": {} for n in range(count)},
            "jobs": [FakeRecord(job_id=1 + n, user_id=1000, partition="p0") for n in range(count)],
        }
        result = run(rules(toml(1)), "job_submit", job=FakeJob(**JOB | fields), **tables)
        assert result.accepted, result
        lengths.append(sum(length for _, length in questions))
    # Numbers have more digits.
    assert lengths[1] < lengths[0] + 100


def test_an_update_of_an_array_reads_no_jobs(rules: Rules, questions: list[tuple[bytes, int]]) -> None:
    """slurmctld counts the tasks of an array: it sends none of them, and no other jobs."""
    lengths = []
    for count in (5, 250):
        questions.clear()
        jobs = [FakeRecord(job_id=1 + n, array_job_id=1, user_id=1000, partition="b") for n in range(count)]
        registry = rules('[[rule]]\nrule = "array_size"\nmost = 249\npartitions = ["a"]\n')
        result = run(registry, "job_modify", job=FakeJob(partition="a"), record=jobs[0], jobs=jobs)
        assert result.accepted == (count == 5)
        lengths.append(sum(length for _, length in questions))
    assert lengths[0] == lengths[1] > 0


def lines(registry: Registry, **fields: Any) -> int:
    """Return how many lines of Python a submission runs, once everything is imported."""
    submit(registry, **fields)
    return cost(lambda: submit(registry, **fields))[0]


def test_a_further_rule_reads_no_request(rules: Rules) -> None:
    """A further rule, also one about sizes, takes a few lines of Python: it finds what others have worked out."""
    for kind in KINDS:
        few, many = (lines(rules(toml(number, kinds=(kind,)))) for number in (2, 22))
        assert many - few < 20 * 220, kind


def test_sixty_rules_cost_little_more_than_handlers(rules: Rules, tmp_path: Path) -> None:
    """The rules that the bench measures run less than twice as many lines as handlers with such checks."""
    path = tmp_path / "handlers.py"
    path.write_text(bench.header(bench.many(bench.CHECKS)))
    handlers, none = loader.load([loader.Source(path=str(path))]), lines(rules(""))
    assert lines(rules(bench.toml(bench.RULES))) - none < 1.75 * (lines(handlers) - none)


def test_rules_for_other_users_ask_for_nothing_else(rules: Rules, questions: list[tuple[bytes, int]]) -> None:
    """The user's name is known soonest: a rule for other users does not ask for QOS and partitions."""
    submit(rules(toml(1, 'partitions = ["debug"]\nqos = ["normal"]\nusers = ["bob"]', kinds=KINDS[:8])))
    assert not questions


def test_a_rule_that_is_for_others_costs_nothing(rules: Rules) -> None:
    """Rules that select other jobs are not called, so a further one takes hardly more than the test whether it is."""
    kinds = tuple(kind for kind in KINDS if "partitions" not in kind)
    few, many = (lines(rules(toml(number, 'partitions = ["other"]', kinds))) for number in (2, 22))
    assert many - few < 20 * len(kinds) * 21


def test_bounds_with_nodes_cost_once(rules: Rules) -> None:
    """Rules that need the nodes of the cluster compute with them once."""
    kinds = ('rule = "cpu_count"\nmost = 8', 'rule = "memory_ceiling"\nper_node = 9000')
    few, many = (lines(rules(toml(number, kinds=kinds)), shared=0, min_nodes=1, max_nodes=1) for number in (1, 21))
    assert many - few < 20 * len(kinds) * 140


def test_a_field_of_a_whole_job_is_found_at_once(tmp_path: Path) -> None:
    """A handler of hook.job may read fields in a loop: a further read does not list the fields again."""
    counted = []
    for number in (2, 102):
        path = tmp_path / f"reads{number}.py"
        path.write_text(
            f"from slurmhooks import hook\n@hook.job\ndef r(job):\n    [job.comment for _ in range({number})]\n"
        )
        counted.append(lines(loader.load([loader.Source(path=str(path))])))
    assert counted[1] - counted[0] < 100 * 60
