# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the handlers that observe a request, after slurmctld has its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import HandlerError
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import PASSED
from slurmhooks.hooks.rollout import OBSERVE
from slurmhooks.job_submit.model import chained
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.trial import Trying

if TYPE_CHECKING:
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.job_submit.model import Job
    from slurmhooks.job_submit.request import RequestStructs
    from slurmhooks.slurmctld.observation import Observation
    from slurmhooks.worker.interface import Progress


def observe(
    request: RequestStructs,
    observation: Observation,
    progress: Progress,
    handlers: tuple[Handler, ...],
    timeout: float,
) -> Call:
    """Run the handlers that observe a request, and return what they did.

    Each sees the request as it was when its turn came, plus the changes of handlers that have observed before it.

    ``progress`` is called before and after each handler. ``timeout``, in seconds, is for handlers without one of their
    own.
    """
    call = Call(request.hook, None)
    call.id, call.time, call.request = observation.id, observation.time, observation.request
    call.observed, call.dropped = True, progress.dropped
    then: object = None
    after: object = None
    for place, now in observation.observers:
        handler, seen = handlers[place], now if after is None else chained(then, after, now)
        job, around = request.fresh(seen), _Observed(call, progress, place, timeout)
        if place in progress.ended:
            around.lost(handler, job, seen)
        else:
            try:
                dispatch.run((handler,), request.arguments(job, handler.names), job, around)
            finally:
                request.close_records()
        then, after = now, around.after
    call.end(PASSED, [])
    return call


class _Observed(Trying):
    """Tells the process that may have to end a handler which one runs, and discards what it does.

    Attributes:
        after: a savepoint of the request for the next handler.
    """

    saves = True

    def __init__(self, call: Call, progress: Progress, place: int, timeout: float) -> None:
        super().__init__(call)
        self._progress = progress
        self._place = place
        self._timeout = timeout
        self.after: object = None

    def begin(self, handler: Handler) -> bool:
        self._progress.begin(self._place, handler.label, handler.timeout or self._timeout)
        self._said = self._hold_back()
        return True

    def end(self, handler: Handler, error: BaseException | None, view: Any, before: object) -> Outcome | None:
        self._progress.end()
        self.after = before if error is not None else view.savepoint()
        if self._concerned:
            self._discard(handler, error, view, before, OBSERVE)
        else:
            self._drop()
        return None

    def lost(self, handler: Handler, job: Job, seen: object) -> None:
        """Record that a handler has ended an earlier process during this request, and is left out."""
        self._said = self._hold_back()
        self._discard(handler, HandlerError(self._progress.ended[self._place]), job, seen, OBSERVE)
        self.after = seen
