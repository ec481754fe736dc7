# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs periodic handlers: decides which are due, gives each its tables, and takes the actions that it has staged."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.collector import json_lines, reporting
from slurmhooks.collector.checked import Decision
from slurmhooks.files import slurm_conf
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.log import log, visible
from slurmhooks.slurmctld.actions import Acting, ActingViews
from slurmhooks.slurmctld.libslurm import Slurm
from slurmhooks.slurmctld.observation import late
from slurmhooks.slurmctld.taking import ACTION, Taking
from slurmhooks.slurmctld.walk import GoneError
from slurmhooks.wire.protocol import Fact
from slurmhooks.worker.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.handlers.dispatch import Outcome, View
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.action import Action
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query, Turns

RETRY = 0.2
"""Seconds between two attempts to begin a run that waits for another one."""
PATIENCE = 2.0
"""Seconds that rules are left to the controller that has run them the last time, in which that runs nothing: they have
their global variables there."""
ATTEMPTS = 3
"""How often a rule is called in one run at most, because a job has gone before its text was read."""


class Rules:
    """The periodic handlers of one set of hook files.

    ``loaded`` is when the set ``hooks`` was loaded, in seconds since the epoch.
    """

    def __init__(self, tables: Tables, handlers: tuple[Handler, ...], hooks: str, loaded: float) -> None:
        self._tables = tables
        self._views = ActingViews(tables)
        self._handlers = handlers
        self._slurm: Slurm | None = None
        self._left_since: float | None = None  # since when rules are left to another controller; None: they are not
        reporter = reporting.reporter
        self._generation, self._hooks = reporter.generation if reporter else 0, hooks
        # A set that replaces another one may have rules that were in force before, and were not for a while. Before the
        # first set of a slurmctld, none was in control here.
        self._in_force_since = loaded if self._generation > 1 else 0.0

    def run(self, query: Query, turns: Turns) -> None:
        """Run rules when they are due, until the process is to end.

        If a rule has ended the process before, begin after it with those that were due then: it may do so each time.
        """
        self._slurm = Slurm(Path(slurm_conf.file_in(slurm_conf.directory())))
        reached = turns.reached.read()
        since, first = reached.get("since", time.time()), reached.get("next", 0)
        if began := reached.get("began"):
            took = int(1e9 * (reached.get("ended", time.time()) - began))
            self._report(self._handlers[first - 1], "failed", began, took, text="killed")
            turns.reached.write({"since": since, "next": first})  # this process may be killed, too
        due = {handler: _schedule(handler).next(since) for handler in self._handlers}
        while not turns.wait(min(_schedule(handler).wait(due[handler], time.time()) for handler in due)):
            for place in (*range(first, len(self._handlers)), *range(first)):
                handler = self._handlers[place]
                if _schedule(handler).wait(due[handler], time.time()) > 0:
                    continue
                turns.reached.write({"since": min(due.values()) - 1, "next": place + 1})
                try:
                    self._turn(handler, late(query, 0, 0, modify=False), turns)
                finally:
                    turns.end()
                due[handler] = _schedule(handler).next(time.time())
                if turns.wait(0):
                    return
            turns.reached.write({})
            first = 0

    def _turn(self, handler: Handler, query: Query, turns: Turns) -> None:
        """Run a rule that is due, unless another process has, or this slurmctld is not in control."""
        asking = Acting(self._tables, query, handler)
        missed = self._claim(handler, asking, turns)
        if missed is None:
            return
        try:
            turns.begin(handler.label, handler.timeout or handler.spec.timeout or ACTION)
            if missed:
                runs = "1 run" if missed == 1 else f"{missed} runs"
                log.error("%s missed %s, not repeated", handler.label, runs)
                self._report(handler, "missed", time.time(), 0, text=runs)
            turns.reached.write({**turns.reached.read(), "began": time.time()})
            self._one(handler, asking, turns)
        finally:
            turns.end()
            turns.free()

    def _claim(self, handler: Handler, asking: Acting, turns: Turns) -> int | None:
        """Wait until a rule that is due may run; return how many runs it has missed; None if it is not to run.

        slurmctld is asked first: while it hangs, this process waits here, and rules run on the other controller.
        """
        schedule = _schedule(handler)
        while True:
            turns.begin(f"the question to slurmctld whether {handler.label} is to run", ACTION)
            in_control = asking.number(Fact.IN_CONTROL, b"") is not None
            turns.end()
            if not in_control:
                self._left_since = None
                turns.free()
                return None
            run, now = schedule.slot(time.time()), time.monotonic()
            take_over = self._left_since is not None and now - self._left_since >= PATIENCE
            answer, before = turns.claim(f"{handler.label} {schedule.period}", run, take_over=take_over)
            if answer == Claim.OTHERS:
                self._left_since = self._left_since or now
            elif answer != Claim.GRANTED or not take_over:  # what has been taken over, the next rule need not wait for
                self._left_since = None
            if answer == Claim.GRANTED:
                return 0 if before is None else max(0, run - max(before, schedule.slot(self._in_force_since)) - 1)
            if answer == Claim.DONE or turns.wait(RETRY):
                return None

    def _one(self, handler: Handler, asking: Acting, turns: Turns) -> None:
        """Run a rule now, then take its actions."""
        assert self._slurm is not None
        began, start = time.time(), time.perf_counter_ns()
        outcome = staged(handler, self._views, asking)
        turns.end()
        planned = plan(handler, outcome, list(asking.staged.values()))
        if planned.verdict != "done":
            why = "%s: %s: none of its %d actions is taken: %s"
            log.error(why, handler.label, planned.verdict, len(asking.staged), planned.text)
        took = time.perf_counter_ns() - start
        self._report(handler, planned.verdict, began, took, text=planned.text, error=outcome.error_id)
        turns.reached.write({name: each for name, each in turns.reached.read().items() if name != "began"})
        for left in planned.left:
            log.error("%s: too many actions: %s: none of them is taken", handler.label, left.text)
            user = {"user_id": left.actions[0].about.get("user_id")}
            self._report(handler, "too many actions", began, 0, user, text=left.text)

        def report(action: Action, mode: str, verdict: str, text: str, began: float, took: int) -> None:
            self._report(handler, verdict, began, took, action.about, text=text, mode=mode, about=action.what)

        Taking(handler, self._views, asking, self._slurm, turns, report).take(planned.actions)

    def _report(
        self,
        handler: Handler,
        verdict: str,
        began: float,
        nanoseconds: int,
        job: dict[str, Any] | None = None,
        *,
        text: str | None = None,
        error: str | None = None,
        mode: str = ENFORCE,
        about: str = "",
    ) -> None:
        if reporting.reporter is None:
            return
        took = max(0, nanoseconds // 1000)
        step: dict[str, Any] = {}
        if mode != ENFORCE:
            step["mode"] = mode
        shown = ": ".join(visible(part, "\n\t", 1024) for part in (about, text) if part)
        if shown:
            step["text"] = shown
        if error is not None:
            step["error"] = error
        facts = {
            name: visible(value, limit=1024) if isinstance(value, str) else value
            for name, value in (job or {}).items()
            if value is not None
        }
        decision = Decision(
            id=os.urandom(6).hex(),
            time=began,
            hook="every",
            job=None,
            record=None,
            facts=facts,
            by=None,
            verdict=verdict,
            more={},
            handlers=[(handler.label, verdict, took, None, step)],
            microseconds=took,
            generation=self._generation,
            hooks=self._hooks,
        )
        reporting.reporter.report(reporting.DECISION, json_lines.encode(decision))


def _schedule(handler: Handler) -> Any:
    assert handler.schedule is not None
    return handler.schedule


def staged(handler: Handler, views: ActingViews, asking: Acting) -> Outcome:
    """Run a rule, which stages its actions; return its outcome.

    A rule that fails because a job has gone, so that its text cannot be read any more, is called again, with new
    tables: it is no bug of the rule, and the end of one job must not decide about all others.
    """
    around = _MayRepeat()
    while True:
        asking.clear()
        around.count += 1
        around.repeats = False
        arguments = views.arguments(handler.names, asking)
        try:
            outcome = dispatch.run((handler,), arguments, around=around)
        finally:
            for view in arguments.values():
                view.close()
        if not around.repeats:
            return outcome


class _MayRepeat(dispatch.Around):
    """Tells whether a rule is to be called again."""

    __slots__ = ("count", "repeats")

    def __init__(self) -> None:
        self.count = 0
        self.repeats = False

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """See Around; an error after which the rule is called again has no effect."""
        self.repeats = isinstance(error, GoneError) and self.count < ATTEMPTS
        if not self.repeats:
            return super().end(handler, error, view, before)
        log.info("%s begins again: %s", handler.label, error)
        return None


class Plan(NamedTuple):
    """What becomes of a run.

    Attributes:
        verdict: "done", "failed", "refused" or "too many actions"; it takes actions only if it is "done".
        text: why, unless it is "done".
        actions: those that are to be taken.
        left: those that are not, because there are too many for one user or node.
    """

    verdict: str
    text: str | None
    actions: list[Action]
    left: list[Left]


def plan(handler: Handler, outcome: Outcome, actions: list[Action]) -> Plan:
    """Return what becomes of a run that has staged some actions."""
    most = _schedule(handler).at_most
    if outcome.error_id is not None:
        return Plan("failed", outcome.text, [], [])
    if not outcome.passed:
        return Plan("refused", outcome.text, [], [])
    too_many = stops(actions, most)
    return Plan("too many actions", too_many, [], []) if too_many else Plan("done", None, *limited(actions, most))


class Left(NamedTuple):
    """Actions of a run that are not taken, because there are too many for one user or node; ``text`` says so.

    Neither a wrong rule nor one user decides for all others.
    """

    actions: list[Action]
    text: str


def stops(actions: Iterable[Action], most: int) -> str | None:
    """Return why a run takes none of its actions: it would act on jobs of too many users, or on too many nodes."""
    owners = _by_owner(actions)
    for kind in ("user", "node"):
        count = sum(owner[0] == kind for owner in owners)
        if count > most:
            return f"actions on {'jobs of ' if kind == 'user' else ''}{count} {kind}s, and at_most={most}"
    return None


def limited(actions: list[Action], most: int) -> tuple[list[Action], list[Left]]:
    """Return the actions that are taken, in order, and those that are not."""
    left = [
        Left(group, f"{len(group)} actions on {'jobs of ' if kind == 'user' else ''}{kind} {name}, and at_most={most}")
        for (kind, name), group in _by_owner(actions).items()
        if len(group) > most
    ]
    dropped = {id(action) for each in left for action in each.actions}
    return [action for action in actions if id(action) not in dropped], left


def _by_owner(actions: Iterable[Action]) -> dict[tuple[str, object], list[Action]]:
    """Return actions by whom they concern."""
    groups: dict[tuple[str, object], list[Action]] = {}
    for action in actions:
        groups.setdefault(action.owner, []).append(action)
    return groups
