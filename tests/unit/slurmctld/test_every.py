# SPDX-License-Identifier: GPL-2.0-or-later
"""When periodic handlers run, and when one that is due may begin."""

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.collector import reporting
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.hooks.schedule import Schedule
from slurmhooks.slurmctld import every
from slurmhooks.slurmctld.actions import Acting, ActingViews
from slurmhooks.testing import FakeRecord, fake_jobs
from slurmhooks.wire.message import decode
from slurmhooks.wire.protocol import What
from slurmhooks.worker.claims import Claim
from tests.unit.slurmctld.test_walk import TABLES, Slurmctld, jobs

BEGIN = (Claim.GRANTED, 99)


class Turns:
    """Stands for the supervisor, whose answers are given, and for slurmctld; notes what is asked."""

    def __init__(self, answers: list[tuple[Claim, int | None]], in_control: int | None = 1) -> None:
        self.said: list[str] = []
        self.now = 1000.0
        self._answers = answers
        self._in_control = in_control

    def number(self, *_: object) -> int | None:
        """Answer for slurmctld."""
        self.said.append("in control?")
        return self._in_control

    def claim(self, rule: str, run: int, *, take_over: bool) -> tuple[Claim, int | None]:
        """Answer for the supervisor."""
        self.said.append(f"{rule} {run}{' take over' if take_over else ''}")
        while take_over and self._answers[0][0] == Claim.OTHERS:
            del self._answers[0]
        return self._answers.pop(0)

    def wait(self, seconds: float) -> bool:
        """Let time go on; end when there are no answers."""
        self.now += seconds
        return not self._answers

    def begin(self, what: str, timeout: float) -> None:
        """Ignore it."""

    def end(self) -> None:
        """Ignore it."""

    def free(self) -> None:
        """Note it."""
        self.said.append("free")


