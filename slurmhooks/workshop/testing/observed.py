# SPDX-License-Identifier: GPL-2.0-or-later
"""What handlers that only warn or observe would have done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.workshop.testing.job_submit import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.slurmctld.call import Call, Step


@dataclass(frozen=True)
class Observed:
    """What one handler would have done if it were enforced.

    Attributes:
        handler: its label, such as "limits:require_account".
        mode: "warn" or "observe".
        accepted: it passed, or has a bug.
        code: code of its refusal; None: the general error of the hook.
        text: text of its refusal.
        changes: fields that it would have changed, with their new values; of an environment, all variables.
        error_id: of its bug; the log has the traceback under this id.
    """

    handler: str
    mode: str
    accepted: bool
    code: str | int | None = None
    text: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    error_id: str | None = None


def observed_in(calls: Iterable[Call]) -> list[Observed]:
    """Return what handlers that only warn or observe would have done in some calls, in the order in which they ran."""
    return [_observed(call, step) for call in calls for step in call.steps if step.mode != ENFORCE]


def _observed(call: Call, step: Step) -> Observed:
    error, changes = step.error, {}
    if call.fresh is not None and error is None:
        job = call.fresh(step.savepoint)
        before, after = values_of(call.fresh(step.before)), values_of(job)
        computed = {name for name, row in rows(type(job)).items() if isinstance(row, Computed)}
        changes = {name: value for name, value in after.items() if value != before[name] and name not in computed}
    return Observed(
        handler=step.handler.label,
        mode=step.mode,
        accepted=not isinstance(error, Reject),
        code=error.code if isinstance(error, Reject) else None,
        text=dispatch.text_of(error) if isinstance(error, Reject) else None,
        changes=changes,
        error_id=step.error_id,
    )
