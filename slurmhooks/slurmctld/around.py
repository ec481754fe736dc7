# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker does around each handler: the status page, its mode, and the record of the call."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.errors import Reject
from slurmhooks.handlers.dispatch import Outcome, called, judge, text_of
from slurmhooks.handlers.labels import labelled, shown_label
from slurmhooks.handlers.registry import SKIP, STOP
from slurmhooks.hooks.rollout import ENFORCE, OBSERVE, WARN
from slurmhooks.log import log
from slurmhooks.slurmctld.trial import Trying
from slurmhooks.wire.protocol import Flag
from slurmhooks.worker import worker
from slurmhooks.worker.channel import end_fork, end_timer, on_page

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from slurmhooks.handlers.dispatch import View
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.hooks.rollout import Subject
    from slurmhooks.slurmctld.call import Call
    from slurmhooks.slurmctld.notices import Notices

WOULD_REFUSE = "Warning: a rule that is not in force yet would refuse this request"
WOULD_CHANGE = "Warning: a rule that is not in force yet would change this request"
_LENIENT = int(Flag.LENIENT)


class OfHook(NamedTuple):
    """What each call of a hook needs to know of its handlers.

    Attributes:
        handlers: in the order in which they run.
        flags: whether all of them are lenient, for the status page.
        has_modes: any of them has a mode.
        has_notices: any of them may give users notices.
    """

    handlers: tuple[Handler, ...]
    flags: int
    has_modes: bool
    has_notices: bool

    @classmethod
    def of(cls, *handlers: Handler) -> OfHook:
        """Return that of handlers, which no longer change."""
        lenient = all(each.lenient or not (each.rollout is None or each.rollout.may_be(ENFORCE)) for each in handlers)
        has_modes = any(each.rollout is not None for each in handlers)
        has_notices = has_modes or any(each.informs for each in handlers)
        return cls(handlers, int(Flag.ALL_LENIENT) if lenient else 0, has_modes, has_notices)


