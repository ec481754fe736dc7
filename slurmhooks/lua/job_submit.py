# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a site's job_submit.lua as Slurm's own job_submit/lua does; its two functions are handlers.

A script has one Lua state. Each worker has its own copy, made after the script was loaded, so globals persist between
calls until the worker ends. The writes of a script are staged like those of other handlers, which can read them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import LoadError, Reject, SlurmhooksError
from slurmhooks.fields.rows import NEWEST, Release, release_of
from slurmhooks.files import home
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.job_submit import slurmctld
from slurmhooks.log import ERROR, INFO, log
from slurmhooks.lua import job_fields, library, needs, slurm_table
from slurmhooks.lua.conversions import returned, whole
from slurmhooks.lua.job_constants import table_constants
from slurmhooks.lua.job_fields import Reader
from slurmhooks.lua.job_request import PLUGIN, Lookup, LuaRequest
from slurmhooks.lua.library import NoLuaError
from slurmhooks.lua.runtime import LuaRaise, LuaState, ScriptError, read_script, to_bytes, to_text
from slurmhooks.slurmctld import NEEDS_SOURCES as NEEDS
from slurmhooks.values import text_to_c
from slurmhooks.wire.tables import installed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slurmhooks.config.model import Config

GLUE = os.path.join(os.path.dirname(__file__), "job_submit.lua")
FUNCTIONS = ("slurm_job_submit", "slurm_job_modify")

RUNTIME_ERROR = "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR"


def sources(config: Config, path: Path) -> list[loader.Source]:
    """Return the script that the configuration names, if any, as a list for the loader."""
    if config.job_submit.lua is None:
        return []
    options = Options(config.lua.version, config.job_submit.lua_on_error, config.job_submit.lua_order)
    script = home.placed(config.job_submit.lua, str(path.parent))
    return [loader.Source(path=script, read=lambda name: load(name, options))]


class Options:
    """The settings for a script in slurmhooks.toml.

    Attributes:
        version: version of Lua; None for that of Slurm's own plugins.
        on_error: ``accept`` or ``reject``; None for the behaviour of the release of Slurm.
        order: as of other handlers.
    """

    def __init__(self, version: str | None = None, on_error: str | None = None, order: int = 50) -> None:
        self.version = version
        self.on_error = on_error
        self.order = order


def load(
    path: str,
    options: Options | None = None,
    release: Release | None = None,
    *,
    prepare: Callable[[LuaState], None] | None = None,
) -> list[Handler]:
    """Return the two handlers of a script.

    ``release`` is by default that of the process. ``prepare`` is called with the Lua state before the script runs.

    Raises:
        LoadError: it cannot be loaded.
    """
    try:
        return Script(path, options or Options(), release or running_release(), prepare).handlers()
    except (ScriptError, NoLuaError) as error:
        text = str(error)
        log.plain(ERROR, f"{PLUGIN}: {text}")
        trace = error.traceback if isinstance(error, ScriptError) else []
        raise LoadError(["\n    ".join([text, *trace])]) from None


def running_release() -> Release:
    """Return the release of Slurm that this worker serves; the newest known one in other processes."""
    tables = installed()
    return NEWEST if tables is None else release_of(tables.release)


def lacks_records() -> bool:
    """Tell whether this worker serves a plugin that was built without Slurm's sources."""
    tables = installed()
    return tables is not None and "record" not in tables


class Finder:
    """Finds records of slurmctld for Lua."""

    def __init__(self, script: Script, kind: str, table: str) -> None:
        self._script = script
        self._table = table
        self._getters = job_fields.getters(kind, script.release)

    def __call__(self, *name: Any) -> Any:
        """Return the reader of the record with a name; without a name, two tables with all names and readers."""
        table = self._script.table(self._table)
        if not name:
            items = list(table.items())
            array = self._script.state.array
            return array([to_bytes(str(key)) for key, _ in items]), array([self._reader(view) for _, view in items])
        if not isinstance(name[0], bytes):
            return None
        view = table.get(to_text(name[0]))
        return None if view is None else self._reader(view)

    def _reader(self, view: Any) -> Any:
        return self._script.state.items(Reader(self._getters, view, self._script.state))


