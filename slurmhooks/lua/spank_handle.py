# SPDX-License-Identifier: GPL-2.0-or-later
"""The interface of spank-lua scripts: the handle of their callbacks, the global table SPANK, and os.exit."""

from __future__ import annotations

import posix

from slurmhooks.log import ERROR, LEVELS, USER, log
from slurmhooks.lua import library
from slurmhooks.lua.conversions import as_number, as_string, flag, number, own_lines, whole
from slurmhooks.lua.runtime import LuaRaise, to_bytes, to_text
from slurmhooks.values import ExitStatus, strings_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmhooks.lua.runtime import LuaState
    from slurmhooks.lua.spank_options import LuaOption
    from slurmhooks.spank.model import Spank

    Register = Callable[[LuaOption], int]

CONTROL_PREFIX = b"SPANK_"
"""See slurmhooks.spank.control."""
FIRST_SIZE, LAST_SIZE = 4096, 1 << 26
"""Sizes of buffers for variables, in bytes."""
CORE_FLAG = 0x80
"""The bit of a wait status that WCOREDUMP() tests."""


class View:
    """The handle of a callback as spank-lua uses it: writes take effect at once, and functions return Slurm's codes.

    Attributes:
        context: see slurmhooks.spank.model.Spank.
        callback: see slurmhooks.spank.model.Spank.
        args: see slurmhooks.spank.model.Spank.
    """

    __slots__ = ("_ffi", "_handle", "_lib", "_lost", "_native", "_spank", "args", "callback", "context")

    def __init__(
        self, native: Any, handle: Any, context: str, callback: str, args: Sequence[str], control_lost: bool = False
    ) -> None:
        self._native = native
        self._ffi = native.ffi
        self._lib = native.lib
        self._handle = handle
        self._spank: Spank | None = None
        self._lost = control_lost
        self.context = context
        self.callback = callback
        self.args = args

    @property
    def spank(self) -> Spank:
        """The handle for Python handlers. It is imported on use, because that takes as long as most scripts run."""
        if self._spank is None:
            from slurmhooks.spank.model import Spank

            self._spank = Spank(self._native, self._handle, self.context, self.callback, self.args)
        return self._spank

    def version(self) -> bytes:
        """Return S_SLURM_VERSION, which works in all contexts."""
        pointer = self._ffi.new("char **")
        self._lib.slurmhooks_get_item(self._handle, self._lib.S_SLURM_VERSION, pointer, self._ffi.NULL)
        return b"" if pointer[0] == self._ffi.NULL else bytes(self._ffi.string(pointer[0]))

    def strerror(self, code: int) -> str:
        """Return Slurm's message for a code."""
        text = self._lib.spank_strerror(code)
        return f"error {code}" if text == self._ffi.NULL else to_text(self._ffi.string(text))

    def number_of(self, name: str) -> int:
        """Return the number of a code; ESPANK_ERROR if this release does not have the name."""
        return int(getattr(self._lib, name, self._lib.ESPANK_ERROR))

    def environment(self) -> dict[str, str]:
        """Return S_JOB_ENV as a dict."""
        array = self._ffi.new("char ***")
        if self.context != "remote" or self._lib.slurmhooks_get_item(
            self._handle, self._lib.S_JOB_ENV, array, self._ffi.NULL
        ):
            return self.spank.job_env
        entries = strings_from_c(self._ffi, array[0])
        return {name: value for name, _, value in (entry.partition("=") for entry in entries)}

    def get(self, control: bool, name: bytes) -> tuple[int, bytes | None]:
        """Return Slurm's code, and a variable of the environment of the job or of the job control environment."""
        if control and self.context == "job_script":
            value = self._lib.getenv(CONTROL_PREFIX + name)
            missing = value == self._ffi.NULL
            return (int(self._lib.ESPANK_ENV_NOEXIST), None) if missing else (0, self._ffi.string(value))
        if control and self._lost:
            return self._no_control(), None
        function = self._lib.spank_job_control_getenv if control else self._lib.spank_getenv
        size = FIRST_SIZE
        while True:
            buffer = self._ffi.new("char[]", size)
            code = int(function(self._handle, name, buffer, size))
            if code != self._lib.ESPANK_NOSPACE or size > LAST_SIZE:
                return code, None if code else self._ffi.string(buffer)
            size *= 4

    def set(self, control: bool, name: bytes, value: bytes, overwrite: int) -> int:
        """Set a variable; return Slurm's code."""
        if control and (self._lost or self.context == "job_script"):
            return self._no_control()
        function = self._lib.spank_job_control_setenv if control else self._lib.spank_setenv
        return int(function(self._handle, name, value, overwrite))

    def unset(self, control: bool, name: bytes) -> int:
        """Unset a variable; return Slurm's code."""
        if control and (self._lost or self.context == "job_script"):
            return self._no_control()
        function = self._lib.spank_job_control_unsetenv if control else self._lib.spank_unsetenv
        return int(function(self._handle, name))

    def _no_control(self) -> int:
        # Slurm's functions for this are made for slurmstepd, and must not be called elsewhere.
        return int(self._lib.ESPANK_NOT_AVAIL)

    def getopt(self, name: bytes, has_arg: int) -> tuple[int, bytes | None]:
        """Return Slurm's code and the argument of an option that the user gave; None if it was given without one."""
        struct = self._ffi.new("struct spank_option *")
        texts = [self._ffi.new("char[]", name), self._ffi.new("char[]", b"-")]
        struct.name, struct.usage = texts
        struct.has_arg = has_arg
        argument = self._ffi.new("char **")
        code = int(self._lib.spank_option_getopt(self._handle, struct, argument))
        return code, None if code or argument[0] == self._ffi.NULL else self._ffi.string(argument[0])


