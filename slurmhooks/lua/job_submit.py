# SPDX-License-Identifier: GPL-2.0-or-later
"""A site's job_submit.lua as handlers, run as Slurm's own job_submit/lua runs it.

One state a script; it lives until the script changes, so its globals last from call to call. What it writes to the
request waits until all handlers have passed, as theirs does, and they read what it wrote.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from slurmhooks import loader, site
from slurmhooks.errors import LoadError, Reject, SlurmhooksError, StaleHandleError
from slurmhooks.hook import HOOKS
from slurmhooks.job_submit import constants, slurmctld
from slurmhooks.job_submit.model import NEEDS_SOURCES as NEEDS
from slurmhooks.job_submit.rows import Computed, Text, _member
from slurmhooks.job_submit.users import owner_of
from slurmhooks.log import ERROR, INFO, log
from slurmhooks.lua import job_fields, slurm_table, source
from slurmhooks.lua.job_fields import Reader, Release
from slurmhooks.lua.library import NoLuaError
from slurmhooks.lua.runtime import LuaRaise, ScriptError, State, read_script, to_bytes, to_text
from slurmhooks.registry import Handler
from slurmhooks.values import text_to_c
from slurmhooks.wire.tables import installed

native: Any = None
"""The compiled views; None outside of slurmctld, where a test hands records over."""
with suppress(ModuleNotFoundError):
    from slurmhooks.job_submit import native

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slurmhooks.config import Config

GLUE = os.path.join(os.path.dirname(__file__), "job_submit.lua")
PLUGIN = "job_submit/lua"
FUNCTIONS = ("slurm_job_submit", "slurm_job_modify")

NUMBERS = (
    "ALLOC_SID_ADMIN_HOLD ALLOC_SID_USER_HOLD INFINITE INFINITE64 MAIL_INVALID_DEPEND MAIL_JOB_BEGIN MAIL_JOB_END"
    " MAIL_JOB_FAIL MAIL_JOB_REQUEUE MAIL_JOB_TIME100 MAIL_JOB_TIME80 MAIL_JOB_TIME50 MAIL_JOB_STAGE_OUT MEM_PER_CPU"
    " NICE_OFFSET JOB_SHARED_NONE JOB_SHARED_OK JOB_SHARED_USER JOB_SHARED_MCS NO_VAL64 NO_VAL NO_VAL16 NO_VAL8"
    " SHARED_FORCE"
)
FLAGS: dict[str, Release] = {
    **dict.fromkeys(
        ("GRES_DISABLE_BIND", "GRES_ENFORCE_BIND", "KILL_INV_DEP", "NO_KILL_INV_DEP", "SPREAD_JOB", "USE_MIN_NODES"),
        (22, 5),
    ),
    **dict.fromkeys(("GRES_ALLOW_TASK_SHARING", "GRES_MULT_TASKS_PER_SHARING", "GRES_ONE_TASK_PER_SHARING"), (23, 11)),
    "STEPMGR_ENABLED": (24, 5),
    **dict.fromkeys(("SPREAD_SEGMENTS", "CONSOLIDATE_SEGMENTS", "EXPEDITED_REQUEUE"), (25, 11)),
}
OLD_ERRORS = (
    "ESLURM_ACCESS_DENIED ESLURM_ACCOUNTING_POLICY ESLURM_INVALID_ACCOUNT ESLURM_INVALID_LICENSES"
    " ESLURM_INVALID_NODE_COUNT ESLURM_INVALID_TIME_LIMIT ESLURM_JOB_MISSING_SIZE_SPECIFICATION"
    " ESLURM_MISSING_TIME_LIMIT"
)
"""What scripts had before 23.02 gave them all error codes."""

NO_TEXT = (
    "ESLURMD_KILL_JOB_ALREADY_COMPLETE ESLURMD_TOO_MANY_RPCS ESLURM_INVALID_HET_JOB_AND_ARRAY"
    " ESLURM_INVALID_HET_JOB_COMP_NON_NUMERIC ESLURM_TOPO_ERROR_START ESLURM_TOPO_ERROR_END"
)
"""Codes of slurm_errno.h that are missing in slurm_errno.c, whose table scripts get."""

RUNTIME_ERROR = "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR"


def sources(read: Config, path: Path) -> list[loader.Source]:
    """Return the script that the configuration names, for the loader; none if it names none.

    Args:
        read: the configuration.
        path: its file.
    """
    if read.job_submit.lua is None:
        return []
    options = Options(read.lua.version, read.job_submit.lua_on_error, read.job_submit.lua_order)
    return [loader.Source(path=os.path.join(path.parent, read.job_submit.lua), read=lambda name: load(name, options))]


class Options:
    """What slurmhooks.toml says about a script.

    Attributes:
        version: of Lua, or None for Slurm's own.
        on_error: ``accept``, ``reject``, or None for what the release of Slurm does.
        order: among the handlers.
    """

    def __init__(self, version: str | None = None, on_error: str | None = None, order: int = 50) -> None:
        """Keep what it says."""
        self.version = version
        self.on_error = on_error
        self.order = order

    def key(self) -> tuple[object, ...]:
        """Return what makes two of them the same."""
        return self.version, self.on_error, self.order


_loaded: dict[str, tuple[object, Script]] = {}
"""The scripts in force: one that did not change keeps its state when other files do."""
_failed: dict[str, object] = {}
"""The scripts that could not be loaded, as they were then."""


def load(path: str, options: Options | None = None, release: Release | None = None) -> list[Handler]:
    """Return the two handlers of a script, loaded anew only if it changed.

    Args:
        path: of the script.
        options: see the class.
        release: of Slurm; by default that of the process.

    Raises:
        LoadError: it cannot be loaded; an earlier one is still what it was.
    """
    options = options or Options()
    release = release or running_release()
    identity = (loader.identity(path), options.key(), release)
    known = _loaded.get(path)
    if known is None or known[0] != identity:
        try:
            script = Script(path, options, release)
        except (ScriptError, NoLuaError) as error:
            text = str(error)
            if _failed.get(path) != identity:  # a load that failed is tried again every second
                log.plain(ERROR, f"{PLUGIN}: {text}" + (", using previous script" if known else ""))
            _failed[path] = identity
            trace = error.traceback if isinstance(error, ScriptError) else []
            raise LoadError(["\n    ".join([text, *trace])]) from None
        _loaded[path] = (identity, script)
        _failed.pop(path, None)
    return _loaded[path][1].handlers()


def running_release() -> Release:
    """Return the release of Slurm in this process; the newest that is known where there is none."""
    tables = installed()
    if tables is not None:
        year, month, _ = tables.release.split(".")
        return int(year), int(month)
    compiled = getattr(constants, "_compiled", None)
    number = compiled.lib.SLURM_VERSION_NUMBER if compiled is not None else 26 << 16 | 5 << 8
    return number >> 16 & 0xFF, number >> 8 & 0xFF


def lacks_records() -> bool:
    """Tell whether this process serves slurmctld, but by a build without Slurm's sources."""
    if native is not None:
        return native.views is None
    tables = installed()
    return tables is not None and "record" not in tables


