# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes HTML: every text is escaped, and only :class:`Html` is not."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from slurmhooks.log import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VOID = frozenset({"meta"})
SHORT = 20
"""Number of characters that a cell keeps on one line."""


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Return any value as text of a page: control characters become visible, and nothing is markup."""
    return value if isinstance(value, Html) else Html(escape(visible(str(value), "\n\t")))


def element(tag: str, *content: object, **attributes: str | None) -> Html:
    """Return an element.

    Args:
        tag: its name.
        content: texts, which are escaped, and HTML.
        attributes: their values; ``_`` in names stands for ``-``, one at the end is dropped. None: left out.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    start = f"<{tag}{written}>"
    return Html(start if tag in VOID else f"{start}{''.join(map(text, content))}</{tag}>")


def joined(parts: Iterable[object]) -> Html:
    """Return several parts as one."""
    return Html("".join(map(text, parts)))


def table(titles: Sequence[str], rows: Iterable[Sequence[object]], caption: str | None = None) -> Html:
    """Return a table; numbers are aligned to the right. On narrow screens it scrolls by itself."""
    given = list(rows)
    numbers = [isinstance(value, int | float) for value in given[0]] if given else [False] * len(titles)
    head = element(
        "tr",
        *(
            element("th", title, scope="col", class_="number" if is_number else None)
            for title, is_number in zip(titles, numbers, strict=True)
        ),
    )
    body = [element("tr", *map(_cell, row)) for row in given]
    if not body:
        body = [element("tr", element("td", "none", colspan=str(len(titles))))]
    parts = [] if caption is None else [element("caption", caption)]
    return element(
        "div", element("table", *parts, element("thead", head), element("tbody", *body)), class_="table", tabindex="0"
    )


def _cell(value: object) -> Html:
    if isinstance(value, int | float):
        return element("td", number(value), class_="number")
    return element("td", value, class_="short" if len(str(value)) <= SHORT else None)


def number(value: float) -> str:
    """Return a number with a thin space between groups of three digits."""
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return shown.replace(",", "\u202f")
