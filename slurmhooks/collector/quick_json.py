# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON of reports and of the decision log.

The library that pydantic brings takes a third of the time of Python's own, but it rejects texts that are not UTF-8, and
writes characters as they are, even if terminals act on them. Such content is left to Python's own.
"""

from __future__ import annotations

import json
import math
from typing import Any

from slurmhooks.collector.json_library import from_json, to_json


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text}")
    return number


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"JSON cannot represent {value!r}")
    return value.decode("utf-8", "surrogateescape")


to_json({})  # imports modules at its first call, when a handler may have left no way to do so
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_text).encode
_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode


def encode(content: dict[str, Any] | list[Any] | tuple[Any, ...]) -> bytes:
    """Return the JSON of a dictionary or a list, in ASCII; bytes are texts, decoded as ``surrogateescape`` does.

    Raises:
        ValueError: JSON cannot represent a number, such as infinity.
        TypeError: JSON cannot represent a value.
    """
    try:
        data = to_json(content)
    except ValueError:  # a text is not UTF-8, or a value of an unknown type
        return _encode(content).encode()
    # Not "in": it first takes the text for a number, and makes an exception that nobody sees, with a text. A letter is
    # found much faster than a word.
    is_finite = (data.find(b"I") < 0 or data.find(b"Infinity") < 0) and (data.find(b"N") < 0 or data.find(b"NaN") < 0)
    return data if is_finite and data.isascii() else _encode(content).encode()


def decode(data: bytes) -> Any:
    """Return what a JSON text represents. An infinite number such as ``1e999`` is possible.

    Raises:
        ValueError: it is not JSON. RecursionError and MemoryError are possible, too.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError:
        return _decode(data.decode())
