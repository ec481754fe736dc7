# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm fills in counts for rules as if the user had named it."""

from typing import Any

import pytest

from slurmhooks.rules import asking
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED
from tests.unit.rules.conftest import Rules

CLUSTER: dict[str, Any] = {
    "partitions": {
        "debug": {"flag_default": True, "default_time": 10, "nodes": "n[1-2]", "total_nodes": 2},
        "long": {"default_time": 3000, "max_time": UNLIMITED},
        "free": {"max_time": UNLIMITED},
        "closed": {"default_time": 10, "state_up": 0},
    },
    "nodes": {
        name: {"partitions": ["debug", "long", "free"], "cpus": 8, "tot_cores": 8, "real_memory": 9000, "gres": "gpu:4"}
        for name in ("n1", "n2")
    },
}
CEILING = '[[rule]]\nrule = "time_ceiling"\nlimit = "1-0"\n'
INTERACTIVE = '[[rule]]\nrule = "interactive_limit"\ntime = "1-0"\n'
TIMES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"partition": "debug"}, {}),
    ({"partition": "long"}, {"time_limit": 1440}),
    ({"partition": "free"}, {"time_limit": 1440}),
    ({"partition": "debug,long"}, {}),
    ({"partition": "long,debug"}, {"time_limit": 1440}),
    ({"partition": "free,debug"}, {"time_limit": 1440}),
    ({"partition": "closed,long"}, {"time_limit": 1440}),
    ({"time_min": 5}, {}),
    ({"time_limit": 7}, {}),
]


@pytest.mark.parametrize("rule", [CEILING, INTERACTIVE], ids=["time_ceiling", "interactive_limit"])
@pytest.mark.parametrize(("job", "changes"), TIMES)
def test_a_ceiling_raises_no_time_limit(rules: Rules, rule: str, job: dict[str, Any], changes: dict[str, Any]) -> None:
    """A job whose DefaultTime is below the ceiling keeps it; another one gets the ceiling."""
    result = run(rules(rule), "job_submit", job=FakeJob(alloc_resp_port=1, other_port=1, **job), **CLUSTER)
    assert result.accepted, result
    assert result.changes == changes


def test_the_default_time_of_the_first_partition(rules: Rules) -> None:
    """It counts in each of them; if it has none, that of the partitions that the rule is for."""
    made = rules(f'{CEILING}partitions = ["debug"]\n')
    for partition, changes in {"debug,long": {}, "long,debug": {"time_limit": 1440}, "free,debug": {}}.items():
        assert run(made, "job_submit", job=FakeJob(partition=partition), **CLUSTER).changes == changes


ON_LONG = f'{CEILING}partitions = ["long"]\n'


@pytest.mark.parametrize(
    ("rule", "changes", "limit", "set_to"),
    [
        (CEILING, {"partition": "long"}, None, {"time_limit": 1440}),
        (CEILING, {"partition": "debug"}, None, {}),
        (CEILING, {"partition": "long"}, 3000, {}),
        (f'{ON_LONG}unset = "accept"', {"partition": "long,debug"}, 3000, {}),
        (f'{ON_LONG}unset = "accept"', {"partition": "debug,long"}, 3000, None),
        (f'{ON_LONG}unset = "accept"', {"partition": "long", "time_limit": 3000}, 3000, None),
        (f'{ON_LONG}unset = "refuse"', {"partition": "long"}, 3000, None),
        (f'{ON_LONG}unset = "refuse"', {"partition": "long"}, 10, {}),
        (ON_LONG, {"partition": "long"}, 3000, {"time_limit": 1440}),
        (ON_LONG, {"partition": "long"}, 2999, None),
        (INTERACTIVE, {"partition": "long", "time_min": 5}, 3000, {"time_limit": 1440}),
    ],
)
def test_an_update_of_a_job_that_named_no_limit(
    rules: Rules, rule: str, changes: dict[str, Any], limit: int | None, set_to: dict[str, Any] | None
) -> None:
    """It is judged as a submission; Slurm has made the DefaultTime of the first partition its limit, if there was one.

    A rule that does not select partitions leaves other jobs alone, wherever they are moved.
    """
    record = FakeRecord(partition="debug", batch_flag=0, time_limit=limit)
    result = run(rules(rule), "job_modify", job=FakeJob(**changes), record=record, **CLUSTER)
    assert (result.accepted, result.changes) == (set_to is not None, set_to or {}), result


