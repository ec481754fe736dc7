# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML as sites usually write it, without tomllib, whose import takes longer than the rest of a launch.

It never judges: for anything unusual, such as an escape in a text, a date or an error, tomllib has to be asked.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Table = dict[str, Any]

BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
"""Characters of a key without quotes."""
BLANKS = " \t"
END_OF_WORD = frozenset(" \t\n,]}#")
MOST_DIGITS = 18


class _UnusualError(Exception):
    """The text has something that this module does not read."""


def read(text: str) -> Table | None:
    """Return the same as ``tomllib.loads()``; None if only that can tell."""
    # Control characters are invalid, carriage returns would be converted.
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return None
    try:
        return _Reader(f"{text}\n").document()
    except (_UnusualError, ValueError, IndexError, RecursionError):
        return None


class _Reader:
    """A position in a text, which moves on. IndexError means that the text has ended too early."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        """Start at the beginning of a text that ends with a line feed."""
        self.text = text
        self.at = 0

    def document(self) -> Table:
        """Return the whole document."""
        root: Table = {}
        table = root
        declared: dict[tuple[str, ...], bool] = {}  # what headers have made: tables, and arrays of tables (True)
        while True:
            self._skip(lines=True)
            if self.at == len(self.text):
                return root
            if self.text[self.at] == "[":
                table = self._header(root, declared)
            else:
                self._pair(table)
            self._skip()
            if self.text[self.at] != "\n":
                raise _UnusualError

    def _skip(self, *, lines: bool = False) -> None:
        """Pass blanks and a comment; with ``lines``, any number of lines of these."""
        text, at, size = self.text, self.at, len(self.text)
        while at < size and (text[at] in BLANKS or (lines and text[at] == "\n") or text[at] == "#"):
            at = text.index("\n", at) if text[at] == "#" else at + 1
        self.at = at

    def _blanks(self) -> str:
        """Pass blanks; return the next character."""
        while self.text[self.at] in BLANKS:
            self.at += 1
        return self.text[self.at]

    def _expect(self, words: str) -> None:
        if not self.text.startswith(words, self.at):
            raise _UnusualError
        self.at += len(words)

    def _header(self, root: Table, declared: dict[tuple[str, ...], bool]) -> Table:
        """Return the table that a header begins."""
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        path = [self._key()]
        while self.text[self.at] == ".":
            self.at += 1
            path.append(self._key())
        self._expect("]" * brackets)
        parent = root
        for length, name in enumerate(path[:-1], 1):
            if name not in parent:
                declared[tuple(path[:length])] = False
                parent[name] = {}
            elif declared.get(tuple(path[:length])) is not False:
                raise _UnusualError  # a value, or an array
            parent = parent[name]
        place, last = tuple(path), path[-1]
        table: Table = {}
        if last not in parent:
            declared[place] = brackets == 2
            parent[last] = [table] if brackets == 2 else table
        elif brackets == 2 and declared.get(place):
            parent[last].append(table)
        else:
            raise _UnusualError
        return table

    def _key(self) -> str:
        if self.text[self.at] in "\"'":
            return self._quoted()
        start = self.at
        while self.text[self.at] in BARE:
            self.at += 1
        if self.at == start:
            raise _UnusualError
        return self.text[start : self.at]

    def _pair(self, table: Table) -> None:
        """Read a key and its value."""
        key = self._key()
        self._blanks()
        self._expect("=")
        self._blanks()
        if key in table:
            raise _UnusualError
        table[key] = self._value()

    def _value(self) -> object:
        first = self.text[self.at]
        if first in "\"'":
            return self._quoted()
        if first == "[":
            return self._array()
        if first == "{":
            return self._inline()
        start = self.at
        while self.text[self.at] not in END_OF_WORD:
            self.at += 1
        return _simple(self.text[start : self.at])

    def _quoted(self) -> str:
        quote, start = self.text[self.at], self.at + 1
        end = self.text.index(quote, start)
        content = self.text[start:end]
        self.at = end + 1
        # Three quotes begin a text of several lines.
        if "\n" in content or (quote == '"' and "\\" in content) or (not content and self.text[self.at] == quote):
            raise _UnusualError
        return content

    def _array(self) -> list[object]:
        values: list[object] = []
        self.at += 1
        while True:
            self._skip(lines=True)
            if self.text[self.at] == "]":
                break
            values.append(self._value())
            self._skip(lines=True)
            if self.text[self.at] == "]":
                break
            self._expect(",")
        self.at += 1
        return values

    def _inline(self) -> Table:
        table: Table = {}
        self.at += 1
        if self._blanks() != "}":
            self._pair(table)
            while self._blanks() == ",":
                self.at += 1
                self._blanks()
                self._pair(table)
        self._expect("}")
        return table


def _simple(word: str) -> object:
    """Return the value of a word without quotes."""
    if word in ("true", "false"):
        return word == "true"
    whole, point, part = word.removeprefix("-").replace("_", "").partition(".")
    if "_" in word and not all(map(str.isdigit, word.removeprefix("-").split("_"))):
        raise _UnusualError
    if not word.isascii() or not whole.isdigit() or len(word) > MOST_DIGITS or (whole[0] == "0" and whole != "0"):
        raise _UnusualError
    if not point:
        return int(word)
    if not part.isdigit():
        raise _UnusualError
    return float(word)
