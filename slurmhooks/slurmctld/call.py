# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened in one call of slurmctld, for those who follow it: decision log, observers, recordings."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmhooks.dispatch import PASSED
from slurmhooks.rollout import ENFORCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slurmhooks.dispatch import Outcome, View
    from slurmhooks.registry import Handler

ABOUT = ("job_id", "user_id", "account", "partition", "name")
"""Fields that tell a job from others, of requests and of records; ``submit_time`` is one of records only."""


def about_record(record: Any) -> dict[str, object]:
    """Return what a record tells of its job."""
    return {name: getattr(record, name) for name in (*ABOUT, "submit_time")}


@dataclass(slots=True)
class Step:
    """What one handler did.

    Attributes:
        handler: that ran.
        wrong: what it raised, or the error in what it returned; None: it passed.
        outcome: what that means for the event: if it is no pass, this handler decided it. None: nothing was wrong.
        nanoseconds: that it took.
        savepoint: of the view, after it; None if the hook has no view. What a handler wrote that only warns or observes
            is in it, too, but in no later step: it was not applied.
        before: of the view, before it.
        mode: "enforce", "warn" or "observe". With the latter two ``wrong`` had no effect.
        error_id: of the bug, if it is one that only warned or observed.
    """

    handler: Handler
    wrong: BaseException | None
    outcome: Outcome | None
    nanoseconds: int
    savepoint: object
    before: object = None
    mode: str = ENFORCE
    error_id: str | None = None


class Call:
    """One call; it grows while the handlers run, and is followed after its answer has gone out.

    Handlers that observe run later, in another process. Their steps are those of a second call with the same id, of
    which ``observed`` is set.

    Attributes:
        id: of the request, twelve hexadecimal digits: what decision log and recordings call it.
        observed: its steps are those of handlers that observe; outcome and texts are those of no answer.
        dropped: of such a call: how many requests were not observed before it, since too many waited.
        hook: name of the hook.
        time: when it began, in seconds since the epoch.
        steps: one for each handler that ran, in order.
        outcome: of the event.
        texts: what the user is told.
        observers: handlers that are to observe, each with a savepoint of what it is to see.
        members: for these, what slurmctld left out of the request for its length, by number of struct and member.
        nanoseconds: that all handlers took.
        request: the packed message, if the service keeps it.
        about: returns what is known of the job besides the view: any of ABOUT, ``submit_time``, ``user``.
        number: who sent the request, as a user id, if it says so.
        fresh: makes a new view of the request from a savepoint; None if the hook has no view. Fields that slurmctld did
            not send, and nobody read during the call, cannot be read any more.
    """

    __slots__ = (
        "_begun",
        "_state",
        "_step",
        "_view",
        "about",
        "dropped",
        "fresh",
        "hook",
        "id",
        "members",
        "nanoseconds",
        "number",
        "observed",
        "observers",
        "outcome",
        "request",
        "steps",
        "texts",
        "time",
    )

    def __init__(self, hook: str, view: View | None) -> None:
        """Begin now.

        Args:
            hook: name of the hook.
            view: the argument that handlers can write to, if there is one.
        """
        self.id = os.urandom(6).hex()
        self.hook = hook
        self.observed = False
        self.dropped = 0
        self.observers: list[tuple[Handler, object]] = []
        self.members: dict[tuple[int, int], bytes] = {}
        self.time = time.time()
        self.steps: list[Step] = []
        self.outcome: Outcome = PASSED
        self.texts: list[str] = []
        self.nanoseconds = 0
        self.request = b""
        self.number: int | None = None
        self.about: Callable[[], dict[str, object]] | None = None
        self.fresh: Callable[[object], Any] | None = None
        self._view = view
        self._state = None if view is None else view.savepoint()
        self._begun = self._step = time.perf_counter_ns()

    def done(self, handler: Handler, wrong: BaseException | None, outcome: Outcome | None) -> None:
        """Note what a handler did; for dispatch."""
        now = time.perf_counter_ns()
        before, self._state = self._state, None if self._view is None else self._view.savepoint()
        self.steps.append(Step(handler, wrong, outcome, now - self._step, self._state, before))
        self._step = time.perf_counter_ns()

    def tried(
        self,
        handler: Handler,
        wrong: BaseException | None,
        before: object,
        after: object,
        mode: str,
        error_id: str | None = None,
    ) -> None:
        """Note what a handler did that has no effect; its writes are not in the view any more.

        Args:
            handler: that ran.
            wrong: what it raised.
            before: a savepoint of the view, without its writes.
            after: one with them.
            mode: "warn" or "observe".
            error_id: of its bug.
        """
        nanoseconds = time.perf_counter_ns() - self._step
        self.steps.append(Step(handler, wrong, None, nanoseconds, after, before, mode, error_id))
        self._step = time.perf_counter_ns()

    def release(self) -> None:
        """Forget the steps: what handlers raised refers to their frames, and these refer to this call."""
        self.steps.clear()

    def observe(self, handler: Handler) -> None:
        """Note that a handler is to see the request as it is now, after the answer."""
        self.observers.append((handler, self._state))

    def end(self, outcome: Outcome, texts: list[str]) -> None:
        """Note how the call ended."""
        self.nanoseconds = time.perf_counter_ns() - self._begun
        self.outcome = outcome
        self.texts = texts
        self._view = None
