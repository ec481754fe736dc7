# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of periodic rules: what handlers stage, and when it is no longer taken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.testing import FakeRecord, fake_jobs, fake_nodes, run

DRAINED = 0x200


@pytest.fixture
def staged(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that runs one line of a rule on a job and a node, and returns its actions."""

    def stage(line: str, job: dict[str, Any] | None = None, node: dict[str, Any] | None = None) -> list[str]:
        path = tmp_path / "rule.py"
        path.write_text(
            "from slurmhooks import hook\n@hook.every('5m')\ndef rule(jobs, nodes):\n"
            f"    job, node = jobs[7], nodes['n1']\n    {line}\n"
        )
        jobs = fake_jobs([FakeRecord(job_id=7, **(job or {}))])
        result = run(path, "every", jobs=jobs, nodes=fake_nodes({"n1": node or {}}))
        return [text.removeprefix("info: ") for text in result.log] + ([result.text] if result.text else [])

    return stage


RUNNING = {"job_state": 1, "priority": 5}


@pytest.mark.parametrize(
    ("line", "job", "expected"),
    [
        ("job.cancel('idle')", RUNNING, "cancel job 7: idle"),
        ("job.cancel('x')", {"array_job_id": 7, "array_task_cnt": 3}, "cancel job 7_*: x"),
        ("job.cancel('x')", {"array_job_id": 6, "array_task_id": 4}, "cancel job 6_4: x"),
        ("job.cancel('x')", {"het_job_id": 6, "het_job_offset": 1}, "cancel job 6: x"),
        ("job.update(comment='x')", {"het_job_id": 6, "het_job_offset": 1}, "update job 6+1: comment='x'"),
        ("job.hold('x')", {"priority": 5}, "hold job 7: x"),
        ("job.hold('x')", {"priority": 0}, ""),
        ("job.release()", {"priority": 0}, "release job 7"),
        ("job.release()", {"priority": 5}, ""),
        ("job.requeue()", RUNNING, "requeue job 7"),
        ("job.update(time_limit=60)", {"time_limit": 60}, ""),
        ("job.update(time_limit=60)", {"time_limit": 61}, "update job 7: time_limit=60"),
        ("job.update(comment='')", {"comment": None}, ""),
        ("[job.notify('a'), job.notify('a')]", RUNNING, "notify job 7: a"),
        ("[job.cancel('x'), job.requeue(), job.update(comment='x')]", {"job_state": 3}, ""),
    ],
)
def test_actions_on_jobs(staged: Callable[..., list[str]], line: str, job: dict[str, Any], expected: str) -> None:
    """Actions name the job as users write it; one that the job does not need is not staged."""
    assert "; ".join(staged(line, job)) == expected


@pytest.mark.parametrize(
    ("line", "node", "expected"),
    [
        ("node.drain('sick')", {}, "drain node n1: sick [rule:rule]"),
        ("node.drain('sick')", {"state_flags": DRAINED, "reason": "x"}, ""),
        ("node.undrain()", {}, ""),
        ("node.undrain()", {"state_flags": DRAINED, "reason": "sick [rule:rule]"}, "undrain node n1"),
        ("node.undrain('x')", {"state_flags": DRAINED, "reason": "x"}, "undrain node n1: x"),
        ("node.update(weight=3, comment='x')", {"weight": 3, "comment": "x"}, ""),
        ("node.update(weight=3)", {"weight": 2}, "update node n1: weight=3"),
    ],
)
def test_actions_on_nodes(staged: Callable[..., list[str]], line: str, node: dict[str, Any], expected: str) -> None:
    """A drain ends with the name of the rule; an action that the node does not need is not staged."""
    assert "; ".join(staged(line, None, node)) == expected


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("job.cancel('')", "takes a text of 1 to 1024 bytes"),
        ("job.cancel(7)", "takes a str"),
        ("job.update()", "takes at least one field"),
        ("job.update(comment=None)", "would change nothing"),
        ("job.update(comnent='x')", "nearest: comment"),
        ("job.update(time_limit='x')", "time_limit"),
        ("job.update(comment='a\\0b')", "NUL"),
        ("node.update(reason='x')", "no 'reason'"),
        ("node.update(weight=-1)", "takes 0 to"),
        ("node.update(weight='1')", "takes an int"),
    ],
)
def test_wrong_actions_are_errors(staged: Callable[..., list[str]], line: str, wrong: str) -> None:
    """An action with a wrong value fails the run when it is called, with the field and the value."""
    assert wrong in "; ".join(staged(line))
