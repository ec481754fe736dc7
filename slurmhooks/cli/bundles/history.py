# SPDX-License-Identifier: GPL-2.0-or-later
"""What was in force on this machine, and since when: a list of events, in the order in which they happened."""

import json
import os
import pwd
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from slurmhooks.cli import documents, output

MOST = 1000
"""Number of events that are kept."""
WATCH = "watch"
"""The verb of sets that `deploy --watch` has put in force; of several in a row, the last one counts."""
EXEMPT = "exempt"
"""The verb of sets that `exempt` has made of the one in force; handlers stay switched off."""
NOBODY = 2**32 - 1
"""The login user id of a process that no login has started."""


@dataclass(kw_only=True)
class Event:
    """A bundle came into force.

    Attributes:
        bundle: the id.
        verb: the command that put it in force; "found" for a set that is there, if the history was lost. An earlier
            release has kept as "present" what was there before the first deployment.
        before: the id of what was in force when it happened; None if nothing was, or if that is not known.
        first: nothing had been deployed on this machine.
        undo: the command undid the event before, which brought back what had been in force before that.
        at: the time; None if it is not known.
        by: the name of the user who ran the command; None as for ``at``.
        message: the user's words about it, if any.
        revision: the revision of the checkout that the bundle was made of, if any.
    """

    bundle: str
    verb: str
    before: str | None = None
    first: bool = False
    undo: bool = False
    at: datetime | None = None
    by: str | None = None
    message: str | None = None
    revision: str | None = None

    @property
    def is_new(self) -> bool:
        """Whether it came from sources, which are judged together with Slurm's configuration."""
        return self.verb in ("deploy", WATCH)


def now(event: Event) -> Event:
    """Return an event with the time and the user of this command."""
    return replace(event, at=datetime.now(UTC), by=_user())


def parse(text: bytes) -> list[Event]:
    """Return the events of a history.

    Raises:
        ValueError, TypeError, RecursionError: it is damaged.
    """
    return [documents.build(Event, row) for row in json.loads(text)]


def render(events: Sequence[Event]) -> bytes:
    """Return the text of a history, with the last events."""
    return "".join(["[\n", ",\n".join(json.dumps(output.plain(each)) for each in events[-MOST:]), "\n]\n"]).encode()


def before(events: Sequence[Event], present: str | None) -> str | None:
    """Return what was in force before the present bundle came into force; None if that is not known.

    A return undoes an event, so that a second one goes back further, to what was in force before that. Handlers that
    are switched on again end what has been in force since they were switched off.
    """
    bundles = [event.bundle for event in _standing(events)]
    if bundles[-1:] == [present]:
        bundles.pop()
    return bundles[-1] if bundles else None


def before_off(events: Sequence[Event]) -> str | None:
    """Return the id of the set in force before handlers were switched off; None if none are switched off now."""
    target = None
    for event in reversed(_standing(events)):
        if event.verb not in ("off", EXEMPT):
            break
        target = target if event.verb == EXEMPT else event.before
    return target


def _standing(events: Sequence[Event]) -> list[Event]:
    """Return the events that no later one has undone or ended."""
    stack: list[Event] = []
    for event in events:
        if event.undo and stack:
            stack.pop()
        if event.verb == "on" and any(each.bundle == event.bundle for each in stack):
            while stack[-1].bundle != event.bundle:
                stack.pop()
        if not stack or stack[-1].bundle != event.bundle:
            stack.append(event)
    return stack


def latest(events: Sequence[Event]) -> list[str]:
    """Return the ids of the bundles, the one that came into force last at the end; each once."""
    return list(dict.fromkeys(event.bundle for event in reversed(events)))[::-1]


def _user() -> str:
    """Return the name of the user who has logged in, which is not root's after sudo."""
    uid = os.getuid()
    with suppress(OSError, ValueError):
        login = int(Path("/proc/self/loginuid").read_text())
        uid = uid if login == NOBODY else login
    if not uid and os.environ.get("SUDO_USER"):
        return os.environ["SUDO_USER"]
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
