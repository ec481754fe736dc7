# SPDX-License-Identifier: GPL-2.0-or-later
"""The table ``slurm`` for scripts: log functions, conversions and constants, as in Slurm's Lua plugins."""

from __future__ import annotations

from slurmhooks.log import DEBUG, DEBUG2, DEBUG3, DEBUG4, ERROR, INFO, NAMES, VERBOSE, log
from slurmhooks.lua.conversions import as_string, number, own_lines, whole
from slurmhooks.lua.runtime import Integer, LuaRaise, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmhooks.lua.runtime import LuaState

LEVELS = (INFO, VERBOSE, DEBUG, DEBUG2, DEBUG3, DEBUG4)
"""The levels for the numbers of ``slurm.log``; a higher number is the last level."""

RESULTS = {"SUCCESS": 0, "ERROR": -1, "FAILURE": -1}

MAX_DEPTH = 16
"""Maximum depth of tables that are converted to JSON or YAML, as in slurm_lua.c."""
MOST_LEVELS = 100
"""Maximum depth of values that are converted from JSON or YAML."""
LOG_USER_SINCE = (25, 11)
"""The first release in which all scripts have ``slurm.log_user``; without ``slurm.user_msg`` it fails."""


def install(
    state: LuaState, constants: Mapping[str, object], user: Callable[[str], None] | None, release: tuple[int, int]
) -> Any:
    """Create the table, set the global variable ``slurm`` to it, and return it.

    ``constants`` are further members of the table. ``user`` is called with the messages of ``slurm.user_msg``; None if
    scripts have no such function.
    """
    table = state.table({**constants, **RESULTS})

    def write(*args: object) -> None:
        level = whole(number(state, args[-2])) if len(args) > 1 else 0
        if level >= 0:
            log.plain(
                LEVELS[min(level, len(LEVELS) - 1)], f"lua: {c_text(state, args[-1] if args else None)}", own=True
            )

    def error(*args: object) -> None:
        log.plain(ERROR, f"lua: {c_text(state, args[-1] if args else None)}", own=True)

    def minutes(*args: object) -> int:
        return time_str2mins(as_string(state, args[-1] if args else None))

    functions: dict[str, Callable[..., object]] = {"log": write, "error": error, "time_str2mins": minutes}
    if user is not None:
        functions["user_msg"] = lambda *args: user(c_text(state, args[-1] if args else None))
    for name, function in functions.items():
        table[name.encode()] = state.function(function)
    lines = {f"log_{NAMES[level]}": f"log ({place}, " for place, level in enumerate(LEVELS)}
    lines["log_error"] = "error ("
    if user is not None or release >= LOG_USER_SINCE:
        lines["log_user"] = "user_msg ("
    for name, call in lines.items():
        # The name of the chunk is in messages about an invalid format, as in Slurm.
        source = f"slurm.{call}string.format({state.unpack}({{...}})))"
        table[name.encode()] = state.compile(source if name == "log_user" else own_lines(source), source)
    state.globals[b"slurm"] = table
    return table


def c_text(state: LuaState, value: object) -> str:
    """Return a value as C prints it with ``lua_tostring`` and ``%s``."""
    raw = as_string(state, value)
    return "(null)" if raw is None else to_text(raw)


def time_str2mins(raw: bytes | None) -> int:
    """Return minutes as Slurm's function of this name does: -2 for an invalid time, -1 for no limit.

    It counts seconds in an int, which overflows, for instance for the time that srun of 22.05 has without --time.
    """
    if not raw:
        return -2
    text = raw.decode("latin-1")
    if text.upper() in ("-1", "INFINITE", "UNLIMITED"):
        return -1
    from slurmhooks.job_submit import times  # it imports re, which would delay launches

    seconds = times.seconds(text)
    if seconds is None:
        return -2
    seconds = _int(seconds)
    return seconds if seconds in (-1, -2) else int(_int(seconds + 59) / 60)


def _int(number: int) -> int:
    """Return a number as an int of C keeps it."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def install_conversions(state: LuaState, table: Any) -> None:
    """Add the functions that are new in 26.05: ``to_json``, ``from_json``, ``to_yaml``, ``from_yaml``."""
    for kind, mime in (("json", "application/json"), ("yaml", "application/x-yaml")):
        table[f"to_{kind}".encode()] = state.function(_dumper(state, mime))
        table[f"from_{kind}".encode()] = state.function(_parser(state, mime))


def _dumper(state: LuaState, mime: str) -> Callable[..., object]:
    def dump(*args: object) -> str:
        import json

        # JSON is valid YAML.
        try:
            return json.dumps(plain(state, args[-1] if args else None), ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise LuaRaise(f"Conversion to {mime} failed: {error}") from None

    return dump


def _parser(state: LuaState, mime: str) -> Callable[..., object]:
    def parse(*args: object) -> object:
        import json

        raw = as_string(state, args[-1] if args else None)
        if raw is None:
            raise LuaRaise(f"Conversion from {mime} failed: it takes a string")
        text = to_text(raw)
        try:
            try:
                value = json.loads(text)
            except ValueError:
                if mime.endswith("json"):
                    raise
                value = _from_yaml(text, mime)
            return _Exact(len(text)).value(value)
        except (ValueError, OverflowError) as error:
            raise LuaRaise(f"Conversion from {mime} failed: {error}") from None
        except RecursionError:
            raise LuaRaise(f"Conversion from {mime} failed: it is nested too deeply") from None

    return parse


def _from_yaml(text: str, mime: str) -> object:
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise LuaRaise(f"Conversion from {mime} failed: the Python package yaml (PyYAML) is not installed") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise LuaRaise(f"Conversion from {mime} failed: {error}") from None


class _Exact:
    """Marks integers, so that they stay integers in a Lua that has integers."""

    def __init__(self, most: int) -> None:
        """Limit the number of values: a text has no more values than characters, unless YAML repeats some."""
        self._left = most + 1

    def value(self, value: object, depth: int = 0) -> object:
        """Return a value for Lua.

        Raises:
            ValueError: it is nested too deeply, or has too many values.
            OverflowError: a number is too large.
        """
        self._left -= 1
        if depth > MOST_LEVELS or self._left < 0:
            raise ValueError("it is nested too deeply" if self._left >= 0 else "it repeats too much of itself")
        if isinstance(value, dict):
            return {str(key): self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, int) and not isinstance(value, bool):
            return Integer(value) if -1 << 63 <= value < 1 << 63 else float(value)
        return value


def plain(state: LuaState, value: Any, depth: int = 0) -> Any:
    """Convert a Lua value to nested lists and dicts of texts and numbers.

    Raises:
        ValueError: a value, such as a function, cannot be converted, or the table is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise ValueError("the table is nested too deeply")
    if isinstance(value, bytes):
        return to_text(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if state.type_of(value) != "table":
        raise ValueError(f"a {state.type_of(value)} has no such form")
    items = [(key, plain(state, item, depth + 1)) for key, item in value.items()]
    if [key for key, _ in items] == list(range(1, len(items) + 1)):
        return [item for _, item in items]
    return {c_text(state, key): item for key, item in items}
