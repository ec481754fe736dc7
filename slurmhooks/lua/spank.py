# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs scripts for spank-lua as handlers. A script has one Lua state for all callbacks of a process.

A line of plugstack.conf runs its Python handlers first, then its scripts; as in spank-lua, the last match of the GLOB
runs first.
"""

from __future__ import annotations

from slurmhooks.errors import LoadError
from slurmhooks.files import paths
from slurmhooks.handlers import deadline, loader
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.hooks.points import HOOKS, POINTS
from slurmhooks.log import ERROR, INFO, VERBOSE, log
from slurmhooks.lua import spank_handle
from slurmhooks.lua.conversions import returned
from slurmhooks.lua.library import NoLuaError
from slurmhooks.lua.runtime import LuaRaise, LuaState, ScriptError, read_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from slurmhooks.handlers.loader import Source
    from slurmhooks.hooks.option import Option
    from slurmhooks.lua.library import Lua
    from slurmhooks.lua.spank_handle import Register, View
    from slurmhooks.lua.spank_options import LuaOption

PREFIX = "slurm_spank_"
SLURMD_INIT = "slurmd_init"
"""Since 20.02 Slurm calls init instead, but scripts still define it."""
CALLBACKS = (*POINTS["spank"].functions, SLURMD_INIT)
LONGEST_FIRST = sorted(CALLBACKS, key=len, reverse=True)


class Script:
    """A script that has been loaded.

    ``names`` are those of the callbacks that it defines, or may define later because they appear in its source;
    ``options`` are those of its table ``spank_options``.
    """

    def __init__(self, path: str, lua: Lua | str | None, fatal: bool) -> None:
        """Run the top level of a script; ``fatal``: an error fails the callback (``failonerror``).

        Raises:
            ScriptError: it cannot be loaded.
            NoLuaError: this Lua is not installed.
        """
        self.path = path
        self.fatal = fatal
        self._state = LuaState(lua)
        spank_handle.install(self._state)
        self._handle = spank_handle.Handle(self._state, path)
        content = read_script(path)
        self.names = frozenset(_names_in(content))
        self._state.call(self._state.load_script(path, content))
        self.names |= frozenset(name for name in CALLBACKS if self.defines(name))
        self.options: list[LuaOption] = []

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return _base(self.path)

    def read_options(self) -> None:
        """Read ``spank_options``.

        Raises:
            LuaRaise: an entry is incomplete or invalid.
        """
        from slurmhooks.lua import spank_options

        self.options = spank_options.options_of(self._state, self.path)

    def defines(self, name: str) -> bool:
        """Tell whether the script defines a callback at present."""
        return self._function(name) is not None

    def line_of(self, name: str) -> int:
        """Return the line on which a callback is defined; 0 if it is not defined."""
        function = self._function(name)
        if self._state.type_of(function) != "function":
            return 0
        return self._state.line_of(function)

    def run(self, name: str, view: View, register: Register) -> int:
        """Run a callback, named without ``slurm_spank_``; return 0, or -1 if it fails."""
        function = self._function(name)
        if function is None:
            return 0
        self._handle.view, self._handle.register = view, register
        try:
            if self._state.type_of(function) != "function":
                raise ScriptError(f"attempt to call a {self._state.type_of(function)} value", [])
            code = returned(self._state, self._state.call(function, self._handle.table()))
        except ScriptError as error:
            log.plain(ERROR, f"spank/lua: {PREFIX}{name}: {error.text}")
            code = -1 if self.fatal else 0
        finally:
            self._handle.view = self._handle.register = None
        return -1 if code < 0 else 0

    def _function(self, name: str) -> Any:
        return self._state.globals[(PREFIX + name).encode()]


class LuaHandler(Handler):
    """A callback of a script."""

    __slots__ = ("script",)

    scripted = True

    def __init__(self, script: Script, name: str, contexts: tuple[str, ...]) -> None:
        """Represent a callback, named without ``slurm_spank_``, in the contexts in which it runs."""
        label = f"{script.name}:{PREFIX}{name}"
        spec, lenient = HOOKS[f"spank.{name}"], not script.fatal
        super().__init__(
            script.run, ("spank",), spec, label=label, path=script.path, line=0, lenient=lenient, contexts=contexts
        )
        self.script = script

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.script.line_of(self.spec.name.removeprefix('spank.'))}"


def extend(
    registry: Registry,
    sources: Sequence[Source],
    fatal: bool,
    lua: Lua | str | None,
    disabled: Callable[[str], None] | None = None,
) -> Registry:
    """Return the handlers and options of a line of plugstack.conf, including those of its scripts.

    The scripts are in the order of the GLOB. ``fatal``: one that cannot be loaded is an error (``failonerror``);
    otherwise it is disabled, and ``disabled`` called with a message; by default that is logged.

    Raises:
        LoadError: a script cannot be loaded and ``fatal`` is set, or Lua is not installed.
    """
    scripts = list(_load(sources, fatal, lua, disabled))
    options = [option for script in scripts for option in script.options]
    return _combined(registry, scripts, options, disabled is None)


def extend_known(
    registry: Registry, sources: Sequence[Source], fatal: bool, lua: Lua | str | None
) -> tuple[Registry, Callable[[], Registry]]:
    """As :func:`extend`, but without options, for a line whose options C has registered from the manifest.

    Few launches need the options themselves. Arguments and errors are those of :func:`extend`.

    Returns:
        the handlers, and a function that returns handlers and options.
    """
    scripts = list(_load(sources, fatal, lua, None, False))

    def complete() -> Registry:
        options: list[LuaOption] = []
        for script in scripts:
            try:
                script.read_options()
            except LuaRaise as error:
                log.plain(ERROR, f"spank/lua: {script.path}: load_spank_options: {error}")
            options += script.options
        return _combined(registry, scripts, options, False)

    return _combined(registry, scripts, [], True), complete


def _combined(registry: Registry, scripts: list[Script], options: Sequence[Option], log_count: bool) -> Registry:
    if log_count:
        log.plain(VERBOSE, f"spank/lua: Loaded {len(scripts)} plugins in this context")
    handlers = [handler for script in scripts for handler in handlers_of(script)]
    return Registry(
        [*registry.all_handlers(), *handlers],
        [*registry.options, *options],
        registry.contents,
        with_options=registry.with_options,
    )


def handlers_of(script: Script) -> list[LuaHandler]:
    """Return handlers for the callbacks that a script defines, or may define later."""
    in_slurmd = SLURMD_INIT in script.names or "slurmd_exit" in script.names
    handlers = []
    for name in script.names:
        if name == SLURMD_INIT:
            if "init" not in script.names:
                handlers.append(LuaHandler(script, "init", ("slurmd",)))
            continue
        contexts = HOOKS[f"spank.{name}"].contexts
        if name == "init" and not in_slurmd:
            contexts = tuple(context for context in contexts if context != "slurmd")
        handlers.append(LuaHandler(script, name, contexts))
    return handlers


def run(handlers: Iterable[Handler], view: View, register: Register, ends: int = deadline.PROCESS) -> int:
    """Run all scripts for a callback; return 0, or -1 if one fails.

    ``register`` registers an option with Slurm, and returns Slurm's code. For ``ends`` see deadline.run.
    """
    code = 0
    for handler in handlers:
        assert isinstance(handler, LuaHandler)
        with deadline.of(handler, ends):
            code = min(code, handler.script.run(view.callback, view, register))
        if view.callback == "init" and view.context == "slurmd":
            code = min(code, handler.script.run(SLURMD_INIT, view, register))
    return code


def _load(
    sources: Sequence[Source],
    fatal: bool,
    lua: Lua | str | None,
    disabled: Callable[[str], None] | None,
    with_options: bool = True,
) -> Iterable[Script]:
    for source in reversed(sources):
        path = source.path
        assert path is not None
        if not paths.exists(path):
            log.plain(VERBOSE, f"spank/lua: No files found in {path}")
            continue
        if loader.begun is not None:
            loader.begun(source.name)
        try:
            script = Script(path, lua, fatal)
            try:
                if with_options:
                    script.read_options()
            except LuaRaise as error:
                raise ScriptError(f"{path}: load_spank_options: {error}", []) from None
        except NoLuaError as error:
            raise LoadError([f"{path}: {error}"]) from None
        except ScriptError as error:
            if fatal:
                log.plain(ERROR, f"spank/lua: Fatal: {error.text}")
                raise LoadError(["\n    ".join([error.text, *error.traceback])]) from None
            text = f"spank/lua: Disabling {_base(path)}: {error.text}"
            if disabled is None:
                log.plain(INFO, text)
            else:
                disabled("\n    ".join([text, *error.traceback]))
            continue
        yield script


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _names_in(content: bytes) -> list[str]:
    """Return the callbacks that appear in a script, not counting lines that are comments."""
    rows = content.split(b"\n")
    text = b"\n".join(row for row in rows if not row.lstrip().startswith(b"--"))
    names = []
    for name in LONGEST_FIRST:
        full = (PREFIX + name).encode()
        if full in text:
            names.append(name)
            text = text.replace(full, b"")
    return names
