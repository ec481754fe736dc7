# SPDX-License-Identifier: GPL-2.0-or-later
"""The modes of handlers in one call: which ones decide, which ones only warn, and which ones run after the answer."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from slurmhooks import dispatch
from slurmhooks.errors import Reject
from slurmhooks.log import log
from slurmhooks.rollout import ENFORCE, OBSERVE, WARN

if TYPE_CHECKING:
    from slurmhooks.log import Show
    from slurmhooks.registry import Handler
    from slurmhooks.rollout import Subject
    from slurmhooks.slurmctld.call import Call

WOULD_REFUSE = "Warning: a rule that is not in force yet would refuse this request"
WOULD_CHANGE = "Warning: a rule that is not in force yet would change this request"


class Modes:
    """Chooses the mode of each handler when its turn comes, and takes back what those did that only warn."""

    def __init__(self, call: Call | None, view: Any, subject: Subject) -> None:
        """Prepare for one call.

        Args:
            call: notes what handlers did, if somebody follows it.
            view: what they write to.
            subject: whose request it is, with what earlier handlers wrote.
        """
        self._call = call
        self._view = view
        self._subject = subject
        self._warns = False
        self._said: list[str] = []
        self._user: Show | None = None
        self._thread = get_ident()

    def begin(self, handler: Handler) -> str:
        """Return the mode of the handler whose turn it is; note that it is to observe."""
        rollout = handler.rollout
        mode = ENFORCE if rollout is None else rollout.mode_for(handler.label, self._subject)
        self._warns = mode == WARN
        if self._warns:
            self._said.clear()
            self._user = log.divert(self._keep)
        if mode == OBSERVE and self._call is not None:
            self._call.observe(handler)
        return mode

    def _keep(self, text: str) -> None:
        """Keep back what a handler tells the user that only warns: it speaks of what is not done."""
        if get_ident() == self._thread:
            self._said.append(text)
        elif self._user is not None:
            self._user(text)

    def tried(self, handler: Handler, wrong: BaseException | None, savepoint: object) -> bool:
        """Return whether a handler only warns; then tell the user, and take back what it wrote. For dispatch."""
        if not self._warns:
            return False
        view = self._view
        after = view.savepoint()
        error_id = None
        log.divert(self._user)
        texts, warning = list(self._said), ""
        if isinstance(wrong, Reject):
            warning = WOULD_REFUSE
            texts.append(wrong.text or "")
        elif wrong is not None:
            _, error_id = dispatch.report(handler, wrong)
        elif view._differs(savepoint, after):
            warning = WOULD_CHANGE
        view.rollback(savepoint)
        if self._call is not None:
            self._call.tried(handler, wrong, after, WARN, error_id)
        if warning:
            note = handler.rollout.note if handler.rollout is not None else None
            log.user(_in_one_line(warning, texts, note))
        return True


def _in_one_line(warning: str, texts: list[str], note: str | None) -> str:
    """Return a warning, what the handler has to say, and what the site adds."""
    said = "; ".join(line for text in texts for line in text.splitlines() if line)
    return f"{warning}{said and ': ' + said}{f' ({note})' if note else ''}"