class Handle:
    """The methods of the handle. They are created once for a state, and use the running callback.

    Attributes:
        view: the handle of the running callback; None if none is running.
        register: registers an option in the running callback; returns Slurm's code.
    """

    def __init__(self, state: LuaState, path: str) -> None:
        self.view: View | None = None
        self.register: Register | None = None
        self._state = state
        self._path = path
        methods: dict[str, Callable[..., object]] = {
            "remote": self._remote,
            "register_option": self._register_option,
            "get_item": self._get_item,
            "getopt": self._getopt,
        }
        for prefix, control in (("", False), ("job_control_", True)):
            methods[f"{prefix}getenv"] = self._getenv(f"{prefix}getenv", control)
            methods[f"{prefix}setenv"] = self._setenv(f"{prefix}setenv", control)
            methods[f"{prefix}unsetenv"] = self._unsetenv(f"{prefix}unsetenv", control)
        self._methods = {name.encode(): state.function(method) for name, method in methods.items()}

    def table(self) -> Any:
        """Return the handle of the running callback as a table."""
        view = self._living()
        values = {"context": view.context, "args": list(view.args), "slurm_version": view.version()}
        table = self._state.table(values)
        for name, method in self._methods.items():
            table[name] = method
        return table

    def _living(self) -> View:
        if self.view is None:
            raise LuaRaise("the spank handle is good in the callback that it was given to, and nowhere else")
        return self.view

    def _self(self, arguments: tuple[object, ...]) -> View:
        """Return the view, if the function was called as a method."""
        kind = self._state.type_of(arguments[0]) if arguments else "no value"
        if kind != "table":
            raise LuaRaise(f"Invalid argument expected table got {kind}")
        return self._living()

    def _string(self, arguments: tuple[object, ...], index: int, method: str) -> bytes:
        """Return an argument that can be converted to a string."""
        value = arguments[index] if len(arguments) > index else None
        text = as_string(self._state, value)
        if text is None:
            kind = self._state.type_of(value) if len(arguments) > index else "no value"
            raise LuaRaise(f"bad argument #{index} to '{method}' (string expected, got {kind})")
        return text

    def _failed(self, view: View, code: int | str) -> tuple[None, str]:
        return None, view.strerror(view.number_of(code) if isinstance(code, str) else code)

    def _answer(self, view: View, code: int) -> object:
        return self._failed(view, code) if code else True

    def _remote(self, *arguments: object) -> object:
        view = self._self(arguments)
        return "error" if view.context == "error" else "yes" if view.context == "remote" else "no"

    def _get_item(self, *arguments: object) -> object:
        view = self._self(arguments)
        name = to_text(as_string(self._state, arguments[1] if len(arguments) > 1 else None) or b"(null)")
        from slurmhooks.errors import SpankError
        from slurmhooks.spank.fields import ITEMS

        item = next((item for item in ITEMS if item.item == name), None)
        if item is None:
            raise LuaRaise(f"Invalid spank item {name}")
        try:
            if item.argument is not None:
                argument = as_number(self._state, arguments[2] if len(arguments) > 2 else None)
                if argument is None:
                    kind = self._state.type_of(arguments[2]) if len(arguments) > 2 else "no value"
                    raise LuaRaise(f"bad argument #2 to 'get_item' (number expected, got {kind})")
                if not 0 <= argument < 1 << 32:
                    return self._failed(view, "ESPANK_NOEXIST")
                return getattr(view.spank, item.name)(int(argument))
            value: Any = view.environment() if name == "S_JOB_ENV" else getattr(view.spank, item.name)
        except SpankError as error:
            return self._failed(view, error.code)
        if isinstance(value, ExitStatus):
            core = None if value.signal is None else value.raw & CORE_FLAG
            return value.raw, value.exit_code, value.signal, core
        if name == "S_JOB_STEPID" and value >= 1 << 31:
            # Scripts compare the id of a batch step with -5.
            return value - (1 << 32)
        return value

    def _getenv(self, method: str, control: bool) -> Callable[..., object]:
        def getenv(*arguments: object) -> object:
            view = self._self(arguments)
            name = self._string(arguments, 1, method)
            code, value = view.get(control, name)
            return self._failed(view, code) if code else value

        return getenv

    def _setenv(self, method: str, control: bool) -> Callable[..., object]:
        def setenv(*arguments: object) -> object:
            view = self._self(arguments)
            name = self._string(arguments, 1, method)
            value = self._string(arguments, 2, method)
            overwrite = flag(self._state, arguments[3] if len(arguments) > 3 else None)
            return self._answer(view, view.set(control, name, value, overwrite))

        return setenv

    def _unsetenv(self, method: str, control: bool) -> Callable[..., object]:
        def unsetenv(*arguments: object) -> object:
            view = self._self(arguments)
            return self._answer(view, view.unset(control, self._string(arguments, 1, method)))

        return unsetenv

    def _table(self, arguments: tuple[object, ...], function: str) -> LuaOption:
        table = arguments[1] if len(arguments) > 1 else None
        if self._state.type_of(table) != "table":
            raise LuaRaise(f"Expected table argument to {function}")
        from slurmhooks.lua import spank_options

        return spank_options.read(self._state, self._path, table)

    def _register_option(self, *arguments: object) -> object:
        view = self._self(arguments)
        option = self._table(arguments, "spank_option_register")
        assert self.register is not None
        return self._answer(view, self.register(option))

    def _getopt(self, *arguments: object) -> object:
        view = self._self(arguments)
        option = self._table(arguments, "spank_option_getopt")
        code, argument = view.getopt(to_bytes(option.name), option.has_arg)
        if code == view.number_of("ESPANK_ERROR"):
            return None, "Option unused"
        if code:
            return self._failed(view, code)
        if option.has_arg == 2 and argument in (b"", b"(null)"):
            argument = None
        return True if argument is None else argument


