# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order the actions of a run are taken, and what is done for each."""

from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.slurmctld import taking
from slurmhooks.slurmctld.action import Action
from slurmhooks.slurmctld.effects import job_state
from slurmhooks.slurmctld.walk import GoneError

JOB = {
    "submit_time": 1,
    "restart_cnt": 0,
    "job_state": 1,
    "array_task_id": None,
    "array_task_cnt": 0,
    "array_job_id": 0,
    "het_job_id": 0,
    "het_job_offset": 0,
    "batch_flag": 1,
    "admin_comment": None,
    "priority": 5,
    "user_name": "alice",
    "_names": list,
}


class Site:
    """Stands for slurmctld, its nodes and libslurm; notes what is done."""

    def __init__(self) -> None:
        self.jobs = {
            number: SimpleNamespace(**JOB | {"job_id": number, "batch_host": f"n{number}"}) for number in range(1, 6)
        }
        self.done: list[str] = []
        self.said: list[tuple[str, str]] = []
        self.sent: dict[str, Any] = {}
        self.begun: dict[int, bool | None] = dict.fromkeys(self.jobs, True)
        self.wrong: dict[str, str] = {}
        self.components: list[Any] = []
        self.handler: Any = SimpleNamespace(label="every:acts", rollout=None)

    def row(self, action: Action, _: object) -> Any:
        """Return a job as it is now."""
        return self.jobs.get(action.job_id or 0)

    def whole(self, _: Action, row: Any, __: object) -> list[Any]:
        """Return the components of a job."""
        return [row, *self.components]

    def table(self, *_: object) -> Any:
        """Return the jobs."""
        return self.jobs

    def take(self, action: Action) -> str | None:
        """Take an action."""
        self.done.append(f"{action.kind} {action.target}")
        return self.wrong.get(action.kind)

    def note(self, _: str, job: int, comment: str) -> str | None:
        """Set the admin_comment of a job."""
        if "note" not in self.wrong:
            self.jobs[job].admin_comment = comment
        return self.wrong.get("note")

    def has_begun(self, job: int, _: str) -> bool | None:
        """Answer for the node of a job, in a process of its own."""
        return self.begun[job]

    def run(self, *wanted: tuple[str, int]) -> list[tuple[str, str]]:
        """Take actions that a rule has staged; return the outcomes."""
        turns: Any = SimpleNamespace(begin=lambda *_: None, end=lambda: None, state=self)
        asking: Any = SimpleNamespace(number=lambda *_: 1)
        site: Any = self

        def report(action: Action, mode: str, verdict: str, text: str, *_: object) -> None:
            self.said.append((verdict, text))

        self.said = []
        actions = [
            Action(kind, str(job), f"{kind} it", job, job_state(self.jobs[job]), {"user_id": 1}, " (every:acts)")
            for kind, job in wanted
        ]
        taking.Taking(self.handler, site, asking, site, turns, report).take(actions)
        return self.said

    def read(self) -> dict[str, Any]:
        """Return which lines jobs have had."""
        return self.sent

    def write(self, sent: dict[str, Any]) -> None:
        """Note which lines jobs have had."""
        self.sent = sent


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a site, whose nodes are not asked by real processes."""
    found = Site()

    def heard(jobs: Any, has_begun: Any) -> Any:
        asked = dict(jobs)
        found.done += [f"ask {node}" for node in asked.values()]
        yield from sorted(((job, has_begun(job, "")) for job in asked), key=lambda answer: answer[1] is None)

    monkeypatch.setattr(taking, "heard", heard)
    return found


def test_what_waits_for_a_node_comes_last(site: Site) -> None:
    """Actions on other jobs come before; a line still comes before the end of its job, whose node may be silent."""
    site.begun[1] = None
    said = site.run(("notify", 1), ("cancel", 1), ("notify", 2), ("cancel", 2), ("cancel", 3))
    assert site.done == ["cancel 3", "ask n1", "ask n2", "notify 2", "cancel 2", "cancel 1"]
    assert [verdict for verdict, _ in said] == ["cancelled", "notified", "cancelled", "skipped", "cancelled"]
    assert said[3] == ("skipped", "notify it (its node has not answered)")


def test_a_line_to_a_job_that_has_not_begun(site: Site) -> None:
    """slurmd would drop it, so it is skipped, and sent by a later run; a line that the job has had asks no node."""
    site.begun[1] = False
    assert site.run(("notify", 1)) == [("skipped", "notify it (its script has not begun)")]
    site.begun[1] = True
    assert site.run(("notify", 1))[0][0] == "notified"
    assert site.run(("notify", 1))[0][0] == "skipped"
    assert site.done == ["ask n1", "ask n1", "notify 1"]
    site.jobs[2].batch_flag = 0
    assert site.run(("notify", 2))[0][0] == "notified"
    assert site.done[3:] == ["notify 2"]


def test_an_action_with_wrong_values_fails_alone(site: Site) -> None:
    """It is not taken, and the others are."""
    turns: Any = SimpleNamespace(begin=lambda *_: None, end=lambda: None, state=site)
    asking: Any = SimpleNamespace(number=lambda *_: 1)
    said = []
    actions = [
        Action("cancel", "1", "", 1, job_state(site.jobs[1]), {}, wrong="reason takes a str, not None"),
        Action("cancel", "2", "x", 2, job_state(site.jobs[2]), {}),
    ]
    stand_in: Any = site

    def report(action: Action, mode: str, verdict: str, text: str, *_: object) -> None:
        said.append((action.target, verdict, text))

    taking.Taking(site.handler, stand_in, asking, stand_in, turns, report).take(actions)
    assert said == [("1", "failed", "(reason takes a str, not None)"), ("2", "cancelled", "x")]


def test_tasks_that_still_wait(site: Site) -> None:
    """An action on the waiting tasks of an array is taken when some have gone, and names the last one."""
    waits = site.jobs[1]
    waits.job_state, waits.array_job_id, waits.array_task_cnt = 0, 1, 400
    action = Action("cancel", "1_*", "x", 1, job_state(waits), {})
    asking: Any = SimpleNamespace(number=lambda *_: 1)
    turns: Any = SimpleNamespace(begin=lambda *_: None, end=lambda: None, state=site)
    stand_in: Any = site
    for count, task, named in ((399, None, "1_*"), (1, 7, "1_7")):
        waits.array_task_cnt, waits.array_task_id = count, task
        taking.Taking(site.handler, stand_in, asking, stand_in, turns, lambda *_: None).take([action])
        assert site.done[-1] == f"cancel {named}"
    waits.job_state = 1
    taking.Taking(site.handler, stand_in, asking, stand_in, turns, lambda *_: None).take([action])
    assert len(site.done) == 2


def test_the_reason_is_beside_a_comment(site: Site) -> None:
    """The admin_comment keeps what the site has written; a reason of what did not happen does not stay."""
    site.jobs[1].admin_comment = "paid by x"
    site.run(("cancel", 1))
    assert site.jobs[1].admin_comment == "paid by x; cancel it (every:acts)"
    site.run(("cancel", 1))
    assert site.jobs[1].admin_comment == "paid by x; cancel it (every:acts)"
    site.wrong["requeue"] = "it must not be"
    assert site.run(("requeue", 2)) == [("failed", "requeue it (it must not be)")]
    assert site.jobs[2].admin_comment == ""
    site.wrong["note"] = "Access denied"
    assert site.run(("cancel", 3)) == [
        ("cancelled", "cancel it (the reason is not in the admin_comment of 3: Access denied)")
    ]


def test_a_component_that_goes_meanwhile(site: Site) -> None:
    """The action on its job is taken, and the reason is beside the comments of the other components."""

    class Gone(SimpleNamespace):
        @property
        def admin_comment(self) -> str:
            raise GoneError("record 2 has ended before its admin_comment was read")

    site.components = [Gone(**{name: value for name, value in JOB.items() if name != "admin_comment"}, job_id=2)]
    assert site.run(("cancel", 1), ("cancel", 3)) == [("cancelled", "cancel it"), ("cancelled", "cancel it")]
    assert site.jobs[1].admin_comment == "cancel it (every:acts)"


def test_no_question_waits_for_ever(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a run asks slurmctld, nodes or libslurm has a deadline, after which the supervisor kills the process."""
    busy: list[str] = []
    asked: list[tuple[str, bool]] = []
    real = {name: getattr(site, name) for name in ("row", "whole", "table", "take", "note")}

    def noting(name: str) -> Any:
        def call(*arguments: Any) -> Any:
            asked.append((name, bool(busy)))
            return real[name](*arguments)

        return call

    def heard(jobs: Any, _: object) -> Any:
        for job, _node in jobs:
            asked.append(("node", bool(busy)))
            yield job, True

    monkeypatch.setattr(taking, "heard", heard)
    for name in real:
        monkeypatch.setattr(site, name, noting(name))
    real["number"] = lambda *_: 1
    turns: Any = SimpleNamespace(begin=lambda what, _: busy.append(what), end=busy.clear, state=site)
    asking: Any = SimpleNamespace(number=noting("number"))
    stand_in: Any = site
    actions = [
        Action(kind, str(job), "x", job, job_state(site.jobs[job]), {}, " (every:acts)")
        for kind, job in (("notify", 1), ("cancel", 1), ("cancel", 2))
    ]
    taking.Taking(site.handler, stand_in, asking, stand_in, turns, lambda *_: None).take(actions)
    assert {name for name, _ in asked} >= {"row", "whole", "take", "note", "node", "number"}
    assert [name for name, in_time in asked if not in_time] == []
    assert busy == []
