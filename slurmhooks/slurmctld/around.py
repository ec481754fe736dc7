# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker does around each handler: the status page, the modes, and the record of the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.handlers.dispatch import Around
from slurmhooks.hooks.rollout import ENFORCE, WARN
from slurmhooks.wire.protocol import Flag
from slurmhooks.worker.channel import on_page
from slurmhooks.worker.worker import doing

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmhooks.handlers.dispatch import Outcome, View
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.call import Call
    from slurmhooks.slurmctld.modes import Modes


class InWorker(Around):
    """Notes on the status page which handler runs, for the process that may have to end it."""

    __slots__ = ("_call", "_every", "_excluded", "_modes", "_most", "saves")

    def __init__(
        self,
        handlers: tuple[Handler, ...],
        excluded: Container[bytes | None] = (),
        call: Call | None = None,
        modes: Modes | None = None,
        most: float | None = None,
    ) -> None:
        """Prepare for the handlers of one call.

        Args:
            handlers: all of its hook.
            excluded: the names, as on a status page, of handlers that ended a worker and must not run again. That
                worker may have had other hook files, so a name is ignored if its handler is not lenient.
            call: records what handlers do, if it has followers.
            modes: the modes of the handlers, if any handler has a mode.
            most: time limit in seconds of each handler; None: of those that have one of their own.
        """
        lenient = all(handler.lenient or not can_enforce(handler) for handler in handlers)
        self._every = Flag.ALL_LENIENT if lenient else 0
        self._excluded = excluded
        self._call = call
        self._modes = modes
        self._most = most
        self.saves = modes is not None

    def begin(self, handler: Handler) -> bool:
        """Return whether a handler decides or warns, and must not be left out."""
        mode = ENFORCE if self._modes is None else self._modes.mode(handler)
        # A handler that only warns must not refuse a request by ending its worker either.
        lenient = handler.lenient or mode == WARN
        if mode not in (ENFORCE, WARN) or (lenient and on_page(handler.label) in self._excluded):
            return False
        timeout = handler.timeout if self._most is None else min(handler.timeout or self._most, self._most)
        doing(handler.label, self._every | (Flag.LENIENT if lenient else 0), timeout)
        if self._modes is not None:
            self._modes.begin(mode)
        return True

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """Record what a handler did; see Around. One that only warns has no effect."""
        if self._modes is not None and self._modes.tried(handler, error, before):
            return None
        outcome = super().end(handler, error, view, before)
        if self._call is not None:
            self._call.done(handler, error, outcome)
        return outcome

    def close(self) -> None:
        """Also after a refusal: the handler must not be blamed for what ends the worker from here on."""
        doing("")


def can_enforce(handler: Handler) -> bool:
    """Return whether the mode of a handler is "enforce" for some requests."""
    return handler.rollout is None or handler.rollout.may_be(ENFORCE)
