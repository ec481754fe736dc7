# SPDX-License-Identifier: GPL-2.0-or-later
"""A Lua state for a script. Only this module uses lupa.

A script can reach nothing of Python except the functions that it is given: there is no ``python`` table, and objects
have no attributes. Text is bytes in Lua and ``str`` with surrogateescape in Python. Numbers are floats, as Slurm's own
plugins pass them with ``lua_pushnumber``: in 5.3 and later, 60 reads as ``60.0``.
"""

from __future__ import annotations

import posix

from slurmhooks.errors import SlurmhooksError
from slurmhooks.files import trusted
from slurmhooks.lua import library
from slurmhooks.values import ENCODING, ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from slurmhooks.lua.library import Lua

PRELUDE = __file__.rpartition("/")[0] + "/prelude.lua"
PIPES = __file__.rpartition("/")[0] + "/pipes.lua"
COMPAT = __file__.rpartition("/")[0] + "/compat.lua"
BIT32 = __file__.rpartition("/")[0] + "/bit32.lua"
BOM = b"\xef\xbb\xbf"


class ScriptError(SlurmhooksError):
    """A script could not be read, or failed.

    Attributes:
        text: Lua's message, which starts with file and line if Lua knows them.
        traceback: the lines of Lua's traceback, or remarks on the text; empty if there are none.
    """

    def __init__(self, text: str, traceback: list[str]) -> None:
        super().__init__(text)
        self.text = text
        self.traceback = traceback


class LuaRaise(Exception):  # noqa: N818 - an error in the script, not in slurmhooks
    """Raised by functions that scripts call: becomes an error in Lua.

    Args:
        text: the message; Lua adds file and line of the call.
    """


