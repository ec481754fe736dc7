# SPDX-License-Identifier: GPL-2.0-or-later
"""How lupa's Lua gets into a process that may have another one.

A process of Slurm may hold liblua already: scrun is linked to it, and Slurm's own Lua plugins open it for everybody.
The functions of both have the same names, so it matters who finds which:

* lupa's Lua of the same version takes the names that are there already, so all of it is one Lua;
* of another version it must not, and is opened so that it finds its own names first (``RTLD_DEEPBIND``).

C modules find the names only among those that are there for everybody; slurmhooks.lua.c_modules sees to it.
"""

from __future__ import annotations

import posix
import sys

from slurmhooks import slurm_conf
from slurmhooks.errors import SlurmhooksError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class NoLuaError(SlurmhooksError):
    """No Lua of the wanted version is installed."""


class Lua:
    """A Lua that scripts can run on: what slurmhooks.lua.finding found on this machine.

    Attributes:
        version: as ``[lua] version`` names it.
        module: lupa's, by its name.
        file: of that module.
        path: package.path of the machine's own Lua of that version, the environment left out.
        cpath: its package.cpath, likewise.
    """

    __slots__ = ("cpath", "file", "module", "path", "version")

    def __init__(self, version: str, module: str, file: str, path: str, cpath: str) -> None:
        """Keep what was found; see the class."""
        self.version = version
        self.module = module
        self.file = file
        self.path = path
        self.cpath = cpath

    @property
    def words(self) -> tuple[str, ...]:
        """What makes it again, for the manifest."""
        return self.version, self.module, self.file, self.path, self.cpath


WORDS = len(Lua.__slots__)


def load(lua: Lua) -> ModuleType:
    """Return lupa's module; imports no more than that, as a launch pays for every module."""
    name = lua.module
    module = sys.modules.get(name)
    if module is not None:
        return module
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import ExtensionFileLoader

    loader = ExtensionFileLoader(name, lua.file)
    other = present()
    shared[name] = other == lua.version and is_open()
    flags = sys.getdlopenflags()
    # All of its names at once: a library that comes later may bring those of another Lua.
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
"""For each of lupa's modules that is loaded, whether it runs on the Lua that was in the process before."""


def _lend() -> list[ModuleType]:
    """Put stand-ins in the place of two modules of which lupa takes three names; return those.

    Importing them takes a launch as long as lupa itself. A stand-in becomes the real thing when it is used.
    """
    lent = []
    for name, types, functions in _LENT:
        if name not in sys.modules:
            module = type(sys)(name)
            for one in types:
                setattr(module, one, _LateType(one, (), {}))
            for one in functions:
                setattr(module, one, _late_function(name, one))
            sys.modules[name] = module
            lent.append(module)
    return lent


def _take_back(lent: list[ModuleType]) -> None:
    for module in lent:
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]


_LENT = (("collections.abc", ("Mapping", "Sequence"), ()), ("functools", (), ("wraps",)))


class _LateType(type):
    """Makes a stand-in for a class of collections.abc."""

    def __instancecheck__(cls, instance: object) -> bool:
        # lupa asks about each argument of table_from(); most are lists.
        if type(instance) is list:
            return cls.__name__ == "Sequence"
        __import__("collections.abc")
        return isinstance(instance, getattr(sys.modules["collections.abc"], cls.__name__))


def _late_function(module: str, name: str) -> Callable[..., object]:
    def late(*args: object) -> object:
        __import__(module)
        return getattr(sys.modules[module], name)(*args)

    return late


def is_open() -> bool:
    """Tell whether anybody in this process finds functions of Lua."""
    import ctypes

    return hasattr(ctypes.CDLL(None), "lua_gettop")


def present() -> str | None:
    """Return the version of the liblua that is in this process, lupa's own left out; None if there is none."""
    for path in mapped(b"/liblua"):
        name = path.rpartition("/")[2]
        if name.startswith("liblua"):
            return "5.1" if "jit" in name else version_in(name)
    return None


def mapped(part: bytes = b"/") -> list[str]:
    """Return the files that this process has mapped whose paths hold a part."""
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
    """Return package.path and package.cpath of a Lua; the environment counts as it does for any."""
    suffix = "" if lua.version in ("5.1", "luajit") else "_" + lua.version.replace(".", "_")
    found = []
    for name, default in (("LUA_PATH", lua.path), ("LUA_CPATH", lua.cpath)):
        wanted = slurm_conf.environment(name + suffix) if suffix else None
        wanted = slurm_conf.environment(name) if wanted is None else wanted
        if wanted is not None:
            wanted = f";{wanted};".replace(";;;", ";;").replace(";;", f";{default};").strip(";")
        found.append(default if wanted is None else wanted)
    return found[0], found[1]


def version_in(name: str) -> str | None:
    """Return the version in a name such as liblua5.4.so.0, liblua.so.5.4 or liblua-5.4.so."""
    at = name.find("5.")
    return name[at : at + 3] if at >= 0 and name[at + 2 : at + 3].isdigit() else None