class InWorker(Trying):
    """Chooses the mode of each handler, and records in the call what it does.

    The status page shows which handler runs, for the process that may have to end it.

    Attributes:
        process: the process id when the last handler of the site began.
    """

    __slots__ = (
        "_excluded",
        "_flags",
        "_max_seconds",
        "_notices",
        "_refuse_all",
        "_rule_ids",
        "_subject",
        "_view",
        "process",
        "saves",
    )

    def __init__(
        self,
        of_hook: OfHook,
        call: Call,
        excluded: Container[bytes | None] = (),
        *,
        view: Any = None,
        subject: Callable[..., Subject] | None = None,
        notices: Notices | None = None,
        refuse_all: bool = False,
        rule_ids: bool = False,
        max_seconds: float | None = None,
    ) -> None:
        """Prepare for the handlers of one call.

        Args:
            of_hook: facts of all handlers of its hook.
            call: records what handlers do.
            excluded: the names, as on a status page, of handlers that ended a worker and must not run again. That
                worker may have had other hook files, so a name is ignored if its handler is not lenient.
            view: of the request, if handlers may have modes or a scope, see Handler.
            subject: returns whose request it is, including the writes of earlier handlers, from the view; with
                ``ahead``, of an update only what the job will have. None: the hook has no modes.
            notices: decides which notices the user reads; None: the user reads all.
            refuse_all: try the rules that come after a refusal, and refuse with all their texts.
            rule_ids: end the first line of each refusal with the label of the handler.
            max_seconds: time limit in seconds of each handler; None: of those that have one of their own.
        """
        super().__init__(call)
        self._flags = of_hook.flags
        self._excluded = excluded
        self._view = view
        self._subject = subject
        self._notices = notices
        self._refuse_all = refuse_all
        self._rule_ids = rule_ids
        self._max_seconds = max_seconds
        self.process = 0
        self.saves = refuse_all or (of_hook.has_modes and subject is not None)

    def begin(self, handler: Handler) -> bool:
        """Prepare for a handler; return whether it runs: if it decides or warns, and is not excluded."""
        self._concerned = True
        if handler.of_site:
            self.process = os.getpid()
        warns = False
        if handler.rollout is not None:
            mode = self._mode(handler)
            if mode == OBSERVE:
                self._call.observe(handler)
            warns = mode == WARN
            if not warns and mode != ENFORCE:
                return False
        # A handler that only warns must not refuse a request by ending its worker either.
        lenient = handler.lenient or warns
        if lenient and on_page(handler.label) in self._excluded:  # it has ended a worker
            return False
        timeout = handler.timeout
        if self._max_seconds is not None:
            timeout = min(timeout or self._max_seconds, self._max_seconds)
        worker.doing(handler.label, self._flags | _LENIENT if lenient else self._flags, timeout)
        self._said = self._hold_back() if warns else None
        if self._notices is not None:
            self._notices.begin()
        return True

    def chosen(self, handlers: Iterable[Handler]) -> Iterable[Handler]:
        """Return those handlers that run; of a scope that is not for the request, only the first is asked."""
        others: Container[object] | None = None  # the scopes that are not for the request as it is now
        for handler in handlers:
            scope = handler.scope
            if scope is not None:
                if others is None:
                    others = self._view._not_concerned
                # It would see the request as it is now, whatever its mode: those that observe see more.
                if scope in others and (handler.rollout is None or not self._call.observers):
                    continue
            if self.begin(handler):
                yield handler
                others = None  # the handler may have changed the request

    def _mode(self, handler: Handler) -> str:
        rollout, subject = handler.rollout, self._subject
        if rollout is None or subject is None:
            return ENFORCE
        return rollout.mode_for(handler.label, subject(self._view, ahead=handler.looks_ahead))

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """Record what a handler did; see Around. One that only warns has no effect."""
        if handler.of_site:
            end_leftovers(handler, self.process)
        outcome = None
        if not self._concerned:
            self._pass_over(handler)
        elif self._said is not None:
            self._warn(handler, error, before)
        elif error is None:
            self._call.done(handler, None, None)
        else:
            outcome = self._judged(handler, error, view, before)
        if self._notices is not None and (handler.informs or self._said is not None) and self._notices.end(handler):
            self._call.note_notice()
        return outcome

    def _warn(self, handler: Handler, error: BaseException | None, before: object) -> None:
        """Tell the user what a handler would do that only warns, and discard what it wrote."""
        changed = error is None and self._view._differs(before, self._view.savepoint())
        texts = self._discard(handler, error, self._view, before, WARN)
        note = handler.rollout.note if handler.rollout is not None else None
        if isinstance(error, Reject):
            log.user(_in_one_line(WOULD_REFUSE, [*texts, text_of(error)], note))
        elif changed:
            log.user(_in_one_line(WOULD_CHANGE, texts, note))

    def _pass_over(self, handler: Handler) -> None:
        """Note nothing of a handler that is not for the request, but for whom else it need not be asked again."""
        if self._said is not None:
            self._drop()
        if handler.scope is not None:
            self._view._not_concerned[handler.scope] = True
        self._call.passed_over()

    def _judged(
        self, handler: Handler, error: BaseException | None, view: View | None, before: object
    ) -> Outcome | None:
        outcome = None if error is None else judge(handler, error, view, before)
        self._call.done(handler, error, outcome)
        if outcome is None or outcome.passed or outcome.error_id is not None or not self._rule_ids:
            return outcome
        return Outcome(passed=False, code=outcome.code, text=labelled(outcome.text, shown_label(handler)))

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
            going = takewhile(lambda each: each.after_refusal != STOP, others)
            enforced = (each for each in going if each.after_refusal != SKIP and self._mode(each) == ENFORCE)
            for handler in self.chosen(enforced):
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
        self._call.undone()

    def close(self) -> None:
        """Also after a refusal: the handler must not be blamed for what ends the worker from here on."""
        worker.doing("")


def end_leftovers(handler: Handler, process: int) -> None:
    """End what a handler has left that would harm other handlers.

    A child that came back would run the handlers after it once more. The signal of a timer would end the worker, or
    interrupt another handler.
    """
    end_fork(process)
    if worker.ends_timers and end_timer():
        log.error("%s handler %s has left a timer, which is ended", handler.spec.name, handler.label)


def _unheard(text: str) -> None:
    """Drop what a rule tells the user of a request that is refused already."""


def _in_one_line(warning: str, texts: list[str], note: str | None) -> str:
    """Return a warning, the texts of the handler, and the site's note as one line."""
    said = "; ".join(line for text in texts for line in text.splitlines() if line)
    return f"{warning}{said and ': ' + said}{f' ({note})' if note else ''}"