def install(state: LuaState) -> None:
    """Define the global table SPANK, and an os.exit that ends this process at once.

    exit() of C would run Slurm's exit handlers, including callbacks of this plugin, in the middle of a callback.
    """

    def message(*arguments: object) -> object:
        level = whole(number(state, arguments[0] if arguments else None)) + 1  # scripts count from -1
        text = as_string(state, arguments[1] if len(arguments) > 1 else None)
        if text is None:
            log.plain(ERROR, "spank/lua: SPANK._log_msg: the message is not a string")
        elif level == USER:
            log.user(to_text(text))
        elif ERROR <= level < USER:
            log.plain(level, to_text(text), own=True)
        return -1 if level == ERROR else ()

    def leave(code: object = None, *_: object) -> None:
        library.flush()
        posix._exit(1 if code is False else 0 if code is None or code is True else whole(number(state, code)) & 0xFF)

    spank = state.table({"SUCCESS": 0, "FAILURE": -1})
    spank[b"_log_msg"] = state.function(message)
    for level, name in enumerate(LEVELS, -1):
        # The name of the chunk is in messages about an invalid format, as in spank-lua.
        source = f"SPANK._log_msg ({level}, string.format({state.unpack}({{...}})))"
        spank[f"log_{name}".encode()] = state.compile(source if name == "user" else own_lines(source), source)
    state.globals[b"SPANK"] = spank
    state.globals[b"os"][b"exit"] = state.function(leave)
