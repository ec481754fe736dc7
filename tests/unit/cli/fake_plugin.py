# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the least shared library that says for which Slurm it was compiled."""

import struct

SYMBOLS, STRINGS, DATA = 0x100, 0x200, 0x300
LOADED_AT = 0x4000
NAMES = b"\0init\0plugin_version\0"


def plugin(version: str, symbol: bytes = b"plugin_version") -> bytes:
    """Return the bytes of a library of 64 bits, with the number of a release in a constant that is loaded elsewhere."""
    major, minor, micro = map(int, version.split("."))
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 0x400, 0, 64, 0, 0, 64, 4, 0)
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 3, LOADED_AT, 4)
    symbols += struct.pack("<IBBHQQ", 6, 0x11, 0, 3, LOADED_AT + 8, 4)
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (0, 11, 2, SYMBOLS, SYMBOLS, len(symbols), 2, 1, 8, 24),
        (0, 3, 2, STRINGS, STRINGS, len(NAMES), 0, 0, 1, 0),
        (0, 1, 2, LOADED_AT, DATA, 12, 0, 0, 4, 0),
    ]
    strings = NAMES.replace(b"plugin_version", symbol.ljust(14, b"x"))
    data = struct.pack("<III", 1, 2, major << 16 | minor << 8 | micro)
    parts = head.ljust(SYMBOLS, b"\0") + symbols.ljust(STRINGS - SYMBOLS, b"\0")
    parts += strings.ljust(DATA - STRINGS, b"\0") + data.ljust(0x400 - DATA, b"\0")
    return parts + b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)
