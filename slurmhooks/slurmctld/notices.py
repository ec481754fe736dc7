# SPDX-License-Identifier: GPL-2.0-or-later
"""Notices: texts that users read although their requests are accepted, as those of rules that inform or only warn.

A user reads each at most once a day, and never with ``sbatch --parsable``, because programs read the errors of that
command. Messages of other handlers are about this one request, and are always shown.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from slurmhooks.worker import read_notices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.handlers.registry import Handler

MOST = 16 << 20
"""Maximum bytes of the decision log that are read after a restart."""
MARK = "notice"
"""Key of a handler in the decision log: the user has read its notice."""
_NEEDLE = b'"notice":true'


class Notices:
    """The notices of one call."""

    def __init__(self, messages: list[str], sender: int | None, quiet: Callable[[], bool]) -> None:
        """Prepare for the handlers of a call.

        Args:
            messages: to the user, so far.
            sender: user id of who reads them; None: not known.
            quiet: tells whether the user wants none.
        """
        self._messages = messages
        self._sender = sender
        self._quiet = quiet
        self._before = 0
        self._due: list[tuple[int, str]] = []

    def begin(self) -> None:
        """Prepare for a handler."""
        self._before = len(self._messages)

    def end(self, handler: Handler) -> bool:
        """Take back what a handler has told the user, if it is not to be read; tell whether it is."""
        if len(self._messages) == self._before:
            return False
        due = not self._quiet() and self._is_first(handler.label)
        if not due:
            del self._messages[self._before :]
        return due

    def _is_first(self, label: str) -> bool:
        if read_notices.shared is None or self._sender is None:
            return True
        if read_notices.shared.has(self._sender, label, read_notices.day_of(time.time())):
            return False
        self._due.append((self._sender, label))
        return True

    def read(self) -> None:
        """Remember what the user reads, when no handler of the call can end the worker any more."""
        for sender, label in self._due:
            assert read_notices.shared is not None
            read_notices.shared.add(sender, label, read_notices.day_of(time.time()))


def restore(collect: Mapping[str, Any]) -> None:
    """Read from the decision log which notices users have read today; does nothing the second time.

    Args:
        collect: see slurmhooks.processes.settings.Settings; without a decision log, users read notices again.
    """
    memory = read_notices.shared
    if memory is None or memory.restored:
        return
    memory.restored = True
    file = collect.get("decisions", {}).get("file")
    today = read_notices.day_of(time.time())
    for line in _lines(file) if file else ():
        try:
            decision = json.loads(line)
            if decision["time"][:10] == today:
                for step in decision["handlers"]:
                    if step.get(MARK) is True:
                        memory.add(int(decision["by"]), str(step["handler"]), today)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # a line that is cut off, as after a full disk


def _lines(path: str) -> list[bytes]:
    """Return the lines with notices at the end of the decision log; none if it cannot be read."""
    left = MOST
    parts: list[bytes] = []
    for name in (path, f"{path}.1"):
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            size = os.fstat(fd).st_size
            parts.append(os.pread(fd, left, max(0, size - left)))
        except OSError:
            continue
        finally:
            os.close(fd)
        left -= len(parts[-1])
        if left <= 0:
            break
    return [line for part in parts for line in part.split(b"\n") if _NEEDLE in line]