class NotThereError(SlurmhooksError):
    """A script used something that this build cannot provide: the request is refused, regardless of ``on_error``."""


def _no_record(name: object) -> None:
    """Stand for the reader of a record that this build cannot read."""
    raise NotThereError(f"job_rec: {NEEDS}")


class Script:
    """A job_submit.lua that has been loaded.

    The job_submit/lua of ``release`` is imitated.
    """

    def __init__(
        self, path: str, options: Options, release: Release, prepare: Callable[[LuaState], None] | None = None
    ) -> None:
        """Load a script; see :func:`load`.

        Raises:
            ScriptError: it cannot be loaded; the text is that which Slurm logs.
            NoLuaError: the version of Lua is not installed.
        """
        self.path = path
        self.release = release
        self._options = options
        self._messages: list[str] = []
        self._tables: tuple[Any, ...] = ()
        self.state = state = LuaState(options.version)
        try:
            content = read_script(path)
            chunk = state.load_script(path, content)
        except ScriptError as error:
            raise ScriptError(f"{path}: {error.text}", error.traceback) from None
        table = slurm_table.install(state, table_constants(release), self._messages.append, release)
        if release >= (24, 11):
            table[b"get_qos_priority"] = state.function(self._qos_priority)
        if release >= (26, 5):
            slurm_table.install_conversions(state, table)
        self._request = request = LuaRequest(state, release)
        with open(GLUE, encoding="utf-8") as file:
            glue = state.compile(file.read(), "=slurmhooks")
        self._submit, self._modify, request.environment = state.call(
            glue,
            *(
                state.noting(Finder(self, kind, name))
                for kind, name in (("part", "partitions"), ("job_rec", "jobs"), ("reservation", "reservations"))
            ),
            request.write,
            request.write_variable,
            state.items(Lookup(request.read, state.note)),
            state.items(Lookup(request.read_variable, state.note)),
        )
        self._record_getters = job_fields.getters("job_rec", release)
        if prepare is not None:
            prepare(state)
        try:
            self._lines = self._run(chunk)
        finally:
            library.flush()  # before workers are forked
        if lacks_records():
            self._warn(content)

    def _warn(self, content: bytes) -> None:
        """Log what the script uses but this build cannot provide."""
        for what, line in needs.sources(content).items():
            log.error("%s:%d: the script uses %s, and calls that do are refused: %s", self.path, line, what, NEEDS)

    def _run(self, chunk: Any) -> dict[str, int]:
        """Run the top level of the script; return the lines of its functions."""
        try:
            result = self.state.call(chunk)
        except ScriptError as error:
            if self.release >= (25, 11):
                self._log_pcall("slurm_lua_loadscript", 0, error)
            raise ScriptError(f"{self.path}: {error.text}", error.traceback) from None
        code = returned(self.state, result)
        if code:
            raise ScriptError(f"{self.path}: returned {code} on load", [])
        functions = {name: self.state.globals[name.encode()] for name in FUNCTIONS}
        missing = [name for name, value in functions.items() if self.state.type_of(value) != "function"]
        for name in missing:
            log.plain(ERROR, f"{PLUGIN}: {self.path}: missing required function {name}")
        if missing:
            raise ScriptError(f"{self.path}: required function(s) not present", [])
        return {name: self.state.line_of(value) for name, value in functions.items()}

    def handlers(self) -> list[Handler]:
        """Return the two functions of the script as handlers."""
        handlers = []
        tables = () if lacks_records() else TABLES
        modify: tuple[Callable[..., None], tuple[str, ...]]
        modify = self.job_modify, ("job", "record", "modify_uid", *tables)
        if lacks_records():
            modify = self._modify_without_record, ("job", "modify_uid")
        for hook, function, names in (
            ("job_submit", self.job_submit, ("job", "submit_uid", *tables)),
            ("job_modify", *modify),
        ):
            name = f"slurm_{hook}"
            label = f"{os.path.basename(self.path)}:{name}"
            line, order = self._lines[name], self._options.order
            handlers.append(Handler(function, names, HOOKS[hook], label=label, path=self.path, line=line, order=order))
        return handlers

    def job_submit(self, job: Any, submit_uid: int, *tables: Any) -> None:
        """Run slurm_job_submit(); called by dispatch."""
        self._call("job_submit", job, tables, self._submit, float(submit_uid))

    def job_modify(self, job: Any, record: Any, modify_uid: int, *tables: Any) -> None:
        """Run slurm_job_modify(); called by dispatch."""
        reader = self.state.items(Reader(self._record_getters, record, self.state))
        self._call("job_modify", job, tables, self._modify, reader, float(modify_uid))

    def _modify_without_record(self, job: Any, modify_uid: int) -> None:
        nothing = self.state.items(Lookup(_no_record, self.state.note))
        self._call("job_modify", job, (), self._modify, nothing, float(modify_uid))

    def _call(self, hook: str, job: Any, tables: tuple[Any, ...], function: Any, *arguments: Any) -> None:
        self._tables = tables
        self.state.fault = None  # a finalizer of the script may have failed since the last call
        try:
            self._request.begin(job)
            try:
                result = self.state.call(function, *arguments)
            finally:
                self._request.end()
            if result != 0 or result is False or self._messages:
                self._answer(hook, result)
        except ScriptError as error:
            self._failed(hook, error)
        finally:
            library.flush()
            # In any case, because the next call may be for another user.
            if self._messages:
                self._show_messages(hook)

    def _answer(self, hook: str, result: Any) -> None:
        """Handle the result of the function, and its messages to the user."""
        if result is False:
            log.plain(INFO, f"{PLUGIN}: {hook}: {hook}/lua: {self.path}: non-numeric return code")
            result = 0
        if self._messages:
            self._show_messages(hook)
        code = whole(result)
        if code:
            raise Reject(code=code)

    def _show_messages(self, hook: str) -> None:
        messages = list(self._messages)
        self._messages.clear()
        if hook == "job_modify" and self.release < (23, 2):
            text = "\n".join(messages)
            log.plain(ERROR, f'Use of log.user() in job_modify is not supported. Message discarded: ("{text}")')
            return
        for text in messages:
            log.user(text)

    def _failed(self, hook: str, error: ScriptError) -> None:
        """Handle an error in a function as the release of Slurm does, or as the configuration says."""
        if self.release >= (26, 5):
            self._log_pcall(hook, 3 if hook == "job_submit" else 4, error)
        log.plain(ERROR, f"{hook}/lua: {self.path}: {error.text}")
        for line in error.traceback:
            log.info("%s", line)
        rejects = self.release >= (26, 5)
        if self._options.on_error is not None:
            rejects = self._options.on_error == "reject"
        if not rejects:
            return
        self._messages.clear()  # as Slurm does
        raise Reject(error.text, code=RUNTIME_ERROR if self.release >= (26, 5) else None)

    def _log_pcall(self, function: str, arguments: int, error: ScriptError) -> None:
        """Log the line of slurm_lua_pcall(), which has words for errors without a text."""
        if error.text == "(null)":
            error.text = "Lua function execution failed due to runtime error"
        call = f"lua_pcall({hex(id(self.state))}, {arguments}, 1, 0)"
        log.plain(ERROR, f"{function}: {call}=LUA_ERRRUN(Runtime error)={error.text}")

    def table(self, name: str) -> Any:
        """Return a table of slurmctld: one of :data:`TABLES`."""
        self._request.current(name)
        if lacks_records():
            raise NotThereError(f"{name}: {NEEDS}")
        return self._tables[TABLES.index(name)]

    def _qos_priority(self, *arguments: Any) -> object:
        name = slurm_table.c_text(self.state, arguments[-1] if arguments else None)
        try:
            text_to_c("name", name)
            priority = slurmctld.qos_priority_in_lua(name)
        except NotImplementedError as error:
            raise LuaRaise(str(error)) from None
        if priority is None:
            log.plain(ERROR, f"Invalid QOS name: {name}")
            return ()
        return priority


TABLES = ("partitions", "jobs", "reservations")
