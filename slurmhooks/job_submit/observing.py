# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the handlers that observe a request, after slurmctld has its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import HandlerError
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import PASSED, Around
from slurmhooks.hooks.rollout import OBSERVE
from slurmhooks.job_submit.model import chained
from slurmhooks.slurmctld.call import Call
from slurmhooks.slurmctld.trial import Trial

if TYPE_CHECKING:
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.job_submit.request import RequestStructs
    from slurmhooks.slurmctld.observation import Observation
    from slurmhooks.worker.interface import Progress


class Observing:
    """The handlers of one request.

    Each sees the request as it was when its turn came, plus the changes of handlers that have observed before it.
    """

    def __init__(
        self,
        request: RequestStructs,
        observation: Observation,
        progress: Progress,
        timeout: float,
    ) -> None:
        """Store what the handlers run on.

        Args:
            request: the request, decoded.
            observation: the same, as the worker has sent it.
            progress: called before and after each handler.
            timeout: time limit in seconds of a handler that has none of its own.
        """
        self.call = Call(request.hook, None)
        self.call.id, self.call.time, self.call.request = observation.id, observation.time, observation.request
        self.call.observed = True
        self.call.dropped = progress.dropped
        self._request = request
        self._progress = progress
        self._timeout = timeout

    def run(self, handlers: tuple[Handler, ...], observers: list[tuple[int, object]]) -> Call:
        """Run handlers, and return what they did.

        Args:
            handlers: of the hook.
            observers: the indices of those that observe, each with a savepoint of the request for it.
        """
        then: object = None
        after: object = None
        for place, now in observers:
            seen = now if after is None else chained(then, after, now)
            then, after = now, self._one(handlers[place], place, seen)
        self.call.end(PASSED, [])
        return self.call

    def _one(self, handler: Handler, place: int, seen: object) -> object:
        """Run a handler; return a savepoint of the request for the next one."""
        job = self._request.fresh(seen)
        if place in self._progress.ended:
            Trial(self.call, OBSERVE).end(handler, HandlerError(self._progress.ended[place]), job, seen)
            return seen
        around = _Observed(self._progress, place, self._timeout, self.call)
        arguments = self._request.arguments(job, handler.names)
        try:
            dispatch.run((handler,), arguments, job, around)
        finally:
            self._request.close_records()
        return around.after


class _Observed(Around):
    """Tells the process that may have to end a handler which one runs, and discards what it does.

    Attributes:
        after: a savepoint of the request for the next handler.
    """

    saves = True

    def __init__(self, progress: Progress, place: int, timeout: float, call: Call) -> None:
        self._progress = progress
        self._place = place
        self._timeout = timeout
        self._call = call
        self._concerned = True
        self.after: object = None

    def begin(self, handler: Handler) -> bool:
        self._progress.begin(self._place, handler.label, handler.timeout or self._timeout)
        self._trial = Trial(self._call, OBSERVE)
        return True

    def exempted(self, why: str) -> None:
        self._call.exempt = why

    def not_concerned(self) -> None:
        self._concerned = False

    def end(self, handler: Handler, error: BaseException | None, view: Any, before: object) -> Outcome | None:
        self._progress.end()
        self.after = before if error is not None else view.savepoint()
        if self._concerned:
            self._trial.end(handler, error, view, before)
        else:
            self._trial.drop()
        return None
