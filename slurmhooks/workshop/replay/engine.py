# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the handlers of one set of hook files over recorded requests, in this process."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.handlers import trace
from slurmhooks.handlers.dispatch import UNTIL
from slurmhooks.hooks.rollout import KEYS, OBSERVE, OFF, Rollout
from slurmhooks.job_submit.service import Service
from slurmhooks.log import log
from slurmhooks.processes.settings import Settings
from slurmhooks.recording.file import join, split
from slurmhooks.wire.message import decode
from slurmhooks.workshop.replay import clock
from slurmhooks.workshop.replay.answers import NotRecordedError
from slurmhooks.workshop.replay.views import views_of
from slurmhooks.workshop.testing.answers import read_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.job_submit.views import Views
    from slurmhooks.log import Show
    from slurmhooks.recording.request import Recorded
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Tables
    from slurmhooks.workshop.replay.answers import Answers

TRACEBACKS = 3
"""Maximum number of tracebacks that an engine keeps of the same bug."""
_LABEL = r"[^()\[\]\s]+:(?!//)[^()\[\]\s]+"
_RULE_ID = re.compile(rf" ?(\({_LABEL}\)|\[{_LABEL}\])$", re.MULTILINE)
"""Only one of the sides may have it: see ``[rules] rule_ids``. 1.0.0 recorded it in brackets."""
_ERROR_ID = re.compile(r"\(error [0-9a-f]{8}\)")


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a request.

    Attributes:
        code: name or number of the error code; 0 if it was accepted.
        text: for the user, without parts that differ between runs; None if there is no text.
        writes: raw values by member.
        decided: label of the handler that refused or failed; empty if none did.
        bugs: label of each handler that had a bug, and one line about the bug.
        tracebacks: of these bugs, by label and line; not all are kept.
        needs: what handlers wanted to read although it was not recorded; if not empty, the decision does not count.
        exempt: label of each rule that the job is exempt from until a day or a time, and until when and why.
    """

    code: str | int
    text: str | None
    writes: dict[str, Raw]
    decided: str = ""
    bugs: list[tuple[str, str]] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    exempt: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def verdict(self) -> str:
        """One of accepted, refused, failed, unknown."""
        if self.needs:
            return "unknown"
        if not self.code:
            return "accepted"
        return "failed" if any(label == self.decided for label, _ in self.bugs) else "refused"


class Reader:
    """Converts answers to decisions."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._codes: dict[int, str] = {}
        for name, number in tables.constants.get("ESLURM", {}).items():
            self._codes.setdefault(number % (1 << 32), name)

    def read(self, answer: bytes, **others: Any) -> Decision:
        """Return the decision in the message of an answer; for ``others`` see Decision.

        Raises:
            MessageError: the answer is damaged.
        """
        read = read_answer(self._tables.tables[0], decode(answer, self._tables))
        code = self._codes.get(read.code, read.code) if read.code else 0
        text = None if read.text is None else without_ids(read.text.decode("utf-8", "replace"))
        return Decision(code, text, read.writes, **others)


class Engine:
    """Handlers, and the recording that answers their questions."""

    def __init__(
        self,
        tables: Tables,
        registry: Registry,
        answers: Answers,
        *,
        enforce_all: bool = False,
        views: Views | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Prepare to run handlers.

        ``enforce_all``: handlers are enforced for all requests, regardless of mode and share. ``views`` are by default
        those of a recording; ``settings`` is what the configuration says about texts.
        """
        for handler in registry.all_handlers():
            handler.rollout = None if enforce_all else _without_observers(handler.rollout)
        self._answers = answers
        self._service = Service(tables, registry, settings or Settings(), views or views_of(tables, answers))
        self._service.followers.append(lambda call: None)  # makes the service record its calls
        self._user: Show | None = None
        self._seen: dict[tuple[str, str], int] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Suppress the log of handlers in the block; the first time, run the handlers of init.

        Raises:
            LoadError: a handler of init failed.
        """
        before = log.attach(None, None)
        try:
            if self._user is None:
                self._service.start()
                _, self._user, _ = log.attach(None, None)
            log.attach(_ignore, self._user, _drop)
            yield
        finally:
            log.attach(*before)

    def stop(self) -> None:
        """Run the handlers of fini."""
        self._service.stop()

    def run(self, request: Recorded) -> tuple[bytes, bytes]:
        """Run the handlers over a request; return the answer, and what :func:`notes_of` reads.

        Raises:
            MessageError: the request is damaged.
        """
        clock.show(request.time)
        self._answers.begin(request)
        try:
            answer = self._service.handle(request.request, self._answers)
        except NotRecordedError:  # NotRecordedError for a part of the request that handlers changed
            answer = request.answer
        notes = self._notes()  # includes tracebacks, which are lost afterwards
        self._service.after()
        return answer, notes

    def _notes(self) -> bytes:
        decided, bugs, tracebacks, exempt = "", [], [], {}
        for step in () if self._service.call is None else self._service.call.steps:
            if step.outcome is not None and not step.outcome.passed:
                decided = decided or step.handler.label  # others were only tried
            if step.exempt is not None and step.exempt.startswith(UNTIL):
                exempt[step.handler.label] = step.exempt
            if step.error is not None and not isinstance(step.error, Reject):
                name = trace.type_name(step.error)
                bugs.append((step.handler.label, f"{name}: {trace.text_of(step.error)}"))
                key = (step.handler.label, name)
                self._seen[key] = self._seen.get(key, 0) + 1
                if self._seen[key] <= TRACEBACKS:
                    tracebacks.append("\n".join(trace.lines(step.error, step.handler.path)))
        needs = self._answers.needs
        if bugs and not needs:
            needs = sorted(set(self._answers.withheld))
        if not (decided or bugs or needs or exempt):
            return b""
        return json.dumps([decided, bugs, tracebacks, needs, exempt]).encode()


def _without_observers(rollout: Rollout | None) -> Rollout | None:
    """Replace the mode "observe" by "off", because observing has no effect here except its cost."""
    if rollout is None:
        return None
    values = {key: getattr(rollout, key) for key in KEYS}
    return Rollout(**values | {key: OFF for key in ("mode", "otherwise") if values[key] == OBSERVE})


def without_ids(text: str) -> str:
    """Return a text for users without the labels of its refusals, and without the ids of errors."""
    return _ERROR_ID.sub("(error ...)", _RULE_ID.sub("", text))


def notes_of(data: bytes) -> dict[str, Any]:
    """Return what an engine noted, as arguments of Decision.

    Raises:
        ValueError: the data is invalid.
    """
    if not data:
        return {}
    decided, bugs, tracebacks, needs, exempt = json.loads(data)
    return {
        "decided": str(decided),
        "bugs": [(str(label), str(line)) for label, line in bugs],
        "tracebacks": [str(text) for text in tracebacks],
        "needs": [str(need) for need in needs],
        "exempt": {str(label): str(why) for label, why in exempt.items()},
    }


def pack_results(results: list[tuple[bytes, bytes]]) -> bytes:
    """Pack the results for some requests; see :meth:`Engine.run`."""
    return join(each for result in results for each in result)


def unpack_results(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return what :func:`pack_results` has packed. Raises RecordingError."""
    items = split(data)
    return list(zip(items[::2], items[1::2], strict=True))


def _ignore(level: int, text: str) -> None:
    """Drop a line: slurmctld's log has those of the recorded requests already."""


def _drop(text: str) -> None:
    """Drop a line of a traceback, which :class:`Decision` has."""
