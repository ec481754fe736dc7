# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of periodic handlers: what handlers stage, and when it is no longer taken."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slurmhooks.handlers.labels import ending
from slurmhooks.hooks.node_states import DRAIN, POWER_DOWN, POWERING_DOWN, REBOOT_ISSUED, REBOOT_REQUESTED
from slurmhooks.slurmctld.action import Action, with_reason
from slurmhooks.slurmctld.actions import Acting
from slurmhooks.slurmctld.effects import obsolete
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
        ("job.requeue('x')", RUNNING, "requeue job 7: x"),
        ("job.cancel(' ')", RUNNING, "cancel job 7: rule:rule"),
        ("job.cancel('a\\x1b[31m\\n b')", RUNNING, "cancel job 7: a\\x1b[31m b"),
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
        ("node.drain('sick')", {}, "drain node n1: sick (rule:rule)"),
        ("node.drain(' ')", {}, "drain node n1: rule:rule (rule:rule)"),
        ("node.drain('sick')", {"state_flags": DRAINED, "reason": "x"}, ""),
        ("node.undrain()", {}, ""),
        ("node.undrain()", {"state_flags": DRAINED, "reason": "sick (rule:rule)"}, "undrain node n1"),
        ("node.undrain('x')", {"state_flags": DRAINED, "reason": "x"}, "undrain node n1: x"),
        ("node.update(weight=3, comment='x')", {"weight": 3, "comment": "x"}, ""),
        ("node.update(weight=3)", {"weight": 2}, "update node n1: weight=3"),
    ],
)
def test_actions_on_nodes(staged: Callable[..., list[str]], line: str, node: dict[str, Any], expected: str) -> None:
    """A drain ends with the name of the rule; an action that the node does not need is not staged."""
    assert "; ".join(staged(line, None, node)) == expected


@pytest.mark.parametrize("mark", ["", "(rule:rule)"])
@pytest.mark.parametrize(
    ("flag", "why"),
    [
        (0, None),
        (REBOOT_REQUESTED, "a reboot is pending"),
        (REBOOT_ISSUED, "a reboot is pending"),
        (POWER_DOWN, "it is to be powered down"),
        (POWERING_DOWN, "it is to be powered down"),
    ],
)
def test_a_drain_that_something_else_needs(mark: str, flag: int, why: str | None) -> None:
    """Whatever the reason says, a drain is not ended that a reboot or a power down needs now."""
    reason = "sick (rule:rule)"
    state = DRAIN | flag | 2
    node = SimpleNamespace(reason=reason, reason_uid=os.getuid(), _struct=SimpleNamespace(raw=lambda _: state))
    text = "" if mark else reason
    assert obsolete(Action("undrain", "n1", text, None, (), {}, mark=mark), node) == why


MINE, ROOT = os.getuid(), 4_000_000_000
"""Users who set reasons: that of the process, and another one."""


@pytest.mark.parametrize(
    ("reason", "user", "is_ours"),
    [
        ("sick (rule:rule)", MINE, True),
        ("sick [rule:rule]", MINE, True),
        ("sick (rule:other)", MINE, False),
        ("sick [rule:other]", MINE, False),
        ("sick (rule:rule)", ROOT, False),
        ("sick [rule:rule]", ROOT, False),
        ("sick (rule:rule) : reboot issued : reboot complete", ROOT, True),
        ("a : reboot issued (rule:rule)", ROOT, False),
    ],
)
def test_a_drain_of_this_rule(reason: str, user: int, is_ours: bool) -> None:
    """A rule ends its own drains, also those whose reasons 1.0.0 has marked, and nobody else's.

    A check of a node, whose text a user may have written, can have such a reason, too; slurmctld knows who has set it.
    """
    node = SimpleNamespace(reason=reason, reason_uid=user, _struct=SimpleNamespace(raw=lambda _: DRAIN | 2))
    action = Action("undrain", "n1", "", None, (), {}, mark=ending("rule:rule"))
    assert (obsolete(action, node) is None) == is_ours


