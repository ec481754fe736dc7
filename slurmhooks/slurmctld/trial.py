# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets handlers that only warn or observe run without effect."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.handlers import dispatch
from slurmhooks.log import log

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.call import Call


class Trying(dispatch.Around):
    """Around handlers of which some have no effect.

    What such a handler writes is discarded, and what it tells the user is held back: it describes effects that do not
    take place.
    """

    __slots__ = ("_call", "_concerned", "_said", "_thread", "_user")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._concerned = True
        self._said: list[str] | None = None  # what a handler without effect has told the user; None: it has its effect

    def not_concerned(self) -> None:
        """Note that the handler is not for the request, for all of its scope; see Around."""
        self._concerned = False

    def exempted(self, why: str) -> None:
        """Note why a rule did nothing; see Around."""
        self._call.exempt = why

    def _hold_back(self) -> list[str]:
        """Begin to hold back what a handler tells the user; return what will have it, for ``_said``."""
        self._thread = get_ident()
        self._user = log.divert(self._keep)
        return []

    def _keep(self, text: str) -> None:
        if self._said is not None and get_ident() == self._thread:
            self._said.append(text)
        elif self._user is not None:
            self._user(text)

    def _discard(
        self, handler: Handler, error: BaseException | None, view: Any, before: object, mode: str
    ) -> list[str]:
        """Discard what a handler wrote, log its bug, and record what it did; return what it has told the user."""
        log.divert(self._user)
        after, error_id = view.savepoint(), None
        if error is not None and not isinstance(error, Reject):
            _, error_id = dispatch.report(handler, error)
        view.rollback(before)
        self._call.tried(handler, error, before, after, mode, error_id)
        return self._said or []

    def _drop(self) -> None:
        """End the trial of a handler that is not for the request: it has done nothing."""
        log.divert(self._user)
