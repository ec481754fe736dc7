# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the tables of options in the source of a spank-lua script, without running it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.lua.source import Script, Token

OPENERS = ("register_option", "spank_options")


def option_tables(script: Script) -> dict[str, dict[str, str | None]]:
    """Return the tables of options by name: their members as texts, None for those that the script computes.

    Found are tables that follow one of OPENERS, or a variable that is passed to it.
    """
    tables: dict[str, dict[str, str | None]] = {}
    words = script.words
    calls = zip(words, words[1:], words[2:], strict=False)
    taken = {word.text for name, sign, word in calls if name.text in OPENERS and sign.text == "("} - {"{"}
    for index, word in enumerate(words):
        if word.text not in {*OPENERS, *taken}:
            continue
        depth = 0
        for at in range(index + 1, len(words) - 2):
            depth += (words[at].text == "{") - (words[at].text == "}")
            if depth == 0 and at > index + 3:
                break
            if words[at].text == "name" and words[at + 1].text == "=" and words[at + 2].kind == "string":
                tables[words[at + 2].text] = _members(words, at)
    return tables


def _members(words: Sequence[Token], inside: int) -> dict[str, str | None]:
    """Return the members of the table that contains a token."""
    start, depth = inside, 0
    while start > 0 and depth >= 0:
        start -= 1
        depth += (words[start].text == "}") - (words[start].text == "{")
    members: dict[str, str | None] = {}
    entry: list[Token] = []
    depth = 0
    for word in words[start + 1 :]:
        sign = word.text if word.kind == "sign" else ""
        depth += (word.text == "function" or sign in tuple("([{")) - (word.text == "end" or sign in tuple(")]}"))
        if depth < 0 or (depth == 0 and sign in (",", ";")):
            if len(entry) > 2 and entry[1].text == "=":
                members[entry[0].text] = _text(entry[2:])
            entry = []
        else:
            entry.append(word)
        if depth < 0:
            break
    return members


def _text(words: Sequence[Token]) -> str | None:
    """Return the value of a constant expression: one token, or concatenated strings."""
    if len(words) == 1 and words[0].kind != "name":
        return words[0].text
    strings, signs = words[::2], words[1::2]
    if all(word.kind == "string" for word in strings) and all(word.text == ".." for word in signs):
        return "".join(word.text for word in strings)
    return None