@pytest.mark.parametrize("reason", ["sick", "a : reboot issued", "x : reboot complete y"])
@pytest.mark.parametrize("appended", ["", " : reboot issued"])
def test_a_drain_with_a_reason(reason: str, appended: str) -> None:
    """It ends by exactly this reason, whoever has set it, also if slurmctld has appended something."""
    node = SimpleNamespace(
        reason=f"{reason}{appended}", reason_uid=ROOT, _struct=SimpleNamespace(raw=lambda _: DRAIN | 2)
    )
    assert obsolete(Action("undrain", "n1", reason, None, (), {}), node) is None
    assert obsolete(Action("undrain", "n1", "other", None, (), {}), node) is not None


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("job.cancel(7)", "reason takes a str, not 7"),
        ("job.cancel(job.wckey)", "reason takes a str, not None"),
        ("job.update()", "takes at least one field"),
        ("job.update(comment=None)", "would change nothing"),
        ("job.update(time_limit='x')", "time_limit"),
        ("job.update(comment='a\\0b')", "NUL"),
        ("job.update(comment='\\ud800')", "utf-8"),
        ("node.update(weight=-1)", "takes 0 to"),
        ("node.update(weight='1')", "takes an int"),
        ("node.update(comment='a\\0b')", "NUL"),
        ("node.drain(None)", "reason takes a str, not None"),
    ],
)
def test_values_that_do_not_fit_fail_one_action(staged: Callable[..., list[str]], line: str, wrong: str) -> None:
    """They raise nothing: the action fails, with the field and the value, and the others of the run are taken."""
    first, second = staged(f"{line}; job.notify('a line')", {**RUNNING, "comment": "x"}, {"comment": "x"})
    assert wrong in first.partition(": failed (")[2]
    assert second == "notify job 7: a line"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("job.update(comnent='x')", "job has no 'comnent'; nearest: comment"),
        ("node.update(reason='x')", "no 'reason'"),
        ("job.cancelx('x')", "record has no 'cancelx'; nearest: cancel"),
        ("job.comnent", "record has no 'comnent'; nearest: comment"),
        ("job.comment = 'x'", "record.comment is read-only"),
        ("node.drian('x')", "node has no 'drian'; nearest: drain"),
        ("jobs.where(tate=1)", "record has no 'tate' to filter by"),
    ],
)
def test_names_that_do_not_exist_fail_the_run(staged: Callable[..., list[str]], line: str, wrong: str) -> None:
    """Such a rule is wrong for every row."""
    assert wrong in "; ".join(staged(line))


TEXT = st.text(st.characters() | st.characters(max_codepoint=0x200) | st.sampled_from("\0\n\x1b\x9b\u202e\udc9b"))


@given(text=TEXT, kind=st.sampled_from(["cancel", "hold", "requeue", "notify", "drain", "undrain", "update"]))
@example(text="x" * 2000, kind="drain")
@example(text="\x1b" * 2000, kind="drain")
@example(text=" \n", kind="drain")
def test_every_text_leaves_as_one_line(text: str, kind: str) -> None:
    """It acts on no terminal, is no longer than Slurm takes, and a reason that stays ends with the rule's mark."""
    anything: Any = None
    handler: Any = SimpleNamespace(label="rule:rule", schedule=SimpleNamespace(at_most=10))
    asking = Acting(anything, anything, handler)
    row = SimpleNamespace(_struct=SimpleNamespace(raw=lambda _: 0), reason=None, priority=5)
    asking.stage(Action(kind, "n1", text, None, (False, None), {}, asking.mark, wrong="" if text else "none"), row)
    for action in asking.staged.values():
        for shown in (action.line, action.marked):
            assert "".join(shown.split(" ")).isprintable() or not shown
            assert len(shown.encode()) <= 1024
        if kind == "drain" and text:
            assert action.line.endswith(" (rule:rule)")
            assert action.line != " (rule:rule)"
        if kind in ("cancel", "hold", "requeue") and text:
            assert action.marked.endswith(" (rule:rule)")


@pytest.mark.parametrize(
    ("reason", "given"),
    [("a  b\x1b", "a  b\x1b"), ("a b\\x1b", "a  b\x1b"), ("a b", "a b")],
    ids=["of somebody else", "of this rule", "plain"],
)
def test_a_reason_is_compared_as_slurmctld_has_it(staged: Callable[..., list[str]], reason: str, given: str) -> None:
    """undrain(reason) finds the reason of others byte for byte, and what this rule has drained with the same text."""
    node = SimpleNamespace(
        name="n1", reason=reason, reason_uid=0, _struct=SimpleNamespace(raw=lambda _: DRAINED), _names=list
    )
    action = Action("undrain", "n1", given, None, (True, reason), {})
    assert obsolete(action, node) is None
    node.reason = "another"
    assert "set by user 0" in str(obsolete(action, node))


@given(comment=st.text(max_size=20) | st.just("x" * 4090), reason=st.text(min_size=1, max_size=20))
def test_a_reason_is_kept_beside_a_comment(comment: str, reason: str) -> None:
    """What others have written stays, the same reason is there once, and a comment without room stays as it is."""
    both = with_reason(comment, reason)
    if both is None:
        assert len(comment) > 4000
        return
    assert both.startswith(comment)
    assert reason in both
    assert with_reason(both, reason) == both
    assert len(both.encode("utf-8", "surrogateescape")) <= 4096
