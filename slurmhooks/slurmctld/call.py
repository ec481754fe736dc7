# SPDX-License-Identifier: GPL-2.0-or-later
"""What happened in one call of slurmctld, for its followers: decision log, observers, recordings."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from slurmhooks.handlers.dispatch import PASSED
from slurmhooks.hooks.rollout import ENFORCE
from slurmhooks.slurmctld.logged_fields import OF_A_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from slurmhooks.handlers.dispatch import Outcome, View
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.asking import Struct


def about_record(record: Any) -> dict[str, object]:
    """Return the fields of a record that distinguish its job from others."""
    return {name: getattr(record, name) for name in OF_A_RECORD}


class Step:
    """What one handler did.

    Attributes:
        handler: the handler that ran.
        error: the exception that it raised, or the error in its return value; None if it passed.
        outcome: the outcome of the event because of ``error``; unless it is a pass, this handler decided the event.
            None if it passed.
        nanoseconds: its run time.
        savepoint: of the view, after the handler; None if the hook has no view. It includes what a handler wrote that
            only warns or observes; later steps do not, because these writes were discarded.
        before: savepoint of the view, before the handler; None: the view was as slurmctld sent it.
        mode: "enforce", "warn" or "observe". With the latter two ``error`` had no effect.
        notice: the user reads a notice of the handler; see slurmhooks.slurmctld.notices.
        error_id: of the bug, if the handler only warned or observed.
        exempt: why the handler did nothing, although it is for such requests: an exemption; None: it did something.
    """

    error_id: str | None = None

    def __init__(
        self,
        handler: Handler,
        error: BaseException | None,
        outcome: Outcome | None,
        nanoseconds: int,
        savepoint: object,
        before: object = None,
    ) -> None:
        self.handler = handler
        self.error = error
        self.outcome = outcome
        self.nanoseconds = nanoseconds
        self.savepoint = savepoint
        self.before = before
        self.mode = ENFORCE
        self.notice = False
        self.exempt: str | None = None


class Call:
    """One call. Handlers add steps to it while they run; followers get it after its answer has been sent.

    Handlers that observe run later, in another process. Their steps are in a second call with the same id, whose
    attribute ``observed`` is set.

    Attributes:
        id: of the request, twelve hexadecimal digits, for decision log and recordings; set after the answer.
        observed: the steps are those of handlers that observe; outcome and texts belong to no answer.
        dropped: for such a call, the number of requests before it that were not observed, because too many waited.
        hook: name of the hook.
        time: when it began, in seconds since the epoch.
        steps: one for each handler that ran, in order.
        outcome: of the event.
        texts: what the user is told.
        observers: handlers that are to observe, each with a savepoint of the request as it should see it.
        members: for the observers, the members that were too long for slurmctld to send, by index of struct and member.
        request: the packed message, if the service keeps it.
        about: returns what is known about the job besides ``structs``; called after the answer.
        structs: the request as it was received, if handlers can write to it, and the job that an update changes.
        sender: user id of who sent the request, if it has one.
        exempt: why the handler that has just run did nothing, see Step; for its step.
        fresh: makes a new view of the request from a savepoint; None if the hook has no view. Fields that slurmctld did
            not send, and that no handler read during the call, can no longer be read.
    """

    id = ""
    observed = False
    dropped = 0
    outcome: Outcome = PASSED
    texts: Sequence[str] = ()
    observers: tuple[tuple[Handler, object], ...] = ()
    members: Mapping[tuple[int, int], bytes] = {}
    request = b""
    sender: int | None = None
    about: Callable[[], dict[str, object]] | None = None
    fresh: Callable[[object], Any] | None = None
    structs: Sequence[Struct] = ()

    def __init__(self, hook: str, view: View | None) -> None:
        """Begin now, before any handler; ``view`` is the argument that they can write to, if there is one."""
        self.hook = hook
        self.time = time.time()
        self.steps: list[Step] = []
        self.exempt: str | None = None
        self._view = view
        self._state: object = None  # as it was received
        self._begun = self._step = time.perf_counter_ns()

    def done(self, handler: Handler, error: BaseException | None, outcome: Outcome | None) -> None:
        """Note what a handler did; for dispatch."""
        now = time.perf_counter_ns()
        before, self._state = self._state, None if self._view is None else self._view.savepoint()
        step = Step(handler, error, outcome, now - self._step, self._state, before)
        if self.exempt is not None:
            step.exempt, self.exempt = self.exempt, None
        self.steps.append(step)
        self._step = now

    def tried(
        self,
        handler: Handler,
        error: BaseException | None,
        before: object,
        after: object,
        mode: str,
        error_id: str | None = None,
    ) -> None:
        """Note what a handler did without effect; its writes are no longer in the view."""
        now = time.perf_counter_ns()
        step = Step(handler, error, None, now - self._step, after, before)
        step.mode, step.error_id = mode, error_id
        if self.exempt is not None:
            step.exempt, self.exempt = self.exempt, None
        self.steps.append(step)
        self._step = now

    def passed_over(self) -> None:
        """Note nothing of a handler that is not for the request but the time that it took, which is nobody's."""
        self._step = time.perf_counter_ns()

    def note_notice(self) -> None:
        """Note that the user reads the notice of the handler that has just run."""
        if self.steps:
            self.steps[-1].notice = True

    def undone(self) -> None:
        """Note that the writes of the last handler were discarded."""
        self._state = None if self._view is None else self._view.savepoint()

    def release(self) -> None:
        """Forget the steps: exceptions of handlers refer to their frames, and these refer to this call."""
        self.steps.clear()

    def observe(self, handler: Handler) -> None:
        """Note that a handler is to observe the request, in its present state, after the answer."""
        state = self._view.savepoint() if self._state is None and self._view is not None else self._state
        self.observers += ((handler, state),)

    def end(self, outcome: Outcome, texts: Sequence[str]) -> None:
        """Note how the call ended."""
        self.outcome = outcome
        self.texts = texts
        self._view = None

    @property
    def nanoseconds(self) -> int:
        """Total run time of the handlers."""
        return self._step - self._begun
