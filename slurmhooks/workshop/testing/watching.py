# SPDX-License-Identifier: GPL-2.0-or-later
"""Observe which handlers run, refuse, and have bugs; for results, and for the coverage of a whole test run."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmhooks.errors import Reject
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.registry import Handler

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmhooks.handlers.registry import Registry

_BUG = re.compile(r"error: error (?P<id>[0-9a-f]{8}): (?P<what>.*) raised ")
"""The first line of the report of a bug; see dispatch."""


@dataclass(frozen=True)
class Bug:
    """A bug in a handler, whether it refuses the request or ``on_error`` lets it pass.

    Attributes:
        id: its id in the log.
        text: hook and handler, and the traceback.
    """

    id: str
    text: str

    def __str__(self) -> str:
        """Return id and text."""
        return f"error {self.id}: {self.text}"


@dataclass
class Covered:
    """What this process has done with one handler.

    Attributes:
        ran: it was called.
        refused: it has refused a request.
    """

    ran: bool = False
    refused: bool = False


@dataclass
class Coverage:
    """The handlers of all calls of :func:`slurmhooks.testing.run` in this process.

    Attributes:
        handlers: by hook and label.
    """

    handlers: dict[tuple[str, str], Covered] = field(default_factory=dict)

    def know(self, registry: Registry) -> None:
        """Note which handlers exist."""
        for handler in registry.all_handlers():
            self.handlers.setdefault(_key(handler), Covered())

    def add(self, other: Iterable[tuple[str, str, bool, bool]]) -> None:
        """Add what another process has covered; see :meth:`rows`."""
        for hook, label, ran, refused in other:
            covered = self.handlers.setdefault((hook, label), Covered())
            covered.ran |= ran
            covered.refused |= refused

    def rows(self) -> list[tuple[str, str, bool, bool]]:
        """Return hook and label of each handler, whether it ran, and whether it refused."""
        return [(*key, covered.ran, covered.refused) for key, covered in sorted(self.handlers.items())]

    def summary(self) -> list[str]:
        """Return lines that name the handlers that never ran, or never refused."""
        ran = [covered for covered in self.handlers.values() if covered.ran]
        lines = [f"{len(ran)} of {len(self.handlers)} handlers ran"]
        never = {
            "never ran": [label for (_, label), covered in sorted(self.handlers.items()) if not covered.ran],
            "never refused": [
                label for (_, label), covered in sorted(self.handlers.items()) if covered.ran and not covered.refused
            ],
        }
        return lines + [f"{what}: {', '.join(labels)}" for what, labels in never.items() if labels]


coverage = Coverage()
"""The coverage of this process."""


@contextlib.contextmanager
def watching() -> Iterator[list[str]]:
    """Yield a list, to which the label of each handler that runs in the block is added."""
    ran: list[str] = []
    calls = {kind: vars(kind)["call"] for kind in (Handler, JobRule)}

    def watched(handler: Handler, arguments: dict[str, object]) -> object:
        ran.append(handler.label)
        covered = coverage.handlers.setdefault(_key(handler), Covered())
        covered.ran = True
        try:
            return calls[JobRule if isinstance(handler, JobRule) else Handler](handler, arguments)
        except Reject:
            covered.refused = True
            raise

    # The code of the workers provides no way to observe each call.
    for kind in calls:
        setattr(kind, "call", watched)  # noqa: B010 - for the type checker
    try:
        yield ran
    finally:
        for kind, call in calls.items():
            setattr(kind, "call", call)  # noqa: B010


def _key(handler: Handler) -> tuple[str, str]:
    """Return hook and label; a handler of hook.job is one, although it runs in two hooks."""
    return ("job" if isinstance(handler, JobRule) else handler.spec.name, handler.label)


def bugs_in(lines: Iterable[str]) -> list[Bug]:
    """Return the bugs that a log reports, with their tracebacks."""
    bugs: dict[str, list[str]] = {}
    for line in lines:
        begin = _BUG.match(line)
        if begin is not None:
            bugs[begin["id"]] = [line.partition(": ")[2].partition(": ")[2]]
        elif line.startswith("error: error ") and line[13:21] in bugs:
            bugs[line[13:21]].append(line[23:])
    return [Bug(error_id, "\n".join(text)) for error_id, text in bugs.items()]
