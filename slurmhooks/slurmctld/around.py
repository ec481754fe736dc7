# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker does around each handler: the status page, the modes, and the record of the call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.handlers.dispatch import Around, Outcome, called, judge
from slurmhooks.handlers.labels import labelled, shown_label
from slurmhooks.handlers.registry import SKIP, STOP
from slurmhooks.hooks.rollout import ENFORCE, WARN
from slurmhooks.log import log
from slurmhooks.wire.protocol import Flag
from slurmhooks.worker import worker
from slurmhooks.worker.channel import end_fork, on_page

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from slurmhooks.handlers.dispatch import View
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.call import Call
    from slurmhooks.slurmctld.modes import Modes
    from slurmhooks.slurmctld.notices import Notices


_LENIENT = int(Flag.LENIENT)


class InWorker(Around):
    """Applies the modes of handlers and the notices of a call, and records what each handler does.

    The status page shows which handler runs, for the process that may have to end it.

    Attributes:
        process: the process id when the last handler of the site began.
    """

    __slots__ = (
        "_call",
        "_concerned",
        "_excluded",
        "_flags",
        "_max_seconds",
        "_modes",
        "_notices",
        "_refuse_all",
        "_rule_ids",
        "_view",
        "_warns",
        "process",
        "saves",
    )

    def __init__(
        self,
        flags: int,
        excluded: Container[bytes | None] = (),
        call: Call | None = None,
        modes: Modes | None = None,
        notices: Notices | None = None,
        refuse_all: bool = False,
        rule_ids: bool = False,
        max_seconds: float | None = None,
        view: Any = None,
    ) -> None:
        """Prepare for the handlers of one call.

        Args:
            flags: of all handlers of its hook, see :func:`flags_of`.
            excluded: the names, as on a status page, of handlers that ended a worker and must not run again. That
                worker may have had other hook files, so a name is ignored if its handler is not lenient.
            call: records what handlers do, if it has followers.
            modes: the modes of the handlers, if any handler has a mode.
            notices: decides which notices the user reads; None: the user reads all.
            refuse_all: try the rules that come after a refusal, and refuse with all their texts.
            rule_ids: end the first line of each refusal with the label of the handler.
            max_seconds: time limit in seconds of each handler; None: of those that have one of their own.
            view: of the request, if handlers may have a scope, see Handler.
        """
        self._flags = flags
        self._excluded = excluded
        self._call = call
        self._modes = modes
        self._max_seconds = max_seconds
        self._notices = notices
        self.process = 0
        self._warns = False
        self._concerned = True
        self._view = view
        self._refuse_all = refuse_all
        self._rule_ids = rule_ids
        self.saves = modes is not None or refuse_all

    def begin(self, handler: Handler) -> bool:
        """Prepare for a handler; return whether it runs: if it decides or warns, and is not excluded."""
        scope = handler.scope
        if scope is not None and scope in self._view._not_concerned and self._is_seen_by_all(handler):
            return False
        self._concerned = True
        if handler.of_site:
            self.process = os.getpid()
        lenient, modes = handler.lenient, self._modes
        if modes is not None:
            mode = modes.mode(handler)
            self._warns = mode == WARN
            # A handler that only warns must not refuse a request by ending its worker either.
            lenient = lenient or self._warns
            if mode not in (ENFORCE, WARN):
                return False
        if lenient and on_page(handler.label) in self._excluded:  # it has ended a worker
            return False
        limit = self._max_seconds
        timeout = handler.timeout if limit is None else min(handler.timeout or limit, limit)
        worker.doing(handler.label, self._flags | _LENIENT if lenient else self._flags, timeout)
        if modes is not None:
            modes.begin(mode)
        if self._notices is not None:
            self._notices.begin()
        return True

    def _is_seen_by_all(self, handler: Handler) -> bool:
        """Tell whether a handler sees the request as it is now, whatever its mode: those that observe see more."""
        return handler.rollout is None or self._call is None or not self._call.observers

    def not_concerned(self) -> None:
        """Note that the handler is not for the request, for all of its scope; see Around."""
        self._concerned = False

    def exempted(self, why: str) -> None:
        """Note why a rule did nothing; see Around."""
        if self._call is not None:
            self._call.exempt = why

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """Record what a handler did; see Around. One that only warns has no effect."""
        if handler.of_site:
            end_leftovers(handler, self.process)
        outcome = None
        if not self._concerned:
            self._pass_over(handler)
        elif self._modes is None or not self._modes.tried(handler, error, before):
            outcome = self._judged(handler, error, view, before)
        if self._notices is not None and (handler.informs or self._warns) and self._notices.end(handler):
            self._note_notice()
        return outcome

    def _pass_over(self, handler: Handler) -> None:
        """Note nothing of a handler that is not for the request, but for whom else it need not be asked again."""
        if self._modes is not None:
            self._modes.passed_over()
        if handler.scope is not None:
            self._view._not_concerned[handler.scope] = True
        if self._call is not None:
            self._call.passed_over()

    def _judged(
        self, handler: Handler, error: BaseException | None, view: View | None, before: object
    ) -> Outcome | None:
        outcome = None if error is None else judge(handler, error, view, before)
        if self._call is not None:
            self._call.done(handler, error, outcome)
        if outcome is None or outcome.passed or outcome.error_id is not None or not self._rule_ids:
            return outcome
        return Outcome(passed=False, code=outcome.code, text=labelled(outcome.text, shown_label(handler)))

    def _note_notice(self) -> None:
        """Note that the user reads the notice of the handler that has just run."""
        if self._call is not None and self._call.steps:
            self._call.steps[-1].notice = True

    def refused(
        self,
        outcome: Outcome,
        others: Iterable[Handler],
        arguments: dict[str, object],
        view: View | None,
        before: object,
    ) -> Outcome:
        """Return the outcome with the refusals of handlers that come after the first one, if the user is to read them.

        Each sees the request as it was when it was refused, and the changes of handlers after that, so that none
        refuses what another one would have filled in. Nothing that they write or tell remains.
        """
        if not self._refuse_all or outcome.error_id is not None or view is None:
            return outcome
        self._undo(view, before)
        texts = [outcome.text]
        shown = log.divert(_unheard)
        try:
            for handler in others:
                if handler.after_refusal == STOP:
                    break
                if handler.after_refusal == SKIP or not self._enforces(handler) or not self.begin(handler):
                    continue
                before = view.savepoint()
                error = called(handler, arguments, self)
                if handler.of_site:
                    end_leftovers(handler, self.process)
                if not self._concerned:
                    self._pass_over(handler)
                    continue
                also = self._judged(handler, error, view, before)
                if also is not None:
                    self._undo(view, before)
                    if also.error_id is None:
                        texts.append(also.text)
        finally:
            log.divert(shown)
        text = "\n".join(text for text in texts if text)
        return Outcome(passed=False, code=outcome.code, text=log.message(text))

    def _undo(self, view: View, before: object) -> None:
        view.rollback(before)
        if self._call is not None:
            self._call.undone()

    def _enforces(self, handler: Handler) -> bool:
        return self._modes is None or self._modes.enforces(handler)

    def close(self) -> None:
        """Also after a refusal: the handler must not be blamed for what ends the worker from here on."""
        worker.doing("")


