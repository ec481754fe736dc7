# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads lupa's Lua into a process that may already have another Lua.

A process of Slurm may contain liblua: scrun is linked to it, and Slurm's own Lua plugins load it with global symbols.
lupa's Lua has functions of the same names:

* If the version is the same, lupa uses the functions that are already there, so that the process has one Lua.
  Therefore the machine's own liblua is opened first, if it is installed: lupa's builds leave things out.
* If it is another version, lupa is loaded so that it finds its own functions first (``RTLD_DEEPBIND``).

C modules of scripts find global symbols only; see slurmhooks.lua.c_modules.
"""

from __future__ import annotations

import posix
import sys

from slurmhooks.errors import SlurmhooksError
from slurmhooks.files import slurm_conf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class NoLuaError(SlurmhooksError):
    """No Lua of the required version is installed."""


class Lua:
    """A Lua for scripts, see slurmhooks.lua.finding.

    Attributes:
        version: its version, as in ``[lua] version``.
        module: name of lupa's module.
        file: file of that module.
        path: package.path of the machine's own Lua of that version, without the environment.
        cpath: package.cpath of the machine's own Lua of that version, without the environment.
        own: file of the machine's own liblua of that version, which Slurm's Lua plugins load, too; an empty text if it
            is not installed, or if they load another version.
    """

    __slots__ = ("cpath", "file", "module", "own", "path", "version")

    def __init__(self, version: str, module: str, file: str, path: str, cpath: str, own: str) -> None:
        self.version = version
        self.module = module
        self.file = file
        self.path = path
        self.cpath = cpath
        self.own = own

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of the class, for the manifest."""
        return self.version, self.module, self.file, self.path, self.cpath, self.own


WORDS = len(Lua.__slots__)


def load(lua: Lua) -> ModuleType:
    """Import lupa's module for a Lua, and nothing else: a launch pays for every import."""
    name = lua.module
    module = sys.modules.get(name)
    if module is not None:
        return module
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import ExtensionFileLoader

    loader = ExtensionFileLoader(name, lua.file)
    other = present()
    if other is None and lua.own:
        open_own(lua.own)
        other = present()
    shared[name] = other == lua.version and is_open()
    flags = sys.getdlopenflags()
    # RTLD_NOW: a library that is loaded later may have the functions of another Lua.
    sys.setdlopenflags(posix.RTLD_NOW | (0 if other is None or shared[name] else posix.RTLD_DEEPBIND))
    lent = _lend()
    try:
        module = module_from_spec(ModuleSpec(name, loader, origin=lua.file))
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    finally:
        _take_back(lent)
        sys.setdlopenflags(flags)
    return module


shared: dict[str, bool] = {}
"""For each loaded module of lupa, whether it uses the Lua that was in the process before."""


def _lend() -> list[ModuleType]:
    """Put placeholders for two modules, from which lupa imports three names, into sys.modules; return them.

    Importing these modules would take as long as importing lupa. A placeholder imports the real module when it is used.
    """
    lent = []
    for name, types, functions in _LENT:
        if name not in sys.modules:
            module = type(sys)(name)
            for type_name in types:
                setattr(module, type_name, _LateType(type_name, (), {}))
            for function_name in functions:
                setattr(module, function_name, _late_function(name, function_name))
            sys.modules[name] = module
            lent.append(module)
    return lent


def _take_back(lent: list[ModuleType]) -> None:
    for module in lent:
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]


_LENT = (("collections.abc", ("Mapping", "Sequence"), ()), ("functools", (), ("wraps",)))


class _LateType(type):
    """Metaclass of placeholders for classes of collections.abc."""

    def __instancecheck__(cls, instance: object) -> bool:
        # lupa checks each argument of table_from(); most are lists.
        if type(instance) is list:
            return cls.__name__ == "Sequence"
        __import__("collections.abc")
        return isinstance(instance, getattr(sys.modules["collections.abc"], cls.__name__))


def _late_function(module: str, name: str) -> Callable[..., object]:
    def late(*args: object) -> object:
        __import__(module)
        return getattr(sys.modules[module], name)(*args)

    return late


def open_own(path: str) -> None:
    """Make the functions of the machine's liblua global, as Slurm does before it loads its own Lua plugins."""
    import _ctypes  # not ctypes, which takes a launch longer

    try:
        _ctypes.dlopen(path, posix.RTLD_NOW | posix.RTLD_GLOBAL)
    except OSError as error:
        from slurmhooks.log import log

        log.verbose("lupa's own Lua is used, because the machine's cannot be loaded: %s", error)


def is_open() -> bool:
    """Tell whether functions of Lua are global symbols in this process."""
    import _ctypes

    try:
        # None is the whole process.
        _ctypes.dlsym(_ctypes.dlopen(None, posix.RTLD_NOW), "lua_gettop")  # type: ignore[arg-type]
    except OSError:
        return False
    return True


def flush() -> None:
    """Write what scripts have written to open files, by C's fflush(), because our processes end without C's exit()."""
    import _ctypes

    process = _ctypes.dlopen(None, posix.RTLD_NOW)  # type: ignore[arg-type]
    _ctypes.call_function(_ctypes.dlsym(process, "fflush"), (None,))


def present() -> str | None:
    """Return the version of liblua in this process, not counting lupa's own; None if there is none."""
    for path in mapped(b"/liblua"):
        name = path.rpartition("/")[2]
        if name.startswith("liblua"):
            return "5.1" if "jit" in name else version_in(name)
    return None


def mapped(part: bytes = b"/") -> list[str]:
    """Return the mapped files of this process whose paths contain a text."""
    try:
        with open("/proc/self/maps", "rb") as file:
            content = file.read()
    except OSError:
        return []
    if part not in content:
        return []
    lines = (line[73:].strip() for line in content.split(b"\n") if part in line)
    return list(dict.fromkeys(line.decode("utf-8", "surrogateescape") for line in lines))


def search_paths(lua: Lua) -> tuple[str, str]:
    """Return package.path and package.cpath of a Lua; the environment overrides them as in any Lua."""
    suffix = "" if lua.version in ("5.1", "luajit") else "_" + lua.version.replace(".", "_")
    paths = []
    for name, default in (("LUA_PATH", lua.path), ("LUA_CPATH", lua.cpath)):
        path = slurm_conf.environment(name + suffix) if suffix else None
        path = slurm_conf.environment(name) if path is None else path
        if path is not None:
            path = f";{path};".replace(";;;", ";;").replace(";;", f";{default};").strip(";")
        paths.append(default if path is None else path)
    return paths[0], paths[1]


def version_in(name: str) -> str | None:
    """Return the version in a name such as liblua5.4.so.0, liblua.so.5.4 or liblua-5.4.so."""
    at = name.find("5.")
    return name[at : at + 3] if at >= 0 and name[at + 2 : at + 3].isdigit() else None
