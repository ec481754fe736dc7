# SPDX-License-Identifier: GPL-2.0-or-later
"""What a health check gets, and what becomes of it."""

from __future__ import annotations

from slurmhooks.log import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class HealthNode:
    """The node that a health check is for.

    Attributes:
        name: its NodeName.
        contexts: why the check runs now, and what jobs have of the node; see ``slurmhooks.hooks.points.HEALTH``. The
            latter is missing if no check of the site asks for it, or if slurmctld does not answer.
    """

    __slots__ = ("contexts", "name")

    def __init__(self, name: str, contexts: Iterable[str] = ()) -> None:
        self.name = name
        self.contexts = frozenset(contexts)

    def __repr__(self) -> str:
        """Return the name and the contexts."""
        return f"<HealthNode {self.name}: {', '.join(sorted(self.contexts))}>"


PASSED, REFUSED, HUNG, BUG, LEFT = "passed", "refused", "hung", "bug", "left"
"""What a check did: HUNG did not end in its time, which is a refusal; BUG raised something else than Reject; LEFT did
not run to its end, because the time of the whole run was over."""


LONGEST = 1000
"""Bytes of a reason."""


def reason_of(text: str) -> str:
    """Return a text as one line, which a reason is in Slurm: escaped, because it may have come from a user."""
    return one_line(text, LONGEST)


class Result:
    """What one check did.

    Attributes:
        kind: one of the constants above.
        text: the reason, if it refuses; the line for the log of a bug.
        process: of a HUNG check that even SIGKILL has not ended; "" if it has ended.
    """

    __slots__ = ("kind", "process", "text")

    def __init__(self, kind: str, text: str = "", process: str = "") -> None:
        self.kind = kind
        self.text = text
        self.process = process

    def __repr__(self) -> str:
        """Return the kind and the text."""
        return f"<Result {self.kind}: {self.text}>"
