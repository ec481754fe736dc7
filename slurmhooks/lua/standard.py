# SPDX-License-Identifier: GPL-2.0-or-later
"""What C functions compute for compat.lua, where the machine has no liblua and lupa's build lacks it."""

from __future__ import annotations

import ctypes
import math
import time

LONGEST = 512
"""Bytes of a formatted number."""


def compute(name: bytes, x: float, power: float = 0) -> float:
    """Return what a function of math.h returns; ``power`` is the second argument of ldexp."""
    function = getattr(ctypes.CDLL("libm.so.6"), name.decode())
    function.restype = ctypes.c_double
    more = [ctypes.c_int(int(power))] if name == b"ldexp" else []
    return float(function(ctypes.c_double(x), *more))


def frexp(x: float) -> tuple[float, int]:
    """Return a fraction and a power of two."""
    return math.frexp(x)


def strftime(conversion: bytes, when: float, utc: bool) -> bytes:
    """Return one part of a time, which Lua has checked, as the C library writes it."""
    try:
        return time.strftime(conversion.decode(), (time.gmtime if utc else time.localtime)(int(when))).encode()
    except (OverflowError, ValueError, OSError):
        return b""


def hexadecimal(conversion: bytes, number: bytes) -> bytes:
    """Return a decimal number as printf(3) writes it for ``%a``."""
    buffer = ctypes.create_string_buffer(LONGEST)
    ctypes.CDLL(None).snprintf(buffer, ctypes.c_size_t(LONGEST), conversion, ctypes.c_double(float(number)))
    return buffer.value
