# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the actions of one run of a periodic handler, and says what has become of each."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from slurmhooks.hooks.rollout import ENFORCE, OBSERVE, OFF, WARN
from slurmhooks.log import log, visible
from slurmhooks.slurmctld.action import Action, with_reason
from slurmhooks.slurmctld.actions import WAITING, target_of
from slurmhooks.slurmctld.effects import RUNNING, obsolete, outcome, values
from slurmhooks.slurmctld.hearing import heard
from slurmhooks.slurmctld.walk import GoneError
from slurmhooks.wire.protocol import Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.actions import Acting, ActingViews
    from slurmhooks.slurmctld.libslurm import Slurm
    from slurmhooks.worker.interface import Turns

    Report = Callable[[Action, str, str, str, float, int], None]

ACTION = 60.0
"""Seconds that one action may take: slurmctld may be busy."""
MOST_SENT = 10_000
"""How many lines to users are remembered, so that none is sent twice."""
WOULD = "Warning: a rule that is not in force yet would {kind} this job"
SHOWN = 400
"""Maximum bytes of the text of an action in slurmctld's log."""


class Subject:
    """Whose job an action is about; decides its mode. A node has no owner, and meets no condition."""

    def __init__(self, about: dict[str, Any], user_name: str | None) -> None:
        self.user_id: int | None = about.get("user_id")
        self.user_name = user_name
        self.accounts = [about["account"]] if about.get("account") else []
        self.partitions = (about.get("partition") or "").split(",")


def mode_of(handler: Handler, action: Action, row: Any) -> str:
    """Return the mode of a rule for an action on a job or node; row: what that is now, or None."""
    if handler.rollout is None:
        return ENFORCE
    name = None if row is None or action.job_id is None else row.user_name
    return handler.rollout.mode_for(handler.label, Subject(action.about, name))


