# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rule returns that has not decided about a request."""

from __future__ import annotations

UNTIL = "until "
"""How the reason of an exemption begins that ends on a day; others are for good."""


class Exempted:
    """What a rule returns that did nothing because of an exemption, see UNTIL, although it is for such requests."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


NOT_CONCERNED = object()
"""What a rule returns that is not for such requests: nothing is noted about it."""
