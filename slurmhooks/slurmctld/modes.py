# SPDX-License-Identifier: GPL-2.0-or-later
"""The modes of handlers in one call: which ones decide, which ones only warn, and which ones run after the answer."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.handlers import dispatch
from slurmhooks.hooks.rollout import ENFORCE, OBSERVE, WARN
from slurmhooks.log import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.hooks.rollout import Subject
    from slurmhooks.log import Show
    from slurmhooks.slurmctld.call import Call

WOULD_REFUSE = "Warning: a rule that is not in force yet would refuse this request"
WOULD_CHANGE = "Warning: a rule that is not in force yet would change this request"


class Trial:
    """Lets handlers run without effect: discards what they write, and holds back what they tell the user."""

    def __init__(self, call: Call | None, mode: str) -> None:
        """Prepare for some handlers, one after the other.

        Args:
            call: records what they did, if it has followers.
            mode: of the handlers, for the followers of the call.
        """
        self._call = call
        self._mode = mode
        self._said: list[str] = []
        self._user: Show | None = None
        self._thread = get_ident()

    def begin(self) -> None:
        """Hold back messages to the user until the end, because they describe effects that do not take place."""
        self._said = []
        self._user = log.divert(self._keep)

    def _keep(self, text: str) -> None:
        if get_ident() == self._thread:
            self._said.append(text)
        elif self._user is not None:
            self._user(text)

    def drop(self) -> None:
        """End the trial of a handler that is not for the request: it has done nothing."""
        log.divert(self._user)

    def end(self, handler: Handler, error: BaseException | None, view: Any, before: object) -> list[str]:
        """Discard what a handler wrote, log its bug, and record what it did.

        Args:
            handler: the handler that ran.
            error: the exception that it raised.
            view: the view that it wrote to.
            before: a savepoint of the view.

        Returns:
            the messages of the handler to the user.
        """
        log.divert(self._user)
        after, error_id = view.savepoint(), None
        if error is not None and not isinstance(error, Reject):
            _, error_id = dispatch.report(handler, error)
        view.rollback(before)
        if self._call is not None:
            self._call.tried(handler, error, before, after, self._mode, error_id)
        return self._said


class Modes:
    """Chooses the mode of each handler when the handler is about to run."""

    def __init__(self, call: Call | None, view: Any, subject: Callable[..., Subject]) -> None:
        """Prepare for one call.

        Args:
            call: records what handlers did, if it has followers.
            view: the view that they write to.
            subject: returns whose request it is, including the writes of earlier handlers, from the view; with
                ``ahead``, of an update only what the job will have.
        """
        self._call = call
        self._view = view
        self._subject = subject
        self._warning = False
        self._trial = Trial(call, WARN)

    def mode(self, handler: Handler) -> str:
        """Return the mode of the next handler; if it is to observe, note that."""
        mode = self._mode(handler)
        if mode == OBSERVE and self._call is not None:
            self._call.observe(handler)
        return mode

    def enforces(self, handler: Handler) -> bool:
        """Tell whether a handler would decide."""
        return self._mode(handler) == ENFORCE

    def _mode(self, handler: Handler) -> str:
        rollout = handler.rollout
        if rollout is None:
            return ENFORCE
        return rollout.mode_for(handler.label, self._subject(self._view, ahead=handler.looks_ahead))

    def begin(self, mode: str) -> None:
        """Prepare to run a handler, which either decides or warns."""
        self._warning = mode == WARN
        if self._warning:
            self._trial.begin()

    def passed_over(self) -> None:
        """Note that the handler is not for the request."""
        if self._warning:
            self._trial.drop()

    def tried(self, handler: Handler, error: BaseException | None, savepoint: object) -> bool:
        """Return whether a handler only warns; if so, tell the user, and discard what it wrote. For dispatch."""
        if not self._warning:
            return False
        changed = error is None and self._view._differs(savepoint, self._view.savepoint())
        texts = self._trial.end(handler, error, self._view, savepoint)
        note = handler.rollout.note if handler.rollout is not None else None
        if isinstance(error, Reject):
            log.user(_in_one_line(WOULD_REFUSE, [*texts, dispatch.text_of(error)], note))
        elif changed:
            log.user(_in_one_line(WOULD_CHANGE, texts, note))
        return True


def _in_one_line(warning: str, texts: list[str], note: str | None) -> str:
    """Return a warning, the texts of the handler, and the site's note as one line."""
    said = "; ".join(line for text in texts for line in text.splitlines() if line)
    return f"{warning}{said and ': ' + said}{f' ({note})' if note else ''}"
