# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML as simple as slurmhooks.toml mostly is, without importing anything.

tomllib takes 8 ms to import, most of what a launch without handlers spends in Python. What is not understood here is
left to tomllib; what is understood means the same there.
"""

from __future__ import annotations

BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
BLANK = " \t"

TYPE_CHECKING = False
if TYPE_CHECKING:
    Value = bool | str | list[str]


def read(text: str) -> dict[str, dict[str, Value]] | None:
    """Return the tables of a text, None if it is not plain (it may be wrong, too).

    Plain are tables of bare names, in them bare keys with true, false, strings without escapes and lists of these, and
    comments.
    """
    if any((character < " " and character not in "\n\t") or character == "\x7f" for character in text):
        return None
    try:
        return _Reader(text).tables()
    except (ValueError, IndexError):
        return None


class _Reader:
    """A text and a place in it."""

    def __init__(self, text: str) -> None:
        self.text = text + "\n"
        self.at = 0

    def tables(self) -> dict[str, dict[str, Value]]:
        """Read to the end."""
        found: dict[str, dict[str, Value]] = {}
        table: dict[str, Value] | None = None
        while self.skip("\n"):
            if self.text[self.at] == "[":
                self.at += 1
                name = self.bare()
                self.expect("]")
                if name in found:
                    raise ValueError
                table = found[name] = {}
            else:
                key = self.bare()
                self.expect("=")
                if table is None or key in table:
                    raise ValueError
                table[key] = self.value()
            self.end_of_line()
        return found

    def skip(self, more: str = "") -> bool:
        """Go past blanks, and past comments and what else is given; False at the end."""
        while self.at < len(self.text):
            if more and self.text[self.at] == "#":
                self.at = self.text.index("\n", self.at)
            elif self.text[self.at] in BLANK + more:
                self.at += 1
            else:
                return True
        return False

    def expect(self, sign: str) -> None:
        """Go past one sign and the blanks around it."""
        self.skip()
        if self.text[self.at] != sign:
            raise ValueError
        self.at += 1
        self.skip()

    def bare(self) -> str:
        """Read a name."""
        self.skip()
        start = self.at
        while self.text[self.at] in BARE:
            self.at += 1
        if self.at == start:
            raise ValueError
        return self.text[start : self.at]

    def end_of_line(self) -> None:
        """Go past the end of a line, which may have a comment."""
        self.skip()
        if self.text[self.at] == "#":
            self.at = self.text.index("\n", self.at)
        if self.text[self.at] != "\n":
            raise ValueError

    def value(self) -> Value:
        """Read what stands behind an equals sign."""
        if self.text[self.at] == "[":
            return self.strings()
        if self.text[self.at] in "\"'":
            return self.string()
        word = self.bare()
        if word not in ("true", "false"):
            raise ValueError
        return word == "true"

    def strings(self) -> list[str]:
        """Read a list."""
        found: list[str] = []
        self.at += 1
        self.skip("\n")
        while self.text[self.at] != "]":
            found.append(self.string())
            self.skip("\n")
            if self.text[self.at] == ",":
                self.at += 1
                self.skip("\n")
            elif self.text[self.at] != "]":
                raise ValueError
        self.at += 1
        return found

    def string(self) -> str:
        """Read a string of one line."""
        quote = self.text[self.at]
        if quote not in "\"'":
            raise ValueError
        end = self.text.find(quote, self.at + 1)
        content = self.text[self.at + 1 : end]
        # Two quotes may be the beginning of three.
        if end < 0 or "\n" in content or (quote == '"' and "\\" in content) or self.text[end + 1] == quote:
            raise ValueError
        self.at = end + 1
        return content
