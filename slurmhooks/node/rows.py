# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of words as bytes: of the state file, and of what a child tells its parent. Imports nothing, as launches do."""

from __future__ import annotations

from _codecs import unicode_escape_decode, unicode_escape_encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def packed(words: Iterable[str]) -> bytes:
    """Return a row; any text is possible in a word."""
    return b"\t".join(unicode_escape_encode(word)[0] for word in words) + b"\n"


def unpacked(line: bytes) -> list[str]:
    """Return the words of a row, without its newline.

    Raises:
        ValueError: it is damaged.
    """
    return [unicode_escape_decode(word)[0] for word in line.split(b"\t")]
