# SPDX-License-Identifier: GPL-2.0-or-later
"""A site's cli_filter.lua as handlers, run as Slurm's own cli_filter/lua runs it.

One Lua state serves all calls of a command. An error in a function is logged, and the command continues, as in Slurm.
"""

from __future__ import annotations

from slurmhooks.errors import LoadError, Reject
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import COMMANDS, HOOKS
from slurmhooks.log import ERROR, INFO, log
from slurmhooks.lua import slurm_table
from slurmhooks.lua.conversions import as_number, as_string, number, whole
from slurmhooks.lua.library import WORDS, Lua, NoLuaError
from slurmhooks.lua.runtime import LuaRaise, LuaState, ScriptError, read_script, to_bytes, to_text
from slurmhooks.site import sources as site
from slurmhooks.values import NO_VAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmhooks.cli_filter.model import Options

PLUGIN = "cli_filter/lua"
CALLS = {
    "setup_defaults": ("options",),
    "pre_submit": ("options", "offset"),
    "post_submit": ("offset", "job_id", "step_id"),
}
"""The functions that a script must have, without ``slurm_cli_``, with the arguments that Slurm gives them."""
NOT_IN_JSON = ("SLURM_", "SPANK_", "_SLURM_SPANK_OPTION_")
"""Prefixes of the variables that json_env() leaves out."""
NO_JOB_ENV = "options.spank_job_env: Slurm tells it only to its own plugins"


def source(path: str, lua: str | None) -> loader.Source:
    """Return a script for the loader."""
    return loader.Source(path=path, read=lambda name: Script(name, lua, (0, 0)).handlers())


def load(path: str, words: Sequence[str], release: tuple[int, int]) -> list[Handler]:
    """Return the handlers of a script, in a command.

    ``words`` are the manifest's for the Lua library; empty if it has none.

    Raises:
        LoadError: it cannot be loaded.
    """
    lua = Lua(*words) if len(words) == WORDS else site.lua_version()
    return Script(path, lua, release).handlers()


class Constants:
    """The constants of the table ``slurm``, created when a script first uses one, because few scripts do."""

    def __init__(self, release: tuple[int, int]) -> None:
        self._release = release
        self._found: dict[bytes, object] | None = None

    def __getitem__(self, name: object) -> object:
        """Return a constant as a Lua value; None if it does not exist."""
        if self._found is None:
            from slurmhooks.fields.rows import NEWEST
            from slurmhooks.lua.job_constants import table_constants

            constants = table_constants(self._release if self._release > (0, 0) else NEWEST)
            self._found = {
                to_bytes(key): to_bytes(value) if isinstance(value, str) else value for key, value in constants.items()
            }
        return self._found.get(name) if isinstance(name, bytes) else None


class View:
    """``options`` for Lua: the texts that Slurm's own functions return, for any option."""

    def __init__(self, script: Script, options: Options) -> None:
        self._script = script
        self._state = script.state
        self._options = options

    def __getitem__(self, key: object) -> Any:
        """Return an option as a Lua value; None for nil."""
        raw = as_string(self._state, key)
        if raw is None:
            return None
        if raw == b"argv":
            return self._state.value(self._script.argv_of(self._options))
        if raw == b"spank":
            plugins = self._options.raw_spank()
            return self._state.value(
                {
                    plugin: {name: value or "set" for name, value in values.items() if value is not None}
                    for plugin, values in plugins.items()
                }
            )
        if raw == b"type":
            return to_bytes(self._options.command)
        if raw == b"spank_job_env":
            log.plain(ERROR, NO_JOB_ENV)
            return self._state.value([])
        return self._state.value(self._options.raw_get(to_text(raw)))

    def write(self, key: object, value: object) -> bytes | None:
        """Set an option as Slurm's own plugin does: a value that Slurm refuses is not an error."""
        name = as_string(self._state, key)
        text = as_string(self._state, value)
        if name is None or text is None:
            kind = self._state.type_of(key if name is None else value)
            return to_bytes(f"bad argument #{-2 if name is None else -1} to '?' (string expected, got {kind})")
        self._options.raw_set(to_text(name), to_text(text))
        return None


