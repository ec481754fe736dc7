# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets a handler that only warns or observes run without effect."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.handlers import dispatch
from slurmhooks.log import log

if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.log import Show
    from slurmhooks.slurmctld.call import Call


class Trial:
    """One run of a handler: discards what it writes, and holds back what it tells the user.

    Its messages describe effects that do not take place.
    """

    def __init__(self, call: Call, mode: str) -> None:
        """Begin."""
        self._call = call
        self._mode = mode
        self._said: list[str] = []
        self._thread = get_ident()
        self._user: Show | None = log.divert(self._keep)

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

        Returns:
            the messages of the handler to the user.
        """
        log.divert(self._user)
        after, error_id = view.savepoint(), None
        if error is not None and not isinstance(error, Reject):
            _, error_id = dispatch.report(handler, error)
        view.rollback(before)
        self._call.tried(handler, error, before, after, self._mode, error_id)
        return self._said
