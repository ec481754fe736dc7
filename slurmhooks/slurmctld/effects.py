# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an action of a periodic handler is to be taken, and what it has done, by the job or node as slurmctld has it.

What slurmctld answers to an update says neither: it carries out some that it answers by an error, and halves of others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from slurmhooks.hooks import node_states
from slurmhooks.log import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.slurmctld.action import Action

PENDING, RUNNING, SUSPENDED, CANCELLED = 0, 1, 2, 4
"""JOB_PENDING, JOB_RUNNING, JOB_SUSPENDED and JOB_CANCELLED of slurm.h."""
LAST_STATE = SUSPENDED
"""The states of jobs that have not ended are up to this one."""
STATE_BASE = 0xFF
"""JOB_STATE_BASE of slurm.h: the state without flags."""
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


def job_state(record: Any) -> tuple[Any, ...]:
    """Return what an action requires to be unchanged: submission, number of restarts, and the state.

    How many tasks of an array wait in a record may change: those that start get a record of their own.
    """
    return record.submit_time, record.restart_cnt, int(record.job_state) & STATE_BASE


def node_state(node: Any) -> tuple[Any, ...]:
    """Return whether a node is drained, and why."""
    drained = bool(node._struct.raw("node_state") & node_states.DRAIN)
    return drained, node.reason if drained else None


def obsolete(action: Action, row: Any) -> str | None:
    """Return why an action is not to be taken any more; None: its job or node is still what the rule saw."""
    if row is None:
        return "it no longer exists"
    if action.job_id is not None and job_state(row) != action.state:
        return "it has changed since"
    return needless(action, row) or (_inapplicable(action) if action.job_id is not None else _not_ours(action, row))


def needless(action: Action, row: Any) -> str | None:
    """Return why a job or node is already as an action would make it, or can no longer be made so; or None."""
    if action.job_id is not None and job_state(row)[-1] > LAST_STATE:
        return "it has ended"
    match action.kind:
        case "hold" if row.priority == 0:
            return "it is held already"
        case "release" if row.priority != 0:
            return "it is not held"
        case "drain" if node_state(row)[0]:
            return "it is drained already"
        case "undrain" if not node_state(row)[0]:
            return "it is not drained"
        case "update" if action.fields and not unlike(values(row, action.fields), action.fields):
            return "it has these values already"
    return None


def _inapplicable(action: Action) -> str | None:
    """Return why an action is not possible for a job in this state, or None."""
    state = action.state[-1]
    match action.kind:
        case "hold" | "release" if state != PENDING:
            return "it is not pending"
        case "requeue" if state not in (RUNNING, SUSPENDED):
            return "it is not running"
        case "notify" if state != RUNNING:
            return "it is not running"
    return None


def _not_ours(action: Action, node: Any) -> str | None:
    """Return why the drain of a node is not to be ended, or None."""
    if action.kind != "undrain":
        return None
    if needed := node_states.needed_by_others(node._struct.raw("node_state")):
        return needed
    reason = node.reason or ""
    held = f"its reason is {quoted(reason)}, set by user {node.reason_uid}"
    if not action.mark:
        # Somebody else's reason is as slurmctld has it; what this rule has drained with this text, it has as one line.
        return None if any(node_states.is_reason(reason, each) for each in (action.text, action.line)) else held
    marks = action.mark, f" [{action.mark[2:-1]}]"  # the latter as 1.0.0 has marked reasons: drains may last longer
    own = node_states.without_appended(reason)
    # Anybody may have written such a reason, so the user counts, too; unless it is slurmctld, which has appended to it.
    if own.endswith(marks) and (own != reason or node.reason_uid == os.getuid()):
        return None
    return f"this rule has not drained it: {held}"


def values(row: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job or node has of some fields now, without those that it cannot show."""
    names = row._names()
    return {name: getattr(row, name) for name in fields if name in names}


def unlike(has: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that do not have these values, or are not known; see :func:`values`."""
    return [name for name, value in fields.items() if name not in has or (has[name] or "") != (value or "")]


def outcome(action: Action, before: Mapping[str, Any], after: Any, wrong: str | None) -> tuple[str, str]:
    """Return what an action has done, and if that is not all of it or not certain, why.

    ``before`` has, for "update", the values of its job or node right before; ``after`` is the row now, ``wrong`` the
    error that slurmctld has answered.
    """
    done = DONE[action.kind]
    if action.kind == "update" and after is not None:
        return _updated(action, before, after, wrong)
    if wrong is None:
        return done, ""
    if after is not None and _is_done(action, after):
        return done, f"slurmctld answered: {wrong}"
    reason = obsolete(action, after)  # it may have changed after the last look
    return ("failed", wrong) if reason is None else ("skipped", reason)


def _is_done(action: Action, row: Any) -> bool:
    """Tell whether a job or node is as an action that was answered by an error would have made it."""
    match action.kind:
        case "cancel":
            return bool(job_state(row)[-1] == CANCELLED)
        case "hold":
            return bool(row.priority == 0)
        case "release":
            return bool(row.priority != 0)
        case "requeue":
            return bool(row.restart_cnt == action.state[1] + 1)
        case "drain":
            return node_state(row) == (True, action.line)
        case "undrain":
            return not node_state(row)[0]
    return False


def _updated(action: Action, before: Mapping[str, Any], after: Any, wrong: str | None) -> tuple[str, str]:
    """Return the outcome of new values: the job or node says which of them it has."""
    has = values(after, action.fields)
    left = unlike(has, action.fields)
    missed = unlike(before, action.fields)
    same = [name for name in left if name not in has or has[name] == before[name] or name not in missed]
    if wrong is None:  # slurmctld may write a value in another way, or take it later
        others = ", ".join(f"{name}={quoted(has[name])}" for name in left if name in has)
        return DONE[action.kind], f"it has {others} now" if others else ""
    if not same:
        return DONE[action.kind], f"slurmctld answered: {wrong}"
    changed = [name for name in missed if name not in same]
    if changed:
        return "half done", f"{', '.join(changed)} updated, {', '.join(same)} not: {wrong}"
    reason = obsolete(action, after)
    return ("failed", wrong) if reason is None else ("skipped", reason)
