# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports a call for decision log and metrics, after its answer has been sent.

A report has what the collector needs to complete the decision, whose keys docs/decision-log.md lists: raw values of the
request (shown.py), which take longer to show than to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.collector import json_lines
from slurmhooks.collector.reporting import DECISION
from slurmhooks.errors import Reject
from slurmhooks.handlers import codes, dispatch, trace
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.slurmctld.changes import NOTHING, add_changes, secrets
from slurmhooks.slurmctld.logged_fields import LoggedFields, plain

if TYPE_CHECKING:
    from slurmhooks.collector.reporting import Reporter
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.slurmctld.call import Call, Step
    from slurmhooks.wire.tables import Tables

ACCEPTED, REFUSED, FAILED, ACCEPTED_ON_ERROR = "accepted", "refused", "failed", "accepted on error"
"""Verdicts, and outcomes of handlers; slurmhooks.processes.control has those of requests that no worker served."""
PASSED, WOULD_REFUSE, WOULD_FAIL = "passed", "would refuse", "would fail"
"""More outcomes of handlers; the last two are for handlers that warn or observe."""


class Decisions:
    """Reports the decision of each call; a follower of PointService."""

    def __init__(self, reporter: Reporter, included: tuple[str, ...], hooks: str, tables: Tables) -> None:
        self._reporter = reporter
        self._version = reporter.generation, hooks
        self._shown = LoggedFields(tables, secrets(included))

    def follow(self, call: Call) -> None:
        """Report a call."""
        self._reporter.report(DECISION, json_lines.encode(report(call, self._shown, self._version)))


def report(call: Call, shown: LoggedFields, version: tuple[int, str]) -> list[Any]:
    """Return what happened in a call as the values of a Decision, of which Shown.complete() makes a line.

    They are in lists, which the JSON library writes in half of the time that it takes for a Decision.
    """
    # Few functions, because each one that runs has to be fetched into the processor's caches first.
    steps: list[Any] = []
    on_error = False
    struct, record = (*call.structs, None, None)[:2]
    for step in call.steps:
        steps.append(_step(struct, step, shown))
        if step.outcome is not None:
            on_error = True
    state: Any = NOTHING
    if call.steps:
        last = call.steps[-1]
        state = last.savepoint if last.mode == ENFORCE else last.before
    facts: dict[str, Any] = {}
    if call.about is not None:
        facts = {name: plain(value) for name, value in call.about().items() if value is not None}
    job = None if struct is None else shown.about("job", struct, (state or NOTHING)[0])
    of_record = None if record is None else shown.about("record", record, {})
    outcome = call.outcome
    verdict = None if call.observed else _verdict(outcome) if on_error or not outcome.passed else ACCEPTED
    more: dict[str, Any] = {}
    if call.observed and call.dropped:
        more["unobserved"] = call.dropped
    if outcome.code is not None:
        more["code"] = outcome.code
    if call.texts:
        more["text"] = plain("\n".join(call.texts))
    if outcome.error_id is not None:
        more["error"] = outcome.error_id
    who = call.id, call.time, call.hook, job, of_record, facts, call.sender
    return [*who, verdict, more, steps, call.nanoseconds // 1000, *version]


def _verdict(outcome: Outcome) -> str:
    """Return how a request ended of which a handler did not pass, or how that handler ended."""
    if outcome.passed:
        return ACCEPTED_ON_ERROR
    return REFUSED if outcome.error_id is None else FAILED


def _step(struct: Struct | None, step: Step, shown: LoggedFields) -> list[Any]:
    """Return what a handler did, or would have done; see Decision. ``struct`` is the request, or None."""
    outcome = PASSED
    more: dict[str, Any] = {}
    if step.mode != ENFORCE:
        more["mode"] = step.mode
    if step.error is not None or step.outcome is not None:
        outcome = _outcome(step)
        _add_verdict(more, step)
    if step.notice:
        more["notice"] = True
    if step.exempt is not None:
        more["exempt"] = step.exempt
    raw = None if struct is None else add_changes(more, struct, step.before, step.savepoint, shown)
    return [step.handler.label, outcome, step.nanoseconds // 1000, raw, more]


def _add_verdict(result: dict[str, Any], step: Step) -> None:
    code, text, error_id = _verdict_of(step)
    if code is not None:
        result["code"] = code
    if text:
        result["text"] = plain(text)
    if error_id is not None:
        result["error"] = error_id
        if step.error is not None:
            result |= {"exception": trace.type_name(step.error), "where": _where(step, step.error)}


def _verdict_of(step: Step) -> tuple[str | int | None, str | None, str | None]:
    """Return code, text and error id of a handler's decision, or of what it would have decided."""
    if step.outcome is not None:
        return step.outcome.code, step.outcome.text, step.outcome.error_id
    if isinstance(step.error, Reject):
        code = step.error.code
        return None if code is None or codes.fault(code) else code, dispatch.text_of(step.error), None
    return None, None, step.error_id


def _outcome(step: Step) -> str:
    if step.outcome is None:
        return WOULD_REFUSE if isinstance(step.error, Reject) else WOULD_FAIL
    return _verdict(step.outcome)


def _where(step: Step, error: BaseException) -> str:
    """Return the place of a bug: the last line of the site's file that was running, or the handler's own line."""
    trace = error.__traceback__
    line = step.handler.line
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == step.handler.path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{step.handler.path}:{line}"
