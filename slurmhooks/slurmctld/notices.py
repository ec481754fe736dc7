# SPDX-License-Identifier: GPL-2.0-or-later
"""Notices: texts that users read although their requests are accepted, as those of rules that inform or only warn.

A user reads each once a day, and never with ``sbatch --parsable``, because programs read the errors of that command.
srun, salloc and scontrol show what slurmctld answers. Nobody knows who reads the answer to sbatch or to slurmrestd,
because most programs that submit drop the errors of an sbatch that succeeds. So a notice in such answers counts as read
only after the third of a day, at least ten minutes apart, and never for the other commands.
Messages of other handlers are about this one request, and are always shown.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from slurmhooks.worker import read_notices

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.handlers.registry import Handler

NO_READER = 0
"""A program reads the errors: it gets no notices."""
SOME_READER = 1
"""Nobody knows whether a person reads the answer."""
READER = 2
"""A person reads the answer."""
ANSWERS = 3
"""After so many answers to SOME_READER, a notice counts as read on that day."""
APART = 600
"""Seconds that lie at least between such answers; those between them have no notice."""


class Notices:
    """The notices of one call."""

    def __init__(self, messages: list[str], sender: int | None, reader: Callable[[], int]) -> None:
        """Prepare for the handlers of a call.

        ``sender`` is the user id of who reads them; None: not known. ``reader`` tells who reads the answer: NO_READER,
        SOME_READER or READER.
        """
        self._messages = messages
        self._sender = sender
        self._reader = reader
        self._before = 0
        self._due: list[tuple[int, tuple[str, ...], str]] = []

    def begin(self) -> None:
        """Prepare for a handler."""
        self._before = len(self._messages)

    def end(self, handler: Handler) -> bool:
        """Take back what a handler has told the user, if it is not to be read; tell whether it is."""
        if len(self._messages) == self._before:
            return False
        due = self._is_due(handler.label)
        if not due:
            del self._messages[self._before :]
        return due

    def _is_due(self, label: str) -> bool:
        reader = self._reader()
        if reader == NO_READER or read_notices.shared is None or self._sender is None:
            return reader != NO_READER
        now = time.time()
        notes = _notes(self._sender, label, now, sure=reader == READER)
        if not notes:
            return False
        self._due.append((self._sender, notes, read_notices.day_of(now)))
        return True

    def read(self) -> None:
        """Remember what the answer has, when no handler of the call can end the worker any more."""
        for sender, notes, day in self._due:
            assert read_notices.shared is not None
            for note in notes:
                read_notices.shared.add(sender, note, day)


def _notes(sender: int, label: str, now: float, *, sure: bool) -> tuple[str, ...]:
    """Return what to remember of an answer with a notice; empty if it must not have one."""
    assert read_notices.shared is not None
    has, day, slot = read_notices.shared.has, read_notices.day_of(now), int(now // APART)
    if has(sender, label, day):
        return ()
    if sure:
        return (label,)
    # Another answer may have been in this slot or in the one before, so less than APART ago; earlier ones were not.
    if any(has(sender, f"{label}\0at {each}", day) for each in (slot, slot - 1)):
        return ()
    given = next((number for number in range(ANSWERS) if not has(sender, f"{label}\0{number}", day)), None)
    return () if given is None else (f"{label}\0{given}", f"{label}\0at {slot}")
