# SPDX-License-Identifier: GPL-2.0-or-later
"""Markdown for generated pages."""

import inspect
from collections.abc import Iterable


def code(words: Iterable[str], empty: str = "") -> str:
    """Return words as code, separated by commas."""
    return ", ".join(f"`{word}`" for word in words) or empty


def doc(thing: object) -> str:
    """Return the first paragraph of a docstring as one line of Markdown."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()).replace("``", "`")


def page(*parts: str) -> str:
    """Return a page that consists of some parts."""
    return "\n".join(["% Written by docs/generate.py.\n", *parts])
