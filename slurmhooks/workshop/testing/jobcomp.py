# SPDX-License-Identifier: GPL-2.0-or-later
"""The start and end of a job without slurmctld and its spool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.handlers import dispatch
from slurmhooks.jobcomp.event import Event
from slurmhooks.workshop.testing.job_submit import FakeRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry

TIME = 1_700_000_000


def FakeEvent(  # noqa: N802 - as the other stand-ins
    name: str = "job_end",
    *,
    id: str | None = None,  # noqa: A002 - the name of the attribute
    time: float = TIME,
    attempt: int = 1,
) -> Event:
    """Return an ``event``: a first delivery, unless the test says otherwise."""
    return Event(name, f"1.{int(time * 10**9)}" if id is None else id, time, attempt)


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> Outcome:
    """Run all handlers of a hook as one attempt of a delivery does, also after a failure; return the first one."""
    record = given["record"] if given["record"] is not None else FakeRecord()
    event = given["event"] if given["event"] is not None else FakeEvent(hook)
    outcomes = [dispatch.run((each,), {"record": record, "event": event}) for each in registry.handlers(hook)]
    return next((outcome for outcome in outcomes if not outcome.passed), dispatch.PASSED)
