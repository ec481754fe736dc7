# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports a call for decision log and metrics, after its answer has been sent.

A report is a dictionary that JSON can represent. It has what the collector needs to complete the decision, whose keys
docs/decision-log.md lists: raw values of the request (shown.py), which take longer to show than to send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.collector.reporting import DECISION
from slurmhooks.errors import Reject
from slurmhooks.handlers import codes, dispatch, trace
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.processes import quick_json
from slurmhooks.slurmctld.changes import NOTHING, add_changes, secrets
from slurmhooks.slurmctld.notices import MARK
from slurmhooks.slurmctld.shown import Shown, plain

if TYPE_CHECKING:
    from slurmhooks.collector.reporting import Reporter
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.slurmctld.call import Call, Step
    from slurmhooks.wire.tables import Tables

ACCEPTED, REFUSED, FAILED, ACCEPTED_ON_ERROR = "accepted", "refused", "failed", "accepted on error"
UNAVAILABLE = "unavailable"
"""Verdicts, and outcomes of handlers. UNAVAILABLE: no worker could serve the request."""
PASSED, WOULD_REFUSE, WOULD_FAIL = "passed", "would refuse", "would fail"
"""More outcomes of handlers; the last two are for handlers that warn or observe."""


class Decisions:
    """Reports the decision of each call; a follower of PointService."""

    def __init__(self, reporter: Reporter, included: tuple[str, ...], hooks: str, tables: Tables) -> None:
        """Prepare to report.

        Args:
            reporter: takes the decisions.
            included: secrets that are reported nevertheless; see slurmhooks.slurmctld.changes.
            hooks: hash of the hook files.
            tables: of the build.
        """
        self._reporter = reporter
        self._version = {"generation": reporter.generation, "hooks": hooks}
        self._shown = Shown(tables, secrets(included))

    def follow(self, call: Call) -> None:
        """Report a call."""
        content = report(call, self._shown)
        content.update(self._version)
        self._reporter.report(DECISION, quick_json.encode(content))


def decision(call: Call, tables: Tables, included: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what happened in a call, as the collector completes it."""
    shown = Shown(tables, secrets(included))
    return shown.complete(quick_json.decode(quick_json.encode(report(call, shown))))


def report(call: Call, shown: Shown) -> dict[str, Any]:
    """Return what happened in a call, with raw values of the request; Shown.complete() makes a decision of it.

    Args:
        call: the call, which has ended.
        shown: how values are reported.
    """
    # Few functions, because each one that runs has to be fetched into the processor's caches first.
    state: Any = NOTHING
    steps, on_error = [], False
    for step in call.steps:
        steps.append(_step(call.struct, step, shown))
        on_error = on_error or step.outcome is not None
        state = step.savepoint if step.mode == ENFORCE else step.before
    result: dict[str, Any] = {"id": call.id, "time": call.time, "hook": call.hook}
    if call.about is not None:
        result |= {name: plain(value) for name, value in call.about().items() if value is not None}
    if call.struct is not None:
        result["job"] = shown.about("job", call.struct, (state or NOTHING)[0])
    if call.record is not None:
        result["record"] = shown.about("record", call.record, {})
    if call.number is not None:
        result["by"] = call.number
    outcome = call.outcome
    if call.observed:
        result["observed"] = True
        if call.dropped:
            result["unobserved"] = call.dropped
    else:
        result["verdict"] = _verdict(outcome) if on_error or not outcome.passed else ACCEPTED
    if outcome.code is not None:
        result["code"] = outcome.code
    if call.texts:
        result["text"] = plain("\n".join(call.texts))
    if outcome.error_id is not None:
        result["error"] = outcome.error_id
    result["handlers"] = steps
    result["microseconds"] = call.nanoseconds // 1000
    return result


def _verdict(outcome: Outcome) -> str:
    """Return how a request ended of which a handler did not pass, or how that handler ended."""
    if outcome.passed:
        return ACCEPTED_ON_ERROR
    return REFUSED if outcome.error_id is None else FAILED


def _step(struct: Struct | None, step: Step, shown: Shown) -> dict[str, Any]:
    """Return what a handler did, or would have done; ``struct`` is the request, or None."""
    result: dict[str, Any] = {"handler": step.handler.label, "outcome": PASSED}
    if step.mode != ENFORCE:
        result["mode"] = step.mode
    if step.error is not None or step.outcome is not None:
        _add_verdict(result, step)
    if step.notice:
        result[MARK] = True
    if step.exempt is not None:
        result["exempt"] = step.exempt
    if struct is not None:
        add_changes(result, struct, step.before, step.savepoint, shown)
    result["microseconds"] = step.nanoseconds // 1000
    return result


def _add_verdict(result: dict[str, Any], step: Step) -> None:
    """Add to a report how a handler did not pass."""
    result["outcome"] = _outcome(step)
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
