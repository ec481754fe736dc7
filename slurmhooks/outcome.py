# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of one event: what all handlers of one call from Slurm came to."""

from __future__ import annotations


class Outcome:
    """What a call comes to.

    Attributes:
        passed: every handler passed, and what they wrote was applied.
        code: for a refusal, the code of ``Reject``: a name, a number, or None for the hook's general failure.
        text: for a refusal or a failure, what the user is to read.
        error_id: for a failure, the id under which the traceback stands in the log.
    """

    __slots__ = ("code", "error_id", "passed", "text")

    def __init__(
        self, *, passed: bool, code: str | int | None = None, text: str | None = None, error_id: str | None = None
    ) -> None:
        """Keep the result; see the class."""
        self.passed = passed
        self.code = code
        self.text = text
        self.error_id = error_id
