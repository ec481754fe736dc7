# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs periodic rules: decides which are due, gives each its tables, and takes the actions that it has staged."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from slurmhooks.collector import quick_json, reporting
from slurmhooks.collector.checked import Decision
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.rollout import ENFORCE, OBSERVE, OFF, WARN
from slurmhooks.log import log, visible
from slurmhooks.site import sources as site
from slurmhooks.slurmctld.actions import RUNNING, Acting, ActingViews, Action, obsolete
from slurmhooks.slurmctld.libslurm import Slurm
from slurmhooks.slurmctld.observation import late
from slurmhooks.wire.protocol import Fact
from slurmhooks.worker.claims import Claim

if TYPE_CHECKING:
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query, Turns

RETRY = 0.2
"""Seconds between two attempts to begin a run that waits for another one."""
PATIENCE = 2.0
"""Seconds that rules are left to the controller that has run them the last time, in which that runs nothing: they have
their global variables there."""
ACTION = 60.0
"""Seconds that one action may take: slurmctld may be busy."""
MOST_SENT = 10_000
"""How many lines to users are remembered, so that none is sent twice."""
DONE = {
    "cancel": "cancelled",
    "drain": "drained",
    "hold": "held",
    "notify": "notified",
    "release": "released",
    "requeue": "requeued",
    "undrain": "undrained",
    "update": "updated",
}
"""Outcomes of actions."""
WOULD = "Warning: a rule that is not in force yet would {kind} this job"


class Subject:
    """Whose job an action is about; decides its mode. A node has no owner, and meets no condition."""

    def __init__(self, about: dict[str, Any], user_name: str | None) -> None:
        """Store what is known."""
        self.user_id: int | None = about.get("user_id")
        self.user_name = user_name
        self.accounts = [about["account"]] if about.get("account") else []
        self.partitions = (about.get("partition") or "").split(",")