class Integer:
    """A number that Slurm passes with ``lua_pushinteger``: an integer in a Lua that has integers."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


def to_text(raw: object) -> str:
    """Return a Lua string as text; for another value, its str()."""
    return raw.decode(ENCODING, ERRORS) if isinstance(raw, bytes) else str(raw)


def to_bytes(text: str) -> bytes:
    """Return a text as a Lua string."""
    return text.encode(ENCODING, ERRORS)


class LuaState:
    """One ``lua_State``.

    A Python function may be passed to Lua directly if it does not raise, and takes and returns Lua's own values; wrap
    any other by :meth:`function`. Pass each object only once: if Lua gets an object twice, lupa (2.8) may free it at
    the next garbage collection although Lua still refers to it. For this reason, lupa's as_function() is not used.

    Attributes:
        version: version of Lua, as in ``[lua] version``.
        globals: the table of globals; texts in it are bytes.
        unpack: name of the function: ``unpack`` or ``table.unpack``.
        tonumber, tostring: Lua's own functions, whatever the script makes of the globals.
        fault: the first error of Python code in the running call, which :meth:`call` raises even if the script has
            caught it with ``pcall``: a script that took what cannot be read for unset would accept anything.
    """

    def __init__(self, lua: Lua | str | None = None) -> None:
        """Create a state with the standard libraries of a Lua; it may be a version, see finding.choose.

        Raises:
            NoLuaError: this Lua is not installed.
        """
        if not isinstance(lua, library.Lua):
            from slurmhooks.lua import finding

            lua = finding.find(lua)
        self.version = lua.version
        self._which = lua
        self._module: Any = library.load(lua)
        self.fault: Exception | None = None
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
        self._wrap, self._proxy, self._line_of = prelude(self._prepare, as_function, self._pipes, _temporary)
        self._items = self._module.as_itemgetter
        self._loadfile: Any = self.globals[b"loadfile"]
        self._loadstring: Any = self.globals[b"loadstring"] or self.globals[b"load"]
        self.unpack = "unpack" if self.globals[b"unpack"] is not None else "table.unpack"
        path, cpath = library.search_paths(lua)
        self.globals[b"package"][b"path"] = to_bytes(path)
        self.globals[b"package"][b"cpath"] = to_bytes(cpath)
        self.tonumber: Any = self.globals[b"tonumber"]
        self.tostring: Any = self.globals[b"tostring"]
        own = library.shared[lua.module]
        if self.version not in ("5.1", "luajit") and not own:
            self.load(COMPAT)(to_bytes(self.version), self._standard)
        if self.version == "5.3" and not own:
            self.globals[b"bit32"] = self.globals[b"package"][b"loaded"][b"bit32"] = self.load(BIT32)()

    def function(self, function: Callable[..., object]) -> Any:
        """Wrap a Python function for Lua.

        Args:
            function: its arguments are bytes, numbers, booleans, None, and Lua's tables and functions. It returns an
                argument for :meth:`value`, or a tuple of several. LuaRaise becomes an error in Lua; any other exception
                is a bug, and :meth:`call` raises it.
        """
        value = self.value

        def called(*args: object) -> object:
            try:
                result = function(*args)
            except LuaRaise as error:
                return to_bytes(str(error))
            except Exception as error:
                self.note(error)
                raise
            if type(result) is tuple:
                return None, *(value(item) for item in result)
            return None, value(result)

        return self._wrap(called)

    def note(self, error: Exception) -> None:
        """Keep the first error of the running call as :attr:`fault`."""
        self.fault = self.fault or error

    def noting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that may be passed to Lua directly and raise: its errors become :attr:`fault`."""

        def called(*args: object) -> Any:
            try:
                return function(*args)
            except Exception as error:
                self.note(error)
                raise

        return called

    def proxy(self, reader: Any, write: Callable[[Any, Any], bytes | None] | None = None, **fields: Any) -> Any:
        """Return a table whose reads and writes Python handles, in the fastest way that lupa has.

        Args:
            reader: its ``__getitem__`` takes a Lua key (text is bytes) and returns a Lua value, or None for nil. It
                must not raise.
            write: takes a Lua key and value; returns None, or the text of an error in Lua.
            fields: further fields of the metatable.
        """
        extra = self._lua.table_from({to_bytes(name): field for name, field in fields.items()}) if fields else None
        return self._proxy(self._items(reader), write, extra)

    def items(self, reader: Any) -> Any:
        """Return an object that Lua can index, for the ``__index`` of a metatable; see :meth:`proxy` for the reader."""
        return self._items(reader)

    def value(self, value: object) -> Any:
        """Convert texts, numbers, and nested lists and dicts to a Lua value."""
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
        """Return a new table with Lua values at 1, 2 and so on."""
        return self._lua.table_from(values)

    def line_of(self, function: Any) -> int:
        """Return the line on which a Lua function is defined; 0 if it is not known."""
        line = self._line_of(function)
        return line if isinstance(line, int) and line > 0 else 0

    def table(self, values: Mapping[str, object] | None = None) -> Any:
        """Return a new table with values, which :meth:`value` converts."""
        return self._lua.table_from({to_bytes(name): self.value(value) for name, value in (values or {}).items()})

    def compile(self, source: str, name: str) -> Any:
        """Compile a chunk that belongs to slurmhooks to a function.

        ``name`` is that of the chunk in messages: ``@FILE``, ``=NAME``, or the source itself.
        """
        return self._lua.compile(to_bytes(source), name=to_bytes(name))

    def load(self, path: str) -> Any:
        """Compile a file of this package to a function.

        Raises:
            ScriptError: it cannot be read, or is not valid Lua.
        """
        return _loaded(self._loadfile(to_bytes(path)))

    def load_script(self, path: str, content: bytes) -> Any:
        """Compile a script to a function, as ``luaL_loadfile`` does, and let it require libraries beside it, too.

        So libraries may belong to what is deployed with the script, and need no absolute names.

        Raises:
            ScriptError: it is not valid Lua.
        """
        folder = path.rpartition("/")[0]
        if folder and not any(sign in folder for sign in ";?"):
            package = self.globals[b"package"]
            package[b"path"] = package[b"path"] + to_bytes(f";{folder}/?.lua")
        if self.version != "5.1":
            content = content.removeprefix(BOM)
        if content.startswith(b"#"):
            content = b"\n" + content.partition(b"\n")[2]
        try:
            return _loaded(self._loadstring(content, to_bytes(f"@{path}")))
        except ScriptError as error:  # its text is that which Slurm logs
            remark = f"read as Lua {self.version}; [lua] version of slurmhooks.toml chooses another one"
            raise ScriptError(error.text, [remark]) from None

    def call(self, function: Any, *args: object) -> Any:
        """Call a Lua function.

        Returns:
            its result; None if it has none, a tuple if it has several.

        Raises:
            ScriptError: the function failed.
            Exception: see :attr:`fault`.
        """
        try:
            return function(*args)
        except self._module.LuaError as error:
            raise self.error(error) from None
        finally:
            fault, self.fault = self.fault, None
            if fault is not None:
                raise fault

    def error(self, error: BaseException) -> ScriptError:
        """Convert an exception of lupa."""
        # lupa decodes bytes as Latin-1 if no encoding is set.
        text = str(error).encode("latin-1", "replace").decode(ENCODING, ERRORS)
        # lupa appends a traceback to texts, and in 5.2 and later to nothing if the error is nil.
        whole = f"\n{text}"
        text, mark, trace = whole.rpartition("\nstack traceback:")
        if not mark:
            text, trace = whole, ""
        return ScriptError(text[1:] or "(null)", [line.strip() for line in trace.split("\n") if line.strip()])

    def type_of(self, value: object) -> str:
        """Return Lua's name for the type of a value: ``nil``, ``table``, ``function`` and so on."""
        name: str = self._module.lua_type(value) or ""
        if name:
            return name
        if value is None:
            return "nil"
        if isinstance(value, bool):
            return "boolean"
        return "string" if isinstance(value, bytes) else "number" if isinstance(value, (int, float)) else "userdata"

    def _pipes(self, level: int) -> Any:
        """Return what makes io.popen and os.execute. subprocess is imported only for scripts that start commands."""
        from slurmhooks.lua import pipes

        return self.load(PIPES)(*(pipes.spawn, pipes.started, pipes.wait, pipes.execute, level, to_bytes(self.version)))

    def _standard(self, name: bytes) -> Callable[..., object]:
        """Return a function of :mod:`slurmhooks.lua.standard`, which imports what launches hardly ever need."""
        from slurmhooks.lua import standard

        function: Callable[..., object] = getattr(standard, name.decode())
        return lambda *arguments: function(*arguments)  # a new object each time, see the class

    def _prepare(self, name: bytes, whole: bool = False, path: bytes | None = None) -> bytes | None:
        """Prepare the import of a C module; return None, or the reason in Lua's format if it is not possible."""
        if path is not None:
            stem = name.split(b".")[0] if whole else name.replace(b".", b"/")
            files = [template.replace(b"?", stem) for template in path.split(b";")]
            readable = next((file for file in files if posix.access(file, posix.R_OK)), None)
            if readable is None:
                return None
            name = readable
        from slurmhooks.lua import c_modules

        reason = c_modules.open_for_modules(self._which)
        return None if reason is None else b"\n\tC module '" + name + b"' cannot be loaded: " + to_bytes(reason)


def read_script(path: str) -> bytes:
    """Return the content of a script.

    Raises:
        LoadError: another user could have written it.
        ScriptError: it cannot be read.
    """
    try:
        return trusted.read(path)
    except OSError as error:
        # The message of luaL_loadfile.
        raise ScriptError(f"cannot open {path}: {error.strerror}", []) from None


def _loaded(result: Any) -> Any:
    """Return the function from the result of Lua's load functions.

    Raises:
        ScriptError: the result is a message.
    """
    if isinstance(result, tuple):
        raise ScriptError(to_text(result[1]), [])
    return result


def _temporary() -> bytes:
    """Return the path of a new file, for ``os.tmpname``."""
    from slurmhooks.lua import pipes

    return pipes.temporary()


def _refuse(object_: object, name: object, setting: bool) -> object:
    """Refuse all attributes of all Python objects."""
    raise AttributeError(f"scripts cannot reach {to_text(name)!r} of Python")
