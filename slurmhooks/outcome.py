# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of one event: one call from Slurm, for which all handlers of a hook ran."""

from __future__ import annotations


class Outcome:
    """The result of one event.

    Attributes:
        passed: every handler passed, and their writes were applied.
        code: for a refusal, the code of ``Reject``: a name, a number, or None for the hook's general failure code.
        text: for a refusal or a failure, the message to the user.
        error_id: for a failure, the id of the traceback in the log.
    """

    __slots__ = ("code", "error_id", "passed", "text")

    def __init__(
        self, *, passed: bool, code: str | int | None = None, text: str | None = None, error_id: str | None = None
    ) -> None:
        """Store the result; see the class."""
        self.passed = passed
        self.code = code
        self.text = text
        self.error_id = error_id
