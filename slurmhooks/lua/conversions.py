# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts values of scripts to C values, as Slurm's Lua plugins do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.lua.runtime import LuaState


def as_string(state: LuaState, value: object) -> bytes | None:
    """Return a value as ``lua_tostring`` does, up to a NUL byte; None if it cannot be converted."""
    if isinstance(value, bytes):
        return value.partition(b"\0")[0]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    shown: bytes = state.tostring(value)
    return shown


def number(state: LuaState, value: object) -> float:
    """Return a value as ``lua_tonumber`` does: 0 if it is not a number."""
    converted = as_number(state, value)
    return 0.0 if converted is None else converted


def as_number(state: LuaState, value: object) -> float | None:
    """Return the number for a value, which may be a string; None if it cannot be converted.

    Lua converts strings itself, because versions differ: only 5.1 takes "nan" and "inf" for numbers.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, bytes):
        value = state.tonumber(value)
    return float(value) if isinstance(value, (int, float)) else None


def flag(state: LuaState, value: object) -> int:
    """Return the int for ``has_arg`` or ``overwrite``: in the manual they are booleans, in its examples numbers."""
    return 1 if value is True else whole(number(state, value))


def returned(state: LuaState, result: object) -> int:
    """Return the result of a script's function as an int; 0 if it is not a number."""
    first = result[0] if isinstance(result, tuple) else result
    return whole(number(state, first))


def whole(value: float) -> int:
    """Return a number as C converts it to an int."""
    if value != value or abs(value) >= 1 << 31:
        return -1 << 31
    return int(value)


def own_lines(source: str) -> str:
    """Return the code of a log function that escapes newlines in the arguments of its format: users may have sent them.

    Args:
        source: the code, in which ``{...}`` are the format and its arguments.
    """
    escape = r"for i = 2, #a do if type(a[i]) == 'string' then a[i] = string.gsub(a[i], '\n', '\\n') end end"
    return f"local a = {{...}} {escape} {source.replace('{...}', 'a')}"
