# SPDX-License-Identifier: GPL-2.0-or-later
"""What all parsers of notations share: their error, and how long a number may be."""

from __future__ import annotations

from slurmhooks.errors import Reject


class NotationError(Reject, ValueError):
    """A text that Slurm does not read.

    Most often a user wrote it, so a handler that lets it through refuses the request, and the user reads what is wrong
    with the text. Anywhere else it is a ValueError.

    Attributes:
        code: the one that Slurm itself refuses such a text with.
    """


NUMBER = r"\d{1,18}"
"""Pattern of a number: Slurm's have 64 bits, and converting a longer one would take quadratic time."""