class Script:
    """One cli_filter.lua, loaded into a state of Lua."""

    def __init__(
        self,
        path: str,
        lua: Lua | str | None,
        release: tuple[int, int],
        prepare: Callable[[LuaState], None] | None = None,
    ) -> None:
        """Load it.

        ``lua``: see runtime.State. Without Slurm, ``release`` is (0, 0). ``prepare`` is called with the Lua state
        before the script runs.

        Raises:
            LoadError: it cannot be loaded.
        """
        self.path = path
        self._release = release
        self._options: Options | None = None
        self._stored: dict[int, bytes] = {}
        try:
            self.state = state = LuaState(lua)
            table = slurm_table.install(state, {}, None, release)
            for name, function in (
                ("json_cli_options", self._json_options),
                ("json_env", self._json_env),
                ("cli_store", self._store),
                ("cli_retrieve", self._retrieve),
            ):
                table[name.encode()] = state.function(function)
            if release >= (26, 5):
                slurm_table.install_conversions(state, table)
            set_index = "local t, index = ...; setmetatable(t, {__index = index})"
            state.call(state.compile(set_index, "=slurmhooks"), table, state.items(Constants(release)))
            if prepare is not None:
                prepare(state)
            state.call(state.load_script(path, read_script(path)))
        except (ScriptError, NoLuaError) as error:
            trace = error.traceback if isinstance(error, ScriptError) else []
            raise LoadError(["\n    ".join([f"{path}: {error}", *trace])]) from None
        self._lines = {name: self._line_of(name) for name in CALLS}

    def _line_of(self, name: str) -> int:
        function = self._function(name)
        if self.state.type_of(function) != "function":
            raise LoadError([f"{self.path}: missing required function slurm_cli_{name}"])
        return self.state.line_of(function)

    def _function(self, name: str) -> Any:
        return self.state.globals[f"slurm_cli_{name}".encode()]

    def argv_of(self, options: Options) -> list[str]:
        """Return the words after the options; in 22.05 Slurm's own plugin has none in salloc."""
        return [] if (0, 0) < self._release < (23, 2) and options.command == "salloc" else list(options.raw_argv())

    def handlers(self) -> list[Handler]:
        """Return the script's functions as handlers."""
        return [
            Handler(
                getattr(self, name),
                names,
                HOOKS[f"cli_filter.{name}"],
                label=f"{self.path.rpartition('/')[2]}:slurm_cli_{name}",
                path=self.path,
                line=self._lines[name],
                contexts=COMMANDS,
            )
            for name, names in CALLS.items()
        ]

    def setup_defaults(self, options: Options) -> None:
        """Run the script's function; for the dispatcher."""
        self._filter("setup_defaults", options)

    def pre_submit(self, options: Options, offset: int) -> None:
        """Run the script's function; for the dispatcher."""
        self._filter("pre_submit", options, float(offset))

    def post_submit(self, offset: int, job_id: int | None, step_id: int | None) -> None:
        """Run the script's function; for the dispatcher."""
        ids = (NO_VAL[32] if given is None else given for given in (job_id, step_id))
        self._call("post_submit", float(offset), *map(float, ids))

    def _filter(self, name: str, options: Options, *arguments: float) -> None:
        options.commit()  # what earlier handlers have written: all of them have passed
        view = View(self, options)
        self._options = options
        try:
            code = self._call(name, self.state.proxy(view, view.write), *arguments)
        finally:
            self._options = None
        if code:
            raise Reject(code=code)

    def _call(self, name: str, *arguments: object) -> int:
        """Return the number that a function returns, 0 for anything else and for an error."""
        try:
            result = self.state.call(self._function(name), *arguments)
        except ScriptError as error:
            log.plain(ERROR, f"cli_filter_p_{name}/lua: {self.path}: {error.text}")
            for line in error.traceback:
                log.verbose("%s", line)
            return 0
        first = result[0] if isinstance(result, tuple) and result else result
        raw = as_number(self.state, first)
        if raw is None:
            function = f"cli_filter_p_{name}"
            log.plain(INFO, f"{PLUGIN}: {function}: {function}/lua: {self.path}: non-numeric return code")
            return 0
        return whole(raw)

    def _json_options(self, *arguments: object) -> object:
        if self._options is None or not arguments or self.state.type_of(arguments[-1]) != "table":
            log.plain(ERROR, "json_cli_options requires one argument - options structure")
            return ()
        options: dict[str, object] = dict(self._options.given)
        for values in self._options.raw_spank().values():
            options.update(
                {f"spank:{name}": value or "set" for name, value in values.items() if value not in (None, "unset")}
            )
        options["argv"] = self.argv_of(self._options)
        return _json(options)

    def _json_env(self, *_: object) -> object:
        from os import environ

        return _json({name: value for name, value in environ.items() if not name.startswith(NOT_IN_JSON)})

    def _store(self, *arguments: object) -> object:
        key = whole(number(self.state, arguments[-2] if len(arguments) > 1 else None))
        raw = as_string(self.state, arguments[-1] if arguments else None)
        if raw is None:
            kind = self.state.type_of(arguments[-1] if arguments else None)
            raise LuaRaise(f"bad argument #-1 to 'cli_store' (string expected, got {kind})")
        self._stored[key] = raw
        return ()

    def _retrieve(self, *arguments: object) -> object:
        return self._stored.get(whole(number(self.state, arguments[-1] if arguments else None)))


def _json(value: object) -> str:
    """Return JSON as Slurm's serializer writes it."""
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