def end_leftovers(handler: Handler, process: int) -> None:
    """End what a handler has left that would harm other handlers.

    A child that came back would run the handlers after it once more. The signal of a timer would end the worker, or
    interrupt another handler.

    Args:
        handler: the handler.
        process: the process id before it ran.
    """
    end_fork(process)
    if worker.end_timer():
        log.error("%s handler %s has left a timer, which is ended", handler.spec.name, handler.label)


def _unheard(text: str) -> None:
    """Drop what a rule tells the user of a request that is refused already."""


def flags_of(handlers: tuple[Handler, ...]) -> int:
    """Return the flag that says whether all handlers of a hook are lenient."""
    lenient = all(handler.lenient or not can_enforce(handler) for handler in handlers)
    return int(Flag.ALL_LENIENT) if lenient else 0


class OfHook(NamedTuple):
    """What each call of a hook needs to know of its handlers.

    Attributes:
        handlers: in the order in which they run.
        flags: see :func:`flags_of`.
        has_modes: any of them has a mode.
        has_notices: any of them may give users notices.
    """

    handlers: tuple[Handler, ...]
    flags: int
    has_modes: bool
    has_notices: bool

    @classmethod
    def of(cls, handlers: tuple[Handler, ...]) -> OfHook:
        """Return that of handlers, which no longer change."""
        has_modes = any(handler.rollout is not None for handler in handlers)
        return cls(handlers, flags_of(handlers), has_modes, has_modes or any(each.informs for each in handlers))


def can_enforce(handler: Handler) -> bool:
    """Return whether the mode of a handler is "enforce" for some requests."""
    return handler.rollout is None or handler.rollout.may_be(ENFORCE)