class Rules:
    """The periodic rules of one set of hook files."""

    def __init__(self, tables: Tables, handlers: tuple[Handler, ...], hooks: str) -> None:
        """Prepare to run.

        Args:
            tables: of the build.
            handlers: of ``hook.every``.
            hooks: hash of the hook files.
        """
        self._tables = tables
        self._views = ActingViews(tables)
        self._handlers = handlers
        self._slurm: Slurm | None = None
        self._left_since: float | None = None  # since when rules are left to another controller; None: they are not
        reporter = reporting.reporter
        self._generation, self._hooks = reporter.generation if reporter else 0, hooks

    def run(self, query: Query, turns: Turns) -> None:
        """Run rules when they are due, until the process is to end."""
        self._slurm = Slurm(site.config_path().parent / "slurm.conf")
        due = {handler: _schedule(handler).next(time.time()) for handler in self._handlers}
        while not turns.wait(min(_schedule(handler).wait(due[handler], time.time()) for handler in due)):
            for handler in self._handlers:
                if _schedule(handler).wait(due[handler], time.time()) > 0:
                    continue
                try:
                    self._turn(handler, late(query, 0, 0, modify=False), turns)
                finally:
                    turns.end()
                due[handler] = _schedule(handler).next(time.time())
                if turns.wait(0):
                    return

    def _turn(self, handler: Handler, query: Query, turns: Turns) -> None:
        """Run a rule that is due, unless another process has, or this slurmctld is not in control."""
        asking = Acting(self._tables, query, handler.label)
        missed = self._claim(handler, asking, turns)
        if missed is None:
            return
        try:
            turns.begin(handler.label, handler.timeout or handler.spec.timeout or ACTION)
            if missed:
                runs = "1 run" if missed == 1 else f"{missed} runs"
                log.error("%s missed %s, not repeated", handler.label, runs)
                self._report(handler, "missed", time.time(), 0, text=runs)
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
                return 0 if before is None else max(0, run - before - 1)
            if answer == Claim.DONE or turns.wait(RETRY):
                return None

    def _one(self, handler: Handler, asking: Acting, turns: Turns) -> None:
        """Run a rule now, then take its actions."""
        began, start = time.time(), time.perf_counter_ns()
        outcome = staged(handler, self._views, asking)
        turns.end()
        actions = list(asking.staged.values())
        verdict, text = verdict_of(handler, outcome, len(actions))
        if verdict != "done":
            log.error("%s: %s: none of its %d actions is taken: %s", handler.label, verdict, len(actions), text)
        self._report(handler, verdict, began, time.perf_counter_ns() - start, text=text, error=outcome.error_id)
        for number, action in enumerate(actions if verdict == "done" else ()):
            turns.begin(f"{handler.label}, action {number + 1} of {len(actions)}: {action.what}", ACTION)
            self._act(handler, action, asking, turns)
            turns.end()

    def _act(self, handler: Handler, action: Action, asking: Acting, turns: Turns) -> None:
        """Take one action as the mode of the rule says, log it, and report it."""
        began, start = time.time(), time.perf_counter_ns()
        row = self._views.row(action, asking)
        mode = mode_of(handler, action, row)
        if mode == OFF:
            return
        outcome, why = self._apply(handler, action, mode, asking, row, turns)
        write = log.error if outcome == "failed" else log.info
        text = " ".join(part for part in (action.text, f"({why})" if why else "") if part)
        shown = f": {visible(text, limit=400)}" if text else ""
        write("%s: %s: %s%s", handler.label, action.what, outcome, shown)
        elapsed = time.perf_counter_ns() - start
        self._report(handler, outcome, began, elapsed, action.about, text=text, mode=mode, about=action.what)

    def _apply(
        self, handler: Handler, action: Action, mode: str, asking: Acting, row: Any, turns: Turns
    ) -> tuple[str, str]:
        """Take an action if its job or node is still what the rule saw; return the outcome, and why."""
        assert self._slurm is not None
        reason = obsolete(action, row)
        if reason is None and asking.number(Fact.IN_CONTROL, b"") is None:
            reason = "another slurmctld has taken control"
        if reason is not None:
            return "skipped", reason
        would = f"would {action.kind}"
        if mode == OBSERVE:
            return would, ""
        taken = action
        if mode == WARN:
            if action.job_id is None or action.state[-1] != RUNNING:
                return would, "nobody to warn"
            note = handler.rollout.note if handler.rollout is not None else None
            warning = f"{WOULD.format(kind=action.kind)}: {action.text}{f' ({note})' if note else ''}"
            taken = Action("notify", action.target, warning, action.job_id, action.state, action.about)
        if taken.kind == "notify":
            skipped = "skipped" if mode == ENFORCE else would
            state, mark = turns.state.read(), _mark(taken)
            sent = state.setdefault("sent", [])
            if mark in sent:
                return skipped, "the job has had this line"
            if not self._slurm.hears(row):
                return skipped, "its script has not begun"
            sent.append(mark)
            del sent[:-MOST_SENT]
            turns.state.write(state)  # before the line is sent, in case this process is killed then
        log.info("%s: %s begins", handler.label, taken.what)  # in case this process is killed now
        wrong = self._slurm.take(taken)
        if wrong is not None:
            reason = obsolete(action, self._views.row(action, asking))  # it may have changed after the first look
            return ("failed", wrong) if reason is None else ("skipped", reason)
        return (DONE[action.kind], "") if mode == ENFORCE else (would, "the owner was warned")

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
        """Report a run or an action to decision log and metrics."""
        if reporting.reporter is None:
            return
        took = nanoseconds // 1000
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
        reporting.reporter.report(reporting.DECISION, quick_json.encode(decision))


def _schedule(handler: Handler) -> Any:
    assert handler.schedule is not None
    return handler.schedule


def staged(handler: Handler, views: ActingViews, asking: Acting) -> Outcome:
    """Run a rule, which stages its actions; return its outcome."""
    arguments = views.arguments(handler.names, asking)
    try:
        return dispatch.run((handler,), arguments)
    finally:
        for view in arguments.values():
            view.close()


def mode_of(handler: Handler, action: Action, row: Any) -> str:
    """Return the mode of a rule for an action on a job or node; row: what that is now, or None."""
    if handler.rollout is None:
        return ENFORCE
    name = None if row is None or action.job_id is None else row.user_name
    return handler.rollout.mode_for(handler.label, Subject(action.about, name))


def verdict_of(handler: Handler, outcome: Outcome, count: int) -> tuple[str, str | None]:
    """Return how a run ended, and why; its actions are taken only if it is "done"."""
    if outcome.error_id is not None:
        return "failed", outcome.text
    if not outcome.passed:
        return "refused", outcome.text
    most = _schedule(handler).at_most
    if count > most:
        return "too many actions", f"{count} actions, and at_most={most}"
    return "done", None


def _mark(action: Action) -> str:
    """Return what a line to a user is remembered by: its job, also which run of it, and its text."""
    return sha256(f"{action.job_id} {action.state[:2]} {action.text}".encode("utf-8", "surrogateescape")).hexdigest()
