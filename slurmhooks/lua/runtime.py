# SPDX-License-Identifier: GPL-2.0-or-later
"""One state of Lua for a site's script: the only place that talks to lupa.

A script gets what it is given and nothing else of Python: no ``python`` table, no attributes of objects. Text is bytes
in Lua and ``str`` with surrogateescape in Python, numbers are what ``lua_pushnumber`` makes of them (in 5.3 and later
60 reads as ``60.0``), as Slurm's own plugins hand them over.
"""

from __future__ import annotations

import posix

from slurmhooks import trusted
from slurmhooks.errors import SlurmhooksError
from slurmhooks.lua import library
from slurmhooks.values import ENCODING, ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmhooks.lua.library import Lua

PRELUDE = __file__.rpartition("/")[0] + "/prelude.lua"
JSON = __file__.rpartition("/")[0] + "/json.lua"
PIPES = __file__.rpartition("/")[0] + "/pipes.lua"
COMPAT = __file__.rpartition("/")[0] + "/compat.lua"
BIT32 = __file__.rpartition("/")[0] + "/bit32.lua"
BOM = b"\xef\xbb\xbf"


class ScriptError(SlurmhooksError):
    """A script could not be read, or failed.

    Attributes:
        text: what Lua says, which begins with file and line where Lua knows them.
        traceback: the lines of Lua's traceback; empty where there is none.
    """

    def __init__(self, text: str, traceback: list[str]) -> None:
        """Keep both; see the class."""
        super().__init__(text)
        self.text = text
        self.traceback = traceback


class LuaRaise(Exception):  # noqa: N818 - not an error of ours: what a function given to a script raises in Lua
    """Raised by a function given to a script: an error in Lua, where the script called it.

    Args:
        text: what ``pcall`` returns, with file and line of the call before it.
    """


class Integer:
    """A number that Slurm hands over by ``lua_pushinteger``: an integer in a Lua that has them."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        """Keep the number."""
        self.value = value


def to_text(raw: object) -> str:
    """Return the text of a string of Lua; of another value, as Lua's tostring would show numbers."""
    return raw.decode(ENCODING, ERRORS) if isinstance(raw, bytes) else str(raw)


def to_bytes(text: str) -> bytes:
    """Return the string of Lua for a text."""
    return text.encode(ENCODING, ERRORS)


