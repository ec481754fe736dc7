# SPDX-License-Identifier: GPL-2.0-or-later
"""What C makes of a value that a script gives, as Slurm's Lua plugins read it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.lua.runtime import State


def as_string(state: State, value: object) -> bytes | None:
    """Return a value as a string of C; None if Lua makes none of it."""
    if isinstance(value, bytes):
        return value.partition(b"\0")[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    shown = str(value) if isinstance(value, int) and state.has_integers else f"{value:.14g}"
    if state.has_integers and isinstance(value, float) and shown.lstrip("-").isdigit():
        shown += ".0"
    return shown.encode()


def number(value: object) -> float:
    """Return a value as ``lua_tonumber`` does: 0 for what is none."""
    found = as_number(value)
    return 0.0 if found is None else found


def as_number(value: object) -> float | None:
    """Return the number that Lua takes a value for, which may be a string; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, bytes):
        return None
    text = value.decode("latin-1").strip().lower()
    try:
        return float.fromhex(text) if "0x" in text else None if "_" in text or "n" in text else float(text)
    except (ValueError, OverflowError):
        return None


def flag(value: object) -> int:
    """Return what a script means by ``has_arg`` or ``overwrite``: its manual says boolean, its examples use numbers."""
    return 1 if value is True else whole(number(value))


def returned(result: object) -> int:
    """Return what Slurm gets for the result of a script's function: 0 for what is no number."""
    first = result[0] if isinstance(result, tuple) else result
    return whole(number(first))


def whole(value: float) -> int:
    """Return a number as C makes an int of it."""
    if value != value or abs(value) >= 1 << 31:
        return -1 << 31
    return int(value)
