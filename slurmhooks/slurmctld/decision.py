# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes a call for decision log and metrics, after its answer has been sent.

A decision is a dictionary that JSON can represent; docs/decision-log.md lists its keys. The collector adds what takes
time to determine: names of users, and the time as text.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

from slurmhooks.collector.reporting import DECISION
from slurmhooks.errors import Reject, StaleHandleError
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.log import visible
from slurmhooks.slurmctld.call import ABOUT
from slurmhooks.slurmctld.changes import NOTHING, changes
from slurmhooks.slurmctld.notices import MARK

if TYPE_CHECKING:
    from slurmhooks.collector.reporting import Reporter
    from slurmhooks.slurmctld.call import Call, Step

LONGEST_TEXT = 1024
"""Maximum bytes of a text in a decision: users choose some of the texts."""
MOST_CHANGES = 100
"""Maximum number of changes of one handler that a decision lists."""

ACCEPTED, REFUSED, FAILED, ACCEPTED_ON_ERROR, UNAVAILABLE = (
    "accepted",
    "refused",
    "failed",
    "accepted on error",
    "unavailable",
)
"""Verdicts, and outcomes of handlers. UNAVAILABLE: no worker could serve the request."""
_encode = json.JSONEncoder(separators=(",", ":")).encode
PASSED, WOULD_REFUSE, WOULD_FAIL = "passed", "would refuse", "would fail"
"""More outcomes of handlers; the last two are for handlers that warn or observe."""


class Decisions:
    """Reports the decision of each call; a follower of PointService."""

    def __init__(self, reporter: Reporter, included: tuple[str, ...], hooks: str) -> None:
        """Prepare to report.

        Args:
            reporter: takes the decisions.
            included: secrets that are reported nevertheless; see slurmhooks.slurmctld.changes.
            hooks: hash of the hook files.
        """
        self._reporter = reporter
        self._included = included
        self._version = {"generation": reporter.generation, "hooks": hooks}

    def follow(self, call: Call) -> None:
        """Report a call."""
        content = decision(call, self._included) | self._version
        self._reporter.report(DECISION, _encode(content).encode())


def decision(call: Call, included: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what happened in a call.

    Args:
        call: the call, which has ended.
        included: see Decisions.
    """
    job = None if call.fresh is None else call.fresh(_state(call))
    result: dict[str, Any] = {"id": call.id, "time": call.time, "hook": call.hook}
    result |= _about(call, job)
    if call.number is not None:
        result["by"] = call.number
    outcome = call.outcome
    if call.observed:
        result["observed"] = True
        if call.dropped:
            result["unobserved"] = call.dropped
    else:
        result["verdict"] = _verdict(call)
    if outcome.code is not None:
        result["code"] = outcome.code
    if call.texts:
        result["text"] = _plain("\n".join(call.texts))
    if outcome.error_id is not None:
        result["error"] = outcome.error_id
    result["handlers"] = [_step(job, step, included) for step in call.steps]
    result["microseconds"] = call.nanoseconds // 1000
    return result


def _about(call: Call, job: Any) -> dict[str, Any]:
    """Return what distinguishes the job from others; ``job`` is a view of the request, or None."""
    about = {} if call.about is None else call.about()
    if job is not None:
        for name in ABOUT:
            if about.get(name) is None:
                about[name] = _read(job, name)
        if about["job_id"] is None:
            about["job_id"] = _job_id(_read(job, "job_id_str"))
    return {name: _plain(value) for name, value in about.items() if value is not None}


def _read(job: object, name: str) -> Any:
    """Return a field; None if it was too long to be sent with the request: slurmctld no longer answers."""
    try:
        return getattr(job, name)
    except StaleHandleError:
        return None


def _job_id(text: str | None) -> int | None:
    """Return the job id in a text that a user has given, such as ``17`` or ``17_4``: newer releases send no number."""
    digits = "" if text is None else text.partition("_")[0].partition("+")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 11 else None


def _state(call: Call) -> object:
    """Return a savepoint of the request with the writes of the handlers in force."""
    if not call.steps:
        return NOTHING
    last = call.steps[-1]
    state = last.savepoint if last.mode == ENFORCE else last.before
    return NOTHING if state is None else state


def _verdict(call: Call) -> str:
    if not call.outcome.passed:
        return REFUSED if call.outcome.error_id is None else FAILED
    if any(step.outcome is not None for step in call.steps):
        return ACCEPTED_ON_ERROR
    return ACCEPTED


def _step(job: Any, step: Step, included: tuple[str, ...]) -> dict[str, Any]:
    """Return what a handler did, or would have done; ``job`` is a view of the request in any state, or None."""
    result: dict[str, Any] = {"handler": step.handler.label, "outcome": _outcome(step)}
    if step.mode != ENFORCE:
        result["mode"] = step.mode
    code, text, error_id = _verdict_of(step)
    if code is not None:
        result["code"] = code
    if text:
        result["text"] = _plain(text)
    if error_id is not None:
        result["error"] = error_id
        if step.wrong is not None:
            result |= {"exception": type(step.wrong).__name__, "where": _where(step, step.wrong)}
    if step.notice:
        result[MARK] = True
    if job is not None:
        changed, hidden = changes(job, step.before, step.savepoint, included)
        if changed:
            values = list(changed.items())[:MOST_CHANGES]
            result["changes"] = {_plain(name): [_plain(old), _plain(new)] for name, (old, new) in values}
        if hidden:
            result["hidden"] = [_plain(name) for name in hidden[:MOST_CHANGES]]
    result["microseconds"] = step.nanoseconds // 1000
    return result


def _verdict_of(step: Step) -> tuple[str | int | None, str | None, str | None]:
    """Return code, text and error id of a handler's decision, or of what it would have decided."""
    if step.outcome is not None:
        return step.outcome.code, step.outcome.text, step.outcome.error_id
    if isinstance(step.wrong, Reject):
        return step.wrong.code, dispatch.text_of(step.wrong), None
    return None, None, step.error_id


def _outcome(step: Step) -> str:
    if step.outcome is None:
        return PASSED if step.wrong is None else WOULD_REFUSE if isinstance(step.wrong, Reject) else WOULD_FAIL
    if step.outcome.passed:
        return ACCEPTED_ON_ERROR
    return REFUSED if step.outcome.error_id is None else FAILED


def _where(step: Step, wrong: BaseException) -> str:
    """Return the place of a bug: the last line of the site's file that was running, or the handler's own line."""
    trace = wrong.__traceback__
    line = step.handler.line
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == step.handler.path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{step.handler.path}:{line}"


def _plain(value: Any) -> Any:
    """Return a value as JSON can represent it: numbers and truth values unchanged, everything else as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return (value.name if isinstance(value, Enum) else None) or int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value[:MOST_CHANGES]]
    return visible(str(value), "\n\t", LONGEST_TEXT)