class Taking:
    """The actions of one run."""

    def __init__(
        self, handler: Handler, views: ActingViews, asking: Acting, slurm: Slurm, turns: Turns, report: Report
    ) -> None:
        """Prepare.

        ``turns`` is told what happens, and keeps which lines jobs have had. ``report`` is called with each action that
        was not left out, its mode, its outcome, why, when it began in seconds since the epoch, and how many nanoseconds
        it took.
        """
        self._handler = handler
        self._views = views
        self._asking = asking
        self._slurm = slurm
        self._turns = turns
        self._report = report
        self._heard: dict[int, bool | None] = {}
        self._count = 0

    def take(self, actions: list[Action]) -> None:
        """Take them in order; those on a job that gets a line come last, in order, once its node has answered."""
        nodes = dict(self._to_ask(actions))
        asked = [action for action in actions if action.job_id in nodes]
        needed = {_job(action): {each.job_id for each in asked if _job(each) == _job(action)} for action in asked}
        for action in actions:
            if _job(action) not in needed:
                self._take(action, len(actions))
        with closing(heard(nodes.items(), self._slurm.has_begun)) as answers:
            while needed:
                self._turns.begin(f"the questions of {self._handler.label} to nodes", ACTION)
                job, begun = next(answers)
                self._turns.end()
                self._heard[job] = begun
                for name in [name for name, jobs in needed.items() if jobs <= self._heard.keys()]:
                    del needed[name]
                    for action in actions:
                        if _job(action) == name:
                            self._take(action, len(actions))

    def _to_ask(self, actions: list[Action]) -> Iterator[tuple[int, str]]:
        """Return the batch jobs that are to get a line, with the nodes of their scripts: these must have begun."""
        for action in actions:
            if action.job_id is None or action.state[-1] != RUNNING or action.wrong:
                continue
            if action.kind != "notify" and self._handler.rollout is None:
                continue
            self._turns.begin(f"the question of {self._handler.label} to slurmctld about {action.target}", ACTION)
            row = self._views.row(action, self._asking)
            self._turns.end()
            mode = mode_of(self._handler, action, row)
            if obsolete(action, row) is not None or mode not in (ENFORCE, WARN):
                continue
            taken = self._taken(action, mode, row)
            if taken is not None and taken.kind == "notify" and _has_script(row) and not self._was_sent(taken):
                yield action.job_id, row.batch_host

    def _take(self, action: Action, count: int) -> None:
        """Take one action as the mode of the rule says, log it, and report it."""
        self._count += 1
        self._turns.begin(f"{self._handler.label}, action {self._count} of {count}: {action.what}", ACTION)
        began, start = time.time(), time.perf_counter_ns()
        row = self._views.row(action, self._asking)
        mode = mode_of(self._handler, action, row)
        if mode != OFF:
            verdict, why = ("failed", action.wrong) if action.wrong else self._apply(action, mode, row)
            write = log.error if verdict in ("failed", "half done") else log.info
            text = " ".join(part for part in (action.line, f"({why})" if why else "") if part)
            shown = f": {visible(text, limit=SHOWN)}" if text else ""
            write("%s: %s: %s%s", self._handler.label, action.what, verdict, shown)
            self._report(action, mode, verdict, text, began, time.perf_counter_ns() - start)
        self._turns.end()

    def _apply(self, action: Action, mode: str, row: Any) -> tuple[str, str]:
        """Take an action if its job or node is still what the rule saw; return the outcome, and why."""
        reason = obsolete(action, row)
        if reason is None and self._asking.number(Fact.IN_CONTROL, b"") is None:
            reason = "another slurmctld has taken control"
        if reason is not None:
            return "skipped", reason
        would = f"would {action.kind}"
        if mode == OBSERVE:
            return would, ""
        taken = self._taken(action, mode, row)
        if taken is None:
            return would, "nobody to warn"
        if taken.kind == "notify":
            skipped = "skipped" if mode == ENFORCE else would
            if self._was_sent(taken):
                return skipped, "the job has had this line"
            begun = self._heard.get(row.job_id, not _has_script(row))
            if not begun:
                return skipped, "its node has not answered" if begun is None else "its script has not begun"
            self._note_sent(taken)  # before the line is sent, in case this process is killed then
        log.info("%s: %s begins", self._handler.label, action.what)  # in case this process is killed now
        verdict, why = self._do(taken, row)
        if mode == ENFORCE or verdict in ("failed", "skipped"):
            return verdict, why
        return would, "the owner was warned"

    def _taken(self, action: Action, mode: str, row: Any) -> Action | None:
        """Return what the mode makes of an action, by the row of its job or node; None: nobody can be warned."""
        if mode != WARN:
            # Tasks that have started since the rule saw their array are not among those that wait.
            return action._replace(target=target_of(row, action.kind)) if action.target.endswith(WAITING) else action
        if action.job_id is None or action.state[-1] != RUNNING:
            return None
        note = self._handler.rollout.note if self._handler.rollout is not None else None
        warning = f"{WOULD.format(kind=action.kind)}: {action.text}{f' ({note})' if note else ''}"
        return Action("notify", action.target, warning, action.job_id, action.state, action.about)

    def _do(self, action: Action, row: Any) -> tuple[str, str]:
        before = values(row, action.fields)
        comments = list(self._comments(action, row)) if action.marked else []
        unnoted = "; ".join(filter(None, [self._note(action.marked, *comment) for comment in comments]))
        wrong = self._slurm.take(action)
        after = self._views.row(action, self._asking) if wrong is not None or action.fields else None
        verdict, why = outcome(action, before, after, wrong)
        if verdict in ("failed", "skipped"):
            for target, job, comment in comments:
                self._slurm.note(target, job, comment)  # the reason is of something that did not happen
            return verdict, why
        return verdict, "; ".join(filter(None, (why, unnoted)))

    def _comments(self, action: Action, row: Any) -> Iterator[tuple[str, int, str]]:
        """Return the jobs that an action is for, with their ids and admin_comments; none that has gone meanwhile."""
        for each in self._views.whole(action, row, self._asking):
            with suppress(GoneError):
                yield target_of(each), each.job_id, each.admin_comment or ""

    def _note(self, reason: str, target: str, job_id: int, comment: str) -> str | None:
        """Add a reason to the admin_comment of a job; return why that was not possible, or None."""
        both = with_reason(comment, reason)
        if both is None:
            return f"the admin_comment of {target} has no room for the reason"
        wrong = self._slurm.note(target, job_id, both) if both != comment else None
        if wrong is not None:
            row = self._views.table("jobs", self._asking).get(job_id)
            if row is None or row.admin_comment != both:
                return f"the reason is not in the admin_comment of {target}: {wrong}"
        return None

    def _was_sent(self, line: Action) -> bool:
        return _mark(line) in self._turns.state.read().get("sent", ())

    def _note_sent(self, line: Action) -> None:
        state = self._turns.state.read()
        sent = state.setdefault("sent", [])
        sent.append(_mark(line))
        del sent[:-MOST_SENT]
        self._turns.state.write(state)


def _job(action: Action) -> str | None:
    """Return the job that an action may end, for all components of a heterogeneous one; None for a node."""
    return action.target.partition("+")[0] if action.job_id is not None else None


def _has_script(row: Any) -> bool:
    """Tell whether a job is a batch job whose script runs on a node."""
    return bool(row.batch_flag and row.batch_host)


def _mark(line: Action) -> str:
    """Return what a line to a user is remembered by: its job, also which run of it, and its text."""
    return sha256(f"{line.job_id} {line.state[:2]} {line.text}".encode("utf-8", "surrogateescape")).hexdigest()
