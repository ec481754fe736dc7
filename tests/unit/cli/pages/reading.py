# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a page as a browser does."""

from html.parser import HTMLParser

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "footer"),
    *("h1", "h2", "h3", "p", "dl", "div", "dt", "dd", "ul", "li", "pre"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "defs", "rect", "path", "line", "text", "desc", "circle"),
}
"""The elements of a page; none of them runs or loads anything."""
VOID = ("meta",)


class Read(HTMLParser):
    """The elements and the texts of a page.

    Attributes:
        tags: of its elements.
        attributes: names of all attributes.
        texts: all texts but styles.
        values: values of all attributes.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element of a chart that has no content."""
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Expect the element that was opened last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if "style" not in self._open[-1:]:
            self.texts.append(data)


def is_harmless(page: str) -> Read:
    """Check that a page runs and loads nothing, whatever texts are in it, and return it."""
    read = Read(page)
    assert read.tags <= TAGS, read.tags - TAGS
    assert not [name for name in read.attributes if name.startswith("on") or name in ("href", "src", "xlink:href")]
    assert not [value for value in read.values if "http:" in value.replace("http://www.w3.org/2000/svg", "")]
    assert any("default-src 'none'" in value for value in read.values)
    assert "url(" not in page
    assert "@import" not in page
    return read