def table_constants(release: Release) -> dict[str, object]:
    """Return what job_submit/lua of a release puts into the table ``slurm``, but for functions."""
    found: dict[str, object] = {}
    if release >= (23, 2):
        codes = constants.ESLURM
        if not isinstance(codes, type):
            codes = {}  # type: ignore[assignment]  # outside slurmctld there are no numbers
        found.update((code.name, float(code)) for code in codes)  # type: ignore[attr-defined]
        for name in NO_TEXT.split():
            found.pop(name, None)
        found["EINPROGRESS"] = 115.0
    else:
        for name in OLD_ERRORS.split():
            code = getattr(constants, name)
            if not isinstance(code, str):
                found[name] = float(code)
    for name in NUMBERS.split():
        found[name] = float(getattr(constants, name))
    found["MAIL_JOB_TIME890"] = float(constants.MailType.MAIL_JOB_TIME90)  # so spelled in slurm_lua.c
    for name, since in FLAGS.items():
        if since <= release:
            found[name] = float(getattr(constants, name))
    found["CLUSTER_NAME"] = _cluster_name()
    return found


def _cluster_name() -> str | None:
    try:
        return slurmctld.cluster_name()
    except NotImplementedError:
        return site.cluster_name()


class Uncompiled:
    """Stands in for native/job_submit/lua.c where there is none: Python reads and writes all fields."""

    def begin(self, job: Any, uid: int) -> None:
        """Read and write this request from now on."""

    def sync(self) -> None:
        """Have the request know what the script has written."""

    def end(self) -> None:
        """Read and write none."""