class State:
    """One ``lua_State``.

    A plain function of Python may be passed to Lua as it is, if it does not raise and takes and returns Lua's own
    values; else use :meth:`function`. Pass each object only once: lupa (2.8) may forget at the next garbage collection
    that Lua still refers to an object that it got twice. For this reason, lupa's as_function() is not used.

    Attributes:
        version: of Lua, as ``[lua] version`` names it.
        globals: the table of globals; keys and texts in it are bytes.
        unpack: how this Lua calls unpack: ``unpack`` or ``table.unpack``.
        failure: what calling a function of Lua raises; :meth:`error` takes it apart.
        has_integers: numbers may be integers, as in 5.3 and later.
    """

    def __init__(self, lua: Lua | str | None = None) -> None:
        """Make a state with the standard libraries.

        Args:
            lua: as it was found; or what finding.choose takes.

        Raises:
            NoLuaError: there is no such Lua.
        """
        if not isinstance(lua, library.Lua):
            from slurmhooks.lua import finding

            lua = finding.find(lua)
        self.version = lua.version
        self._which = lua
        self._module: Any = library.load(lua)
        self.failure: type[Exception] = self._module.LuaError
        self._lua: Any = self._module.LuaRuntime(
            encoding=None,
            source_encoding=ENCODING,
            attribute_filter=_refuse,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
        )
        self.globals: Any = self._lua.globals()
        as_function = self.globals[b"python"][b"as_function"]
        with open(PRELUDE, "rb") as file:
            source = file.read()
        prelude = self._lua.compile(source, name=b"=slurmhooks")
        self._wrap, self._proxy, self._serve_json, self._line_of = prelude(
            self._prepare, as_function, self._pipes, _temporary
        )
        self._items = self._module.as_itemgetter
        self._loadfile: Any = self.globals[b"loadfile"]
        self._loadstring: Any = self.globals[b"loadstring"] or self.globals[b"load"]
        self.unpack = "unpack" if self.globals[b"unpack"] is not None else "table.unpack"
        path, cpath = library.search_paths(lua)
        self.globals[b"package"][b"path"] = to_bytes(path)
        self.globals[b"package"][b"cpath"] = to_bytes(cpath)
        self.has_integers = self.globals[b"math"][b"type"] is not None
        self._serve_json(lambda: self.load(JSON))
        if self.version not in ("5.1", "luajit"):
            self.load(COMPAT)(to_bytes(self.version))
        if self.version == "5.3":
            self.globals[b"bit32"] = self.globals[b"package"][b"loaded"][b"bit32"] = self.load(BIT32)()

    def function(self, function: Callable[..., object]) -> Any:
        """Return a function of Lua that calls one of Python.

        Args:
            function: gets bytes, numbers, booleans, None and Lua's tables and functions; returns what :meth:`value`
                takes, or a tuple of several. What it raises as LuaRaise is an error in Lua; anything else is a bug,
                and comes out of :meth:`call` as it is.
        """
        value = self.value

        def called(*args: object) -> object:
            try:
                result = function(*args)
            except LuaRaise as error:
                return to_bytes(str(error))
            if type(result) is tuple:
                return None, *(value(item) for item in result)
            return None, value(result)

        return self._wrap(called)

    def proxy(self, reader: Any, write: Callable[[Any, Any], bytes | None] | None = None, **fields: Any) -> Any:
        """Return a table that Python reads and writes, as cheaply as lupa can.

        Args:
            reader: an object whose ``__getitem__`` takes a key as Lua has it (text is bytes) and returns a value as
                Lua has it, or None for nil; it must not raise.
            write: takes key and value as Lua has them; returns None, or the text of an error in Lua.
            fields: what else its metatable holds.
        """
        extra = self._lua.table_from({to_bytes(name): field for name, field in fields.items()}) if fields else None
        return self._proxy(self._items(reader), write, extra)

    def items(self, reader: Any) -> Any:
        """Return what Lua reads by index alone: the ``__index`` of a metatable."""
        return self._items(reader)

    def value(self, value: object) -> Any:
        """Return what Lua has for a value: text, numbers, lists and dicts, nested."""
        if isinstance(value, str):
            return to_bytes(value)
        if value is None or isinstance(value, (bool, bytes, float)):
            return value
        if isinstance(value, int):
            return float(value)
        if isinstance(value, Integer):
            return value.value
        if isinstance(value, (list, tuple)):
            return self._lua.table_from([self.value(item) for item in value])
        if isinstance(value, dict):
            return self._lua.table_from({self.value(key): self.value(item) for key, item in value.items()})
        return value

    def array(self, values: list[Any]) -> Any:
        """Return a new table of values as Lua has them, from 1 on."""
        return self._lua.table_from(values)

    def line_of(self, function: Any) -> int:
        """Return the line that defines a function of Lua; 0 if there is none."""
        line = self._line_of(function)
        return line if isinstance(line, int) and line > 0 else 0

    def table(self, values: Mapping[str, object] | None = None) -> Any:
        """Return a new table with some values."""
        return self._lua.table_from({to_bytes(name): self.value(value) for name, value in (values or {}).items()})

    def compile(self, source: str, name: str) -> Any:
        """Return a chunk of ours as a function.

        Args:
            source: Lua.
            name: of the chunk in messages; ``@FILE``, ``=NAME``, or the source itself.
        """
        return self._lua.compile(to_bytes(source), name=to_bytes(name))

    def load(self, path: str) -> Any:
        """Return a script of this package as a function.

        Raises:
            ScriptError: it cannot be read, or is no Lua.
        """
        return _loaded(self._loadfile(to_bytes(path)))

    def load_script(self, path: str, content: bytes) -> Any:
        """Return a site's script as a function, as ``luaL_loadfile`` would.

        Args:
            path: of the script, for messages.
            content: of the script, see :func:`read_script`.

        Raises:
            ScriptError: it is no Lua.
        """
        if self.version != "5.1":
            content = content.removeprefix(BOM)
        if content.startswith(b"#"):
            content = b"\n" + content.partition(b"\n")[2]
        return _loaded(self._loadstring(content, to_bytes(f"@{path}")))

    def call(self, function: Any, *args: object) -> Any:
        """Call a function of Lua.

        Args:
            function: from this state.
            args: as Lua has them; see :meth:`value`.

        Returns:
            its result, a tuple of several, or None for none.

        Raises:
            ScriptError: it failed.
        """
        try:
            return function(*args)
        except self._module.LuaError as error:
            raise self.error(error) from None

    def error(self, error: BaseException) -> ScriptError:
        """Return what lupa raised, taken apart."""
        # lupa reads the bytes as Latin-1 where it is told no encoding.
        text = str(error).encode("latin-1", "replace").decode(ENCODING, ERRORS)
        text, _, trace = text.partition("\nstack traceback:\n")
        return ScriptError(text or "(null)", [line.strip() for line in trace.split("\n") if line.strip()])

    def type_of(self, value: object) -> str:
        """Return what Lua calls the type of a value: ``nil``, ``table``, ``function`` ..."""
        name: str = self._module.lua_type(value) or ""
        if name:
            return name
        if value is None:
            return "nil"
        if isinstance(value, bool):
            return "boolean"
        return "string" if isinstance(value, bytes) else "number" if isinstance(value, (int, float)) else "userdata"

    def _pipes(self, level: int) -> Any:
        """Return what makes io.popen; what starts commands is imported for scripts that do."""
        from slurmhooks.lua import pipes

        return self.load(PIPES)(pipes.spawn, pipes.started, pipes.wait, level, to_bytes(self.version))

    def _prepare(self, name: bytes, whole: bool = False, path: bytes | None = None) -> bytes | None:
        """Have the library of a C module find Lua's functions; the reason in Lua's manner if it cannot."""
        if path is not None:
            stem = name.split(b".")[0] if whole else name.replace(b".", b"/")
            files = [template.replace(b"?", stem) for template in path.split(b";")]
            found = next((file for file in files if posix.access(file, posix.R_OK)), None)
            if found is None:
                return None
            name = found
        from slurmhooks.lua import c_modules

        why = c_modules.open_for_modules(self._which)
        return None if why is None else b"\n\tC module '" + name + b"' cannot be loaded: " + to_bytes(why)


def read_script(path: str) -> bytes:
    """Return the content of a site's script.

    Raises:
        LoadError: somebody else could have written it.
        ScriptError: it cannot be read.
    """
    try:
        return trusted.read(path)
    except OSError as error:
        # As luaL_loadfile says it.
        raise ScriptError(f"cannot open {path}: {error.strerror}", []) from None


def _loaded(result: Any) -> Any:
    """Return the function out of what Lua's load functions return.

    Raises:
        ScriptError: there is none, but a message.
    """
    if isinstance(result, tuple):
        raise ScriptError(to_text(result[1]), [])
    return result


def _temporary() -> bytes:
    """Return the name of a new file, for a script's ``os.tmpname``."""
    from slurmhooks.lua import pipes

    return pipes.temporary()


def _refuse(object_: object, name: object, setting: bool) -> object:
    """Refuse every attribute of every object of Python."""
    del object_, setting
    raise AttributeError(f"scripts cannot reach {to_text(name)!r} of Python")
