# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of srun, sbatch and salloc that spank-lua scripts define by tables."""

from __future__ import annotations

from slurmhooks.handlers.registry import OPTION_NAME_LIMIT
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import STEP_CONTEXTS
from slurmhooks.log import DEBUG, ERROR, log
from slurmhooks.lua.conversions import as_string, flag, number, returned, whole
from slurmhooks.lua.runtime import LuaRaise, ScriptError, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmhooks.lua.runtime import LuaState

FAILED = -1


class LuaOption(Option):
    """An option that a script defines by a table.

    Attributes:
        callback: name of the global function to call when the option is given, or None.
        number: ``val`` of the table, an argument of the function.
        has_arg: the value of the table, which does not depend on arginfo.
    """

    __slots__ = ("_has_arg", "_path", "_state", "callback", "number")

    scripted = True

    def __init__(self, state: LuaState, path: str, table: Any) -> None:
        """Read a table.

        Raises:
            LuaRaise: the table is incomplete or invalid.
        """
        name = _text(state, table, "name")
        usage = _text(state, table, "usage")
        arginfo = as_string(state, table[b"arginfo"])
        if not 1 <= len(to_bytes(name)) <= OPTION_NAME_LIMIT:
            raise LuaRaise(f"option name {name!r}: it must have 1 to {OPTION_NAME_LIMIT} bytes")
        super().__init__(name, None if arginfo is None else to_text(arginfo), usage, False, str, STEP_CONTEXTS, 0, path)
        self._state = state
        self._path = path
        self._has_arg = flag(state, table[b"has_arg"])
        self.number = float(whole(number(state, table[b"val"])))
        callback = as_string(state, table[b"cb"])
        self.callback = None if callback is None else to_text(callback)
        if table[b"cb"] is not None and (callback is None or state.type_of(state.globals[callback]) != "function"):
            shown = state.type_of(table[b"cb"]) if callback is None else self.callback
            raise LuaRaise(f"Unable to find spank option cb function {shown}")

    @property
    def has_arg(self) -> int:
        """See the class."""
        return self._has_arg

    @property
    def checked(self) -> bool:
        """Whether the script must run as soon as the user gives the option."""
        return self.callback is not None

    def take(self, text: str | None, remote: bool) -> int:
        """Call the script for an option that the user gave; return its result, or -1 if it fails.

        Without an argument, ``text`` is None. ``remote``: this process is slurmstepd.
        """
        if not self._has_arg or (self._has_arg == 2 and text in ("", "(null)")):
            # In slurmstepd, these texts represent a missing argument.
            text = None
        if self.callback is None:
            return 0
        shown = "nil" if text is None else text
        log.plain(DEBUG, f"spank/lua: {self._path}: callback {self.callback} for option {self.name} optarg={shown}")
        function = self._state.globals[to_bytes(self.callback)]
        try:
            if self._state.type_of(function) != "function":
                raise ScriptError(f"attempt to call a {self._state.type_of(function)} value", [])
            result = self._state.call(function, self.number, None if text is None else to_bytes(text), remote)
        except ScriptError as error:
            log.plain(ERROR, f"Failed to call lua callback function {self.callback}: {error.text}")
            return FAILED
        return returned(self._state, result)


def options_of(state: LuaState, path: str) -> list[LuaOption]:
    """Return the options of the global table ``spank_options`` of a script, in order.

    Raises:
        LuaRaise: a table is incomplete or invalid.
    """
    table = state.globals[b"spank_options"]
    if table is None:
        return []
    if state.type_of(table) != "table":
        raise LuaRaise(f"spank_options must be a table, not a {state.type_of(table)}")
    # The manifest needs a defined order, which Lua tables with text keys do not have.
    items = sorted(table.items(), key=lambda item: (isinstance(item[0], bytes), item[0]))
    return [read(state, path, item) for _, item in items]


def read(state: LuaState, path: str, table: Any) -> LuaOption:
    """Return the option that a table defines.

    Raises:
        LuaRaise: the table is incomplete or invalid.
    """
    if state.type_of(table) != "table":
        raise LuaRaise(f"a spank option must be a table, not a {state.type_of(table)}")
    return LuaOption(state, path, table)


def _text(state: LuaState, table: Any, field: str) -> str:
    raw = as_string(state, table[field.encode()])
    if raw is None:
        raise LuaRaise(f'Required field "{field}" missing from spank option table')
    return to_text(raw)