class Lookup:
    """What Lua reads by index."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[Any], Any]) -> None:
        """Take the function that returns what Lua gets for a key."""
        self._read = read

    def __getitem__(self, name: Any) -> Any:
        """Return what Lua gets."""
        return self._read(name)


def record_getters(release: Release) -> dict[bytes, Callable[[Any], Any]]:
    """Return the functions that read a job that slurmctld knows."""
    found = job_fields.getters("job_rec", release)
    if native is not None and native.views is not None:
        string = native.slurmctld.ffi.string

        def user_name(view: Any) -> bytes | None:
            # Not looked up, as record.user_name is: scripts get what the record has.
            pointer = view._struct.user_name
            return bytes(string(pointer)) if pointer else None

        found[b"user_name"] = user_name
    return found


class Finder:
    """Looks records of slurmctld up for Lua; called without a name it returns names and readers of all."""

    def __init__(self, script: Script, kind: str, table: str) -> None:
        """Say which."""
        self._script = script
        self._table = table
        self._getters = (
            record_getters(script.release) if kind == "job_rec" else job_fields.getters(kind, script.release)
        )

    def __call__(self, *name: Any) -> Any:
        """Return the reader of a record, or two tables with names and readers."""
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
        return self._script.state.items(Reader(self._getters, view, self._script.state.value))


class NotThereError(SlurmhooksError):
    """A script asks for what this build cannot give it: the request is refused, whatever the script's errors do."""


class Nothing:
    """Stands for a record that this build cannot read."""

    def __getitem__(self, name: object) -> None:
        """Say so."""
        raise NotThereError(f"job_rec: {NEEDS}")


