# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes TOML: a configuration whose values have been changed, without its comments."""

import json
from collections.abc import Mapping
from typing import Any

BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
"""Characters of a key without quotes."""


def render(tables: Mapping[str, Any]) -> str:
    """Return a text of which ``tomllib.loads()`` makes the same values as those given, which it has made.

    The tables of the file have headers; tables in them are inline.
    """
    plain = {name: value for name, value in tables.items() if not isinstance(value, dict) and not _is_array(value)}
    lines = _lines(plain)
    for name, value in tables.items():
        if isinstance(value, dict):
            lines += [f"[{_key(name)}]", *_lines(value)]
        elif _is_array(value):
            for entry in value:
                lines += [f"[[{_key(name)}]]", *_lines(entry)]
    return "".join(f"{line}\n" for line in lines)


def _is_array(value: object) -> bool:
    """Tell whether a value can have headers for each of its tables."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in table.items()]


def _key(name: str) -> str:
    return name if name and BARE.issuperset(name) else _text(name)


def _text(text: str) -> str:
    # Texts of JSON are basic strings of TOML, except for this character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(_lines(value))}}}"
    return str(value.isoformat())  # a date, a time, or both
