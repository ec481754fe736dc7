# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON of reports and of the decision log: in ASCII, because terminals act on other characters."""

from __future__ import annotations

import json
import math
from typing import Any


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"JSON cannot represent the number {text}")
    return number


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"JSON cannot represent {value!r}")
    return value.decode("utf-8", "surrogateescape")


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False, default=_text).encode
_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode


def encode(content: dict[str, Any] | list[Any] | tuple[Any, ...]) -> bytes:
    """Return the JSON of a dictionary or a list, in ASCII; bytes are texts, decoded as ``surrogateescape`` does.

    Raises:
        ValueError: JSON cannot represent a number, such as infinity.
        TypeError: JSON cannot represent a value.
    """
    return _encode(content).encode()


def decode(data: bytes) -> Any:
    """Return what a JSON text represents.

    Raises:
        ValueError: it is not JSON, or has a number such as ``1e999``. RecursionError and MemoryError are possible, too.
    """
    return _decode(data.decode())