class Script:
    """One job_submit.lua, loaded.

    Attributes:
        path: the file.
        release: of Slurm, whose ways it follows.
        state: of Lua.
    """

    def __init__(self, path: str, options: Options, release: Release) -> None:
        """Load it.

        Raises:
            ScriptError: it cannot be loaded, with the text that Slurm logs.
            NoLuaError: there is no such Lua.
        """
        self.path = path
        self.release = release
        self._options = options
        self._said: list[str] = []
        self._bound: Any = None
        self._job: Any = None
        self._readers: dict[bytes, Any] = {}
        self._encoders: dict[bytes, Any] = {}
        self._computed: frozenset[str] = frozenset()
        self._tables: tuple[Any, ...] = ()
        self._opened: dict[str, Any] = {}
        self._uid = 0
        self.state = state = State(options.version)
        try:
            content = read_script(path)
            chunk = state.load_script(path, content)
        except ScriptError as error:
            raise ScriptError(f"{path}: {error.text}", error.traceback) from None
        table = slurm_table.install(state, table_constants(release), self._said.append)
        if release >= (24, 11):
            table[b"get_qos_priority"] = state.function(self._qos_priority)
        if release >= (26, 5):
            slurm_table.install_conversions(state, table)
        compiled, metamethods = self._compiled()
        partitions = self._compiled_partitions() if metamethods is not None else None
        self._begin, self._sync, self._end = compiled.begin, compiled.sync, compiled.end
        self._failure = state.failure
        with open(GLUE, encoding="utf-8") as file:
            glue = state.compile(file.read(), "=slurmhooks")
        self._submit, self._modify, self._environment = state.call(
            glue,
            *(
                state.raw_function(Finder(self, kind, name))
                for kind, name in (("part", "partitions"), ("job_rec", "jobs"), ("reservation", "reservations"))
            ),
            state.raw_function(self._write),
            state.raw_function(self._write_variable),
            state.items(Lookup(self._read)),
            state.items(Lookup(self._read_variable)),
            metamethods,
            partitions,
            state.raw_function(self._read_partition),
        )
        self._partition_getters = job_fields.getters("part", release)
        self._record_getters = record_getters(release)
        self._lines = self._run(chunk)
        if lacks_records():
            self._warn(content)

    def _compiled(self) -> tuple[Any, Any]:
        """Return what native/job_submit/lua.c has for this state: the object, and Lua's function for metamethods."""
        view = None if native is None else native.native_view
        upvalues = UPVALUES.get(self.state.version)
        if view is not None and upvalues is not None:
            # A process has one Lua there: after a change of [lua] version the next start has the new one.
            known = view.Lua.use(self.state.file(), upvalues)
            metamethods = self.state.c_function(view.__file__, "slurmhooks_metamethods") if known else None
            if metamethods is not None:
                return view.Lua(*job_fields.places(native.ffi.typeof("job_desc_msg_t"), self.release)), metamethods
        return Uncompiled(), None

    def _compiled_partitions(self) -> Any:
        """Return Lua's function for the list of partitions in C; None in a build that does not have them."""
        if native.views is None:
            return None
        ffi, lib = native.slurmctld.ffi, native.slurmctld.lib
        addresses = (
            int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))
            for name in ("slurmhooks_find_partition", "slurmhooks_partitions")
        )
        struct = ffi.typeof("part_record_t")
        native.native_view.Lua.partitions(*job_fields.partition_places(struct, self.release), *addresses)
        return self.state.c_function(native.native_view.__file__, "slurmhooks_partitions")

    def _warn(self, content: bytes) -> None:
        """Say what the script uses that this build cannot give it."""
        uses = source.Script(content.decode("utf-8", "surrogateescape")).uses
        wanted = {
            use.of if use.of in ("part_list", "job_rec") else f"slurm.{use.name}": use.line
            for use in reversed(uses)
            if use.of in ("part_list", "job_rec") or (use.of == "slurm" and use.name in ("jobs", "reservations"))
        }
        for what, line in wanted.items():
            log.error("%s:%d: the script uses %s, and calls that do are refused: %s", self.path, line, what, NEEDS)

    def _run(self, chunk: Any) -> dict[str, int]:
        """Run the script's top level; return the lines of its functions."""
        try:
            result = self.state.call(chunk)
        except ScriptError as error:
            if self.release >= (26, 5):
                self._log_pcall("slurm_lua_loadscript", 0, error)
            raise ScriptError(f"{self.path}: {error.text}", error.traceback) from None
        first = result[0] if isinstance(result, tuple) else result
        code = int(slurm_table.number(first))
        if code:
            raise ScriptError(f"{self.path}: returned {code} on load", [])
        found = {name: self.state.globals[name.encode()] for name in FUNCTIONS}
        missing = [name for name, value in found.items() if self.state.type_of(value) != "function"]
        for name in missing:
            log.plain(ERROR, f"{PLUGIN}: {self.path}: missing required function {name}")
        if missing:
            raise ScriptError(f"{self.path}: required function(s) not present", [])
        return {name: self.state.line_of(value) for name, value in found.items()}

    def handlers(self) -> list[Handler]:
        """Return the script's two functions as handlers."""
        made = []
        # In slurmctld records are looked up when the script asks for them; elsewhere they must be handed over.
        tables = TABLES if native is None and not lacks_records() else ()
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
            made.append(
                Handler(
                    function, names, HOOKS[hook], self._options.order, False, (), label, self.path, self._lines[name]
                )
            )
        return made

    def job_submit(self, job: Any, submit_uid: int, *tables: Any) -> None:
        """Run the script's function for a submission; for the dispatcher."""
        self._call("job_submit", job, submit_uid, tables, self._submit, float(submit_uid))

    def job_modify(self, job: Any, record: Any, modify_uid: int, *tables: Any) -> None:
        """Run the script's function for an update; for the dispatcher."""
        reader = self.state.items(Reader(self._record_getters, record, self.state.value))
        self._call("job_modify", job, modify_uid, tables, self._modify, reader, float(modify_uid))

    def _modify_without_record(self, job: Any, modify_uid: int) -> None:
        nothing = self.state.items(Nothing())
        self._call("job_modify", job, modify_uid, (), self._modify, nothing, float(modify_uid))

    def _call(self, hook: str, job: Any, uid: int, tables: tuple[Any, ...], function: Any, *arguments: Any) -> None:
        if type(job) is not self._bound:
            self._bind(type(job))
        self._job = job
        self._tables = tables
        self._uid = uid
        try:
            self._begin(job, uid)
            try:
                result = function(*arguments)
            finally:
                self._end()
                self._job = None
                if self._opened:
                    self._close()
            if result != 0 or result is False or self._said:
                self._answer(hook, result)
        except self._failure as error:
            self._failed(hook, self.state.error(error))
        finally:
            # Whatever ended the call: the next one is another user's.
            if self._said:
                self._tell(hook)

    def _close(self) -> None:
        """End the tables of the call."""
        for table in self._opened.values():
            table.close()
        self._opened.clear()

    def _answer(self, hook: str, result: Any) -> None:
        """Pass on what the function returned, and what it said."""
        if result is False:
            log.plain(INFO, f"{PLUGIN}: {hook}: {hook}/lua: {self.path}: non-numeric return code")
            result = 0
        if self._said:
            self._tell(hook)
        code = int(result)
        if code:
            raise Reject(code=code)

    def _tell(self, hook: str) -> None:
        said = list(self._said)
        self._said.clear()
        if hook == "job_modify" and self.release < (23, 2):
            text = "\n".join(said)
            log.plain(ERROR, f'Use of log.user() in job_modify is not supported. Message discarded: ("{text}")')
            return
        for text in said:
            log.user(text)

    def _failed(self, hook: str, error: ScriptError) -> None:
        """Do what the release does when a function fails, or what the configuration says instead."""
        if self.release >= (26, 5):
            self._log_pcall(hook, 3 if hook == "job_submit" else 4, error)
        log.plain(ERROR, f"{hook}/lua: {self.path}: {error.text}")
        for line in error.traceback:
            log.info("%s", line)
        refuses = self.release >= (26, 5)
        if self._options.on_error is not None:
            refuses = self._options.on_error == "reject"
        if not refuses:
            return
        self._said.clear()  # as Slurm does
        raise Reject(error.text, code=RUNTIME_ERROR if self.release >= (26, 5) else None)

    def _log_pcall(self, function: str, arguments: int, error: ScriptError) -> None:
        """Log what slurm_lua_pcall() does."""
        call = f"lua_pcall({hex(id(self.state))}, {arguments}, 1, 0)"
        log.plain(ERROR, f"{function}: {call}=LUA_ERRRUN(Runtime error)={error.text}")

    def _bind(self, kind: Any) -> None:
        """Learn how the fields of a class of requests are read and written; in slurmctld there is one."""
        backend = kind._arrays
        readers = job_fields.readers(backend.string, lambda row: _member(row, backend), self.release)
        known = job_fields.names("job_desc", self.release)
        encoders = {}
        for name in job_fields.writable(self.release):
            row = known[name]
            member = _member(row, backend)
            if member is not None:
                encoders[name.encode()] = (member, isinstance(row, Text), job_fields.encoder(row, backend))
        self._bound, self._readers, self._encoders = kind, readers, encoders
        self._computed = frozenset(name for name, row in known.items() if isinstance(row, Computed))

    def _current(self, what: str) -> Any:
        """Return the request of the running call, with all that the script has written.

        Args:
            what: the script has used, for the message after a call.
        """
        if self._job is None:
            raise StaleHandleError(f"{what} was used outside of a call")
        self._sync()
        return self._job

    def table(self, name: str) -> Any:
        """Return slurmctld's records of some kind."""
        job = self._current(name)
        if lacks_records():
            raise NotThereError(f"{name}: {NEEDS}")
        if native is None:
            return self._tables[TABLES.index(name)]
        found = self._opened.get(name)
        if found is None:
            if name == "partitions":
                found = native.views.partitions(owner_of(job), self._uid)
            else:
                found = getattr(native.views, name)()
            self._opened[name] = found
        return found

    def _read_partition(self, name: Any, address: float) -> Any:
        """Return a field of a partition that the compiled side does not read by itself."""
        if not address:
            raise StaleHandleError("part_list was used outside of a call, or a partition after its call")
        return Reader(self._partition_getters, native.views.partition_class(None, int(address)), self.state.value)[name]

    def _read(self, name: Any) -> Any:
        """Return a field of the request that the compiled side does not read by itself."""
        job = self._current("job_desc")
        read = self._readers.get(name)
        if read is not None:
            return read(job._struct, job._writes)
        if name == b"environment":
            return self._environment
        if not isinstance(name, bytes):
            return None
        text = to_text(name)
        if text in job_fields.ARRAYS:
            items = job._words() if text == "argv" else job._arrays.read(job._struct, text)
            return self.state.value({float(index): item for index, item in enumerate(items)}) if items else None
        if text not in self._computed:
            return None
        found = getattr(job, text)
        return None if found is None else to_bytes(found)

    def _write(self, name: Any, value: Any) -> bytes | None:
        """Stage a field; return the error for Lua if the value is none that fits."""
        job = self._current("job_desc")
        encoder = self._encoders.get(name)
        if encoder is None:
            key = slurm_table.as_string(self.state, name)
            if key is None:
                return self._misfit(2, "string", name)
            log.plain(ERROR, f"_set_job_field: unrecognized field: {to_text(key)}")
            return None
        member, is_text, encode = encoder
        taken = slurm_table.as_string(self.state, value) if is_text else slurm_table.as_number(value)
        if taken is None:
            return self._misfit(3, "string" if is_text else "number", value)
        job._writes[member] = encode(taken)
        self._begin(job, self._uid)
        return None

    def _misfit(self, position: int, wanted: str, value: Any) -> bytes:
        """Return what luaL_argerror says in this version."""
        kind, callee = self.state.type_of(value), NEWINDEX.get(self.state.version, "?")
        return f"bad argument #{position} to '{callee}' ({wanted} expected, got {kind})".encode()

    def _has_environment(self, job: Any, function: str, end: str) -> bool:
        """Tell whether the request carries an environment; log what Slurm logs if not."""
        if job._struct.environment:
            return True
        if job.script is not None:
            log.plain(ERROR, f"{PLUGIN}: {function}: job_desc->environment is NULL.")
        else:
            # info() of a plugin names it and the function, error() does not.
            log.plain(INFO, f"{PLUGIN}: {function}: job_desc->environment only accessible for batch jobs.{end}")
        return False

    def _read_variable(self, name: Any) -> bytes | None:
        """Return a variable of the request's environment."""
        job = self._current("job_desc.environment")
        key = slurm_table.as_string(self.state, name)
        if key is None:
            return None
        found = job.environment.get(to_text(key))
        if found is None:
            self._has_environment(job, "_job_env_field", "")
        return None if found is None else to_bytes(found)

    def _write_variable(self, name: Any, value: Any) -> bytes | None:
        """Stage a variable; return the error for Lua if that is not possible."""
        job = self._current("job_desc.environment")
        key = slurm_table.as_string(self.state, name)
        if key is None:
            return self._misfit(2, "string", name)
        if not self._has_environment(job, "_set_job_env_field", " "):
            return None
        raw = slurm_table.as_string(self.state, value)
        if raw is None:
            return self._misfit(3, "string", value)
        try:
            job.environment[to_text(key)] = to_text(raw)
        except ValueError as error:
            return to_bytes(str(error))
        self._begin(job, self._uid)
        return None

    def _qos_priority(self, *arguments: Any) -> object:
        name = slurm_table.c_text(self.state, arguments[-1] if arguments else None)
        try:
            text_to_c("name", name)
            found = slurmctld.qos_priority(name)
        except NotImplementedError as error:
            raise LuaRaise(str(error)) from None
        if found is None:
            log.plain(ERROR, f"Invalid QOS name: {name}")
            return ()
        return found


TABLES = ("partitions", "jobs", "reservations")
NEWINDEX = {"5.2": "__newindex", "5.3": "__newindex", "5.4": "newindex", "5.5": "newindex"}
"""What luaL_argerror calls the function that assigns, in each version."""

UPVALUES = {
    **dict.fromkeys(("5.1", "luajit", "luajit2.0", "luajit2.1"), -10002),
    **dict.fromkeys(("5.2", "5.3", "5.4"), -1001000),
    "5.5": -(((1 << 31) - 1) // 2 + 1000),
}
"""What ``lua_upvalueindex(0)`` is in the lua.h of each version."""
