# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the lines of a configuration that start a table of an array, such as ``[[rule]]``, for messages."""

from __future__ import annotations

import re

from slurmhooks.files import trusted

STRINGS = re.compile(r""""{3}(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*""", re.DOTALL)
"""Strings of TOML, of which some have several lines, and comments."""


def lines(path: str, count: int, *keys: str) -> list[int]:
    """Return the line of each table of an array; 1 for those that are written in another way, such as ``rule = [{}]``.

    Args:
        path: of the configuration, which is valid.
        count: how many tables there are.
        keys: the name of the array: ``"node", "checks"``.
    """
    name = r"\s*\.\s*".join(f"(?:{key}|\"{key}\"|'{key}')" for key in keys)
    heading = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
    text = trusted.read(path).decode("utf-8-sig")
    text = STRINGS.sub(lambda match: "\n" * match[0].count("\n") or match[0], text)
    found = [number for number, line in enumerate(text.split("\n"), 1) if heading.match(line)]
    return found if len(found) == count else [1] * count