@pytest.fixture
def claim(monkeypatch: pytest.MonkeyPatch) -> Callable[[Turns], int | None]:
    """Return a function that asks for a run of a rule with a period of 10 seconds."""
    schedule = SimpleNamespace(period=10, slot=lambda now: int(now // 10))
    handler: Any = SimpleNamespace(label="a:b", schedule=schedule)

    rules: Any = every.Rules.__new__(every.Rules)
    rules._left_since, rules._in_force_since = None, 0.0

    def ask(turns: Turns) -> int | None:
        for clock in ("time", "monotonic"):
            monkeypatch.setattr(time, clock, lambda: turns.now)
        asking: Any = turns
        missed: int | None = rules._claim(handler, asking, turns)
        return missed

    return ask


def test_slurmctld_is_asked_first(claim: Callable[[Turns], int | None]) -> None:
    """One that is not in control claims nothing, and one that hangs does not: it is asked before each attempt."""
    turns = Turns([], in_control=None)
    assert claim(turns) is None
    assert turns.said == ["in control?", "free"]
    turns = Turns([(Claim.LOCKED, None), BEGIN])
    assert claim(turns) == 0
    assert turns.said == ["in control?", "a:b 10 100", "in control?", "a:b 10 100"]


def test_a_run_that_waits(claim: Callable[[Turns], int | None]) -> None:
    """It is the one that is due when it may begin; those before it are missed. What has been done begins not at all."""
    assert claim(Turns([(Claim.LOCKED, None)] * 149 + [(Claim.GRANTED, 99)])) == 2
    assert claim(Turns([(Claim.GRANTED, None)])) == 0
    assert claim(Turns([(Claim.DONE, None)])) is None
    assert claim(Turns([(Claim.LOCKED, None)])) is None


@pytest.mark.parametrize(("loaded", "generation", "missed"), [(1000, 1, 54), (1000, 2, 0), (960, 2, 3), (10, 2, 54)])
def test_a_rule_that_was_not_in_force(
    monkeypatch: pytest.MonkeyPatch, loaded: int, generation: int, missed: int
) -> None:
    """It has missed what was due since its set is in force; the first set of a slurmctld also what was due before."""
    monkeypatch.setattr(reporting, "reporter", SimpleNamespace(generation=generation))
    tables: Any = SimpleNamespace()
    monkeypatch.setattr(every, "ActingViews", lambda _: None)
    rules = every.Rules(tables, (), "", loaded)
    handler: Any = SimpleNamespace(label="a:b", schedule=SimpleNamespace(period=10, slot=lambda now: int(now // 10)))
    turns: Any = Turns([(Claim.GRANTED, 45)])
    monkeypatch.setattr(time, "time", lambda: turns.now)
    assert rules._claim(handler, turns, turns) == missed


def test_rules_of_another_controller(claim: Callable[[Turns], int | None]) -> None:
    """They are taken over after that has run nothing for a while, then all of them; what it still runs, it keeps."""
    waits = int(every.PATIENCE / every.RETRY)
    others = (Claim.OTHERS, None)
    turns = Turns(
        [*[others] * 5, (Claim.LOCKED, None), *[others] * 99, BEGIN, others, BEGIN, others, (Claim.DONE, None)]
    )
    asked = []
    for _ in range(3):
        claim(turns)
        asked.append([each.endswith("take over") for each in turns.said if each.startswith("a:b")])
        turns.said.clear()
    assert 5 + 1 + waits <= len(asked[0]) <= 5 + 1 + waits + 2
    assert not any(asked[0][:-1])
    assert [asked[0][-1], *asked[1:]] == [True, [True], [True]]
    turns = Turns([others, (Claim.GRANTED, 99)])
    claim(turns)
    assert not any(each.endswith("take over") for each in turns.said)


class Reached:
    """Keeps what is written, as long as the object exists."""

    def __init__(self) -> None:
        self._value: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return what was written."""
        return self._value

    def write(self, value: dict[str, Any]) -> None:
        """Replace it."""
        self._value = value


class MovedTurns:
    """Waits by moving a clock, and does something to it before some waits."""

    def __init__(self, clock: SimpleNamespace, steps: dict[int, Callable[[], None]], most: int) -> None:
        self._clock, self._steps, self._left = clock, steps, most
        self.reached = Reached()
        self._count = 0

    def wait(self, seconds: float) -> bool:
        """Move the clock; end after the last wait."""
        if seconds <= 0:
            return False
        self._count += 1
        self._steps.get(self._count, lambda: None)()
        self._clock.now += seconds
        return self._count > self._left

    def begin(self, *_: object) -> None:
        """Ignore it."""

    end = free = begin


@pytest.mark.parametrize("jump", [86400.0 * 365, 0.0, -86400.0 * 365])
def test_the_clock_may_be_wrong_for_a_while(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule is due about once a period, also after the clock was wrong and has been put right."""
    start = 1_700_000_000.0
    clock = SimpleNamespace(now=start)
    runs: list[float] = []
    handler = Handler(lambda: None, (), HOOKS["every"], label="site:rule", path=__file__, line=1)
    handler.schedule = Schedule("10s")
    monkeypatch.setattr(time, "time", lambda: clock.now)
    monkeypatch.setattr(every, "Slurm", lambda _: None)
    rules: Any = object.__new__(every.Rules)
    rules._handlers = (handler,)
    rules._turn = lambda *_: runs.append(clock.now)

    def put(seconds: float) -> Callable[[], None]:
        return lambda: setattr(clock, "now", clock.now + seconds)

    turns: Any = MovedTurns(clock, {5: put(jump), 10: put(-jump)}, 20)
    rules.run(None, turns)
    assert 17 <= len(runs) <= 21
    assert sum(start + 150 < each < start + 250 for each in runs) >= 4


class KilledError(Exception):
    """Stands for the end of the process."""


@given(
    periods=st.lists(st.sampled_from([10, 20, 60, 600]), min_size=2, max_size=6),
    deadly=st.sets(st.integers(0, 5)),
    seconds=st.sampled_from([1, 4, 15, 60]),
)
def test_no_rule_depends_on_rules_that_are_killed(periods: list[int], deadly: set[int], seconds: int) -> None:
    """Each rule is called in each of its periods, however many others end the process, unless these take too long."""
    clock = SimpleNamespace(now=7200.0 * 100 - 5)
    runs: dict[int, list[int]] = {place: [] for place in range(len(periods))}
    handlers = []
    for place, period in enumerate(periods):
        label, schedule = f"site:{place}", Schedule(f"{period}s")
        handlers.append(
            Handler(lambda: None, (), HOOKS["every"], label=label, path=__file__, line=1, schedule=schedule)
        )
    reached = Reached()

    def turn(handler: Handler, *_: object) -> None:
        """Run a rule, unless this run has been; in the end, no rule runs any more."""
        if clock.now >= end:
            raise KilledError
        place = handlers.index(handler)
        slot = int(clock.now // periods[place])
        if slot in runs[place]:
            return
        runs[place].append(slot)
        if place in deadly:
            clock.now += seconds
            raise KilledError

    end = clock.now + 1800
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: clock.now)
        patch.setattr(every, "Slurm", lambda _: None)
        while clock.now < end:
            rules: Any = object.__new__(every.Rules)
            rules._handlers, rules._turn = tuple(handlers), turn
            turns: Any = MovedTurns(clock, {}, 1 << 30)
            turns.reached = reached
            with suppress(KilledError):
                rules.run(None, turns)
    lost = seconds * len(deadly)
    for place, period in enumerate(periods):
        assert len(runs[place]) >= 1800 // (period + lost + 10) - 1, (place, runs[place])
        if period > lost + 10:
            assert len(runs[place]) >= 1800 // period - 1


def test_how_long_a_killed_run_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """The duration of a run that was killed ends with its process, however late the next one begins; it counts once."""
    handler = Handler(lambda: None, (), HOOKS["every"], label="site:rule", path=__file__, line=1)
    handler.schedule = Schedule("10s")
    monkeypatch.setattr(every, "Slurm", lambda _: None)
    rules: Any = object.__new__(every.Rules)
    rules._handlers = (handler,)
    reports: list[tuple[Any, ...]] = []
    rules._report = lambda *values, text: reports.append((*values, text))
    turns: Any = MovedTurns(SimpleNamespace(now=0.0), {}, 0)
    turns.reached.write({"since": time.time(), "next": 1, "began": 1000.0, "ended": 1003.5})
    rules.run(None, turns)
    assert reports == [(handler, "failed", 1000.0, 3_500_000_000, "killed")]
    rules.run(None, turns)  # the next process has ended before its first rule
    assert len(reports) == 1


@pytest.mark.parametrize(
    ("leaving", "reads", "verdict", "attempts"),
    [(0, True, "done", 1), (2, True, "done", 3), (3, True, "failed", 3), (3, False, "done", 1)],
)
def test_a_job_that_goes_does_not_fail_the_run(
    tmp_path: Path, leaving: int, reads: bool, verdict: str, attempts: int
) -> None:
    """If a job has gone before its text is read, the rule is called again; only its last call counts."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import hook\n"
        '@hook.every("5m")\n'
        "def rule(jobs):\n"
        "    rows = list(jobs.values())\n"
        "    for job in rows:\n"
        "        job.hold(str(len(rows)))\n"
        f"        {'job.submit_line' if reads else 'job.name'}\n"
    )
    (handler,) = loader.load([loader.Source(path=str(file))]).handlers("every")
    slurmctld = Slurmctld(jobs(9, job_state=0))
    tables = []

    def query(question: bytes) -> bytes:
        """Answer; after each of the first tables, its last job goes."""
        answer = slurmctld(question)
        if decode(question, TABLES).what == What.PAGE:
            tables.append(question)
            if len(tables) <= leaving:
                slurmctld.records["record"] = jobs(9 - len(tables), job_state=0)
        return answer

    asking = Acting(TABLES, query, handler)
    outcome = every.staged(handler, ActingViews(TABLES), asking)
    planned = every.plan(handler, outcome, list(asking.staged.values()))
    assert (planned.verdict, len(tables)) == (verdict, attempts)
    if verdict == "done":
        left = 10 - attempts
        assert {action.text for action in planned.actions} == {str(left)}
        assert len(planned.actions) == left


def test_a_job_that_is_requeued_does_not_fail_the_run(tmp_path: Path) -> None:
    """Its owner may do that all the time; it is the same job with the same texts, although it has a new time."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import hook\n"
        '@hook.every("5m")\n'
        "def rule(jobs):\n"
        "    for job in jobs.values():\n"
        "        job.hold(str(len(job.submit_line)))\n"
    )
    (handler,) = loader.load([loader.Source(path=str(file))]).handlers("every")
    slurmctld, count = Slurmctld(jobs(9, job_state=0)), 0

    def query(question: bytes) -> bytes:
        """Answer; then all jobs are requeued."""
        nonlocal count
        answer, count = slurmctld(question), count + 1
        slurmctld.records["record"] = jobs(9, job_state=0, submit_time=1000 + count, restart_cnt=count)
        return answer

    asking = Acting(TABLES, query, handler)
    planned = every.plan(handler, every.staged(handler, ActingViews(TABLES), asking), list(asking.staged.values()))
    assert (planned.verdict, len(planned.actions)) == ("done", 9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "job.cancel(job.comment)",
        "job.notify(job.comment)",
        "job.update(comment='x' + job.comment)",
        "job.update(name='x' + job.comment, comment='y')",
    ],
)
def test_actions_of_a_user_take_little_memory(tmp_path: Path, line: str) -> None:
    """Those that are too many are not kept with their texts and values, which may be long."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import hook\n"
        '@hook.every("5m", at_most=3)\n'
        "def rule(jobs):\n"
        f"    for job in jobs.values():\n        {line}\n"
    )
    (handler,) = loader.load([loader.Source(path=str(file))]).handlers("every")
    texts = [FakeRecord(release="24.11", job_id=number, job_state=1, comment="c" * 500_000) for number in range(1, 61)]
    asking = Acting(TABLES, Slurmctld(fake_jobs(texts, release="24.11")), handler)
    tracemalloc.start()
    try:
        outcome = every.staged(handler, ActingViews(TABLES), asking)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    planned = every.plan(handler, outcome, list(asking.staged.values()))
    assert [left.text for left in planned.left] == ["60 actions on jobs of user 1000, and at_most=3"]
    assert kept < 60 * 500_000 // 2