QOS = """[[rule]]
rule = "choose_qos"
cases = [{ to = "short", max_time = "3-0" }, { to = "big", min_cpus = 8 }, { to = "long" }]
"""


@pytest.mark.parametrize(
    ("job", "chosen"),
    [
        ({}, "short"),
        ({"partition": "long"}, "short"),
        ({"partition": "free"}, "long"),
        ({"partition": "free", "shared": 0}, "big"),
        ({"partition": "free", "min_cpus": 8, "num_tasks": 8}, "big"),
        ({"partition": "debug,free"}, "short"),
        ({"partition": "free,debug"}, "long"),
    ],
)
def test_a_qos_is_chosen_by_what_the_job_gets(rules: Rules, job: dict[str, Any], chosen: str) -> None:
    """DefaultTime and whole nodes count as if the user had named them."""
    assert run(rules(QOS), "job_submit", job=FakeJob(**job), **CLUSTER).changes == {"qos": chosen}


@pytest.mark.parametrize(
    ("keys", "job", "changes"),
    [
        ('{ to = "debug", max_time = 10 }', {}, {"partition": "debug"}),
        ('{ to = "long", max_time = 10 }', {}, {}),
        ('{ to = "long", min_time = 1000 }', {}, {"partition": "long"}),
        ('{ to = "long", min_cpus = 8 }', {"shared": 0}, {"partition": "long"}),
        ('{ to = "long", min_gpus = 1 }', {"shared": 0}, {}),
    ],
)
def test_a_partition_is_chosen_by_what_the_job_gets_there(
    rules: Rules, keys: str, job: dict[str, Any], changes: dict[str, Any]
) -> None:
    """What a job leaves to Slurm is what it gets in the partition of the case."""
    made = rules(f'[[rule]]\nrule = "choose_partition"\ncases = [{keys}]\n')
    assert run(made, "job_submit", job=FakeJob(**job), **CLUSTER).changes == changes


WORDS = "{time_limit} {nodes} {cpus} {gpus} {array_tasks}"


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"time_limit": 7, "min_nodes": 1, "max_nodes": 1, "shared": 0}, "7 1 8 4 1"),
        ({"min_nodes": 1, "max_nodes": 1, "min_cpus": 1, "num_tasks": 1}, "10 1 1 0 1"),
        (
            {"partition": "free", "max_nodes": 1, "num_tasks": 2, "min_cpus": 2, "array_inx": "1-9:2,20"},
            "UNLIMITED 1 2 0 6",
        ),
        ({"partition": "long,debug", "max_nodes": 1, "num_tasks": 2, "min_cpus": 2}, "3000 1 2 0 1"),
    ],
)
def test_a_budget_is_told_what_the_job_gets(
    rules: Rules, monkeypatch: pytest.MonkeyPatch, job: dict[str, Any], words: str
) -> None:
    """The service reads DefaultTime, the resources of whole nodes, and the number of tasks of an array."""
    asked: list[tuple[str, ...]] = []

    def answer(question: tuple[str, ...], deadline: float) -> asking.Answer:
        asked.append(question)
        return asking.Answer(0, "")

    monkeypatch.setattr(asking, "program", answer)
    made = rules(f'[[rule]]\nrule = "budget"\ncommand = ["/bin/true", "{WORDS}"]\n')
    result = run(made, "job_submit", job=FakeJob(**job), **CLUSTER)
    assert result.accepted, result
    assert asked == [("/bin/true", words)]
