# SPDX-License-Identifier: GPL-2.0-or-later
"""One action of a periodic handler, and its texts as they leave."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.log import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 1024
"""Maximum bytes of a text that leaves this process, with the mark of the rule; what is longer is cut."""
LONGEST_COMMENT = 4096
"""Maximum bytes of an admin_comment to which the reason of an action is added."""
BESIDE = "; "
"""Separates a reason in an admin_comment from what others have written there."""
NOTED = ("cancel", "hold", "requeue")
"""Actions whose reason is added to the admin_comment of the job."""


class Action(NamedTuple):
    """Something that a handler wants to be done.

    Attributes:
        kind: such as "cancel"; the methods of ActingRecord and ActingNode have these names.
        target: the job, as users write it, or the name of the node.
        text: the reason, what the user is told, or the new values, as the handler has given it.
        job_id: None for a node.
        state: what the job or the node was when the handler saw it; the action is taken only if it still is.
        about: what distinguishes the job from others; see about_record.
        mark: of the rule, for a reason; for "undrain", the end of the reasons that it may end, or empty.
        wrong: why the action cannot be taken, because of its values; empty: it can.
        fields: for "update", the new values.
        message: for "update" of a job, the new values as an answer of a handler.
    """

    kind: str
    target: str
    text: str
    job_id: int | None
    state: tuple[Any, ...]
    about: dict[str, Any]
    mark: str = ""
    wrong: str = ""
    fields: Mapping[str, Any] = MappingProxyType({})
    message: bytes = b""

    @property
    def what(self) -> str:
        """The action in words, for the log."""
        return f"{self.kind} {'node' if self.job_id is None else 'job'} {self.target}"

    @property
    def owner(self) -> tuple[str, object]:
        """Whom it concerns: the user of a job, or a node."""
        return ("node", self.target) if self.job_id is None else ("user", self.about["user_id"])

    @property
    def line(self) -> str:
        """The text as it leaves this process: one line, escaped, then cut; the reason of a drain keeps the mark."""
        return one_line(self.text, LONGEST, self.mark if self.kind == "drain" else "")

    @property
    def marked(self) -> str:
        """The reason with the mark of the rule, for the admin_comment of a job; empty: it gets none."""
        return one_line(self.text, LONGEST, self.mark) if self.kind in NOTED and self.text else ""


def with_reason(comment: str | None, reason: str) -> str | None:
    """Return an admin_comment with a reason beside what is there; None: it would be too long."""
    if not comment or reason in comment:
        return comment or reason
    both = f"{comment}{BESIDE}{reason}"
    return both if len(both.encode("utf-8", "surrogateescape")) <= LONGEST_COMMENT else None
