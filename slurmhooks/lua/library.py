# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Lua runs a site's scripts, and how its library gets into a process that may have another one.

A process of Slurm may hold liblua already: scrun is linked to it, and Slurm's own Lua plugins open it for everybody.
The functions of both have the same names, so it matters who finds which:

* lupa's Lua of the same version takes the names that are there already, so all of it is one Lua;
* of another version it must not, and is opened so that it finds its own names first (``RTLD_DEEPBIND``).

C modules (posix, cjson) find the names only among those that are there for everybody; :func:`open_for_modules` sees
to it, and only for a site that loads such a module: names of Lua that nobody asked for could meet a plugin of Slurm.
"""

from __future__ import annotations

import os
import sys

from slurmhooks.errors import SlurmhooksError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

VERSIONS = {
    "5.1": ("lua51",),
    "5.2": ("lua52",),
    "5.3": ("lua53",),
    "5.4": ("lua54",),
    "5.5": ("lua55",),
    "luajit": ("luajit21", "luajit20"),
    "luajit2.0": ("luajit20",),
    "luajit2.1": ("luajit21",),
}
"""What ``[lua] version`` may say, with lupa's modules for it, the best first."""

NEWEST_FIRST = ("5.4", "5.3", "5.5", "5.2", "5.1")
"""Where Slurm has no Lua of its own: 5.4 is what distributions build Slurm with today."""

OWN_PLUGINS = ("job_submit_lua.so", "cli_filter_lua.so", "burst_buffer_lua.so", "jobcomp_lua.so")


class NoLuaError(SlurmhooksError):
    """No Lua of the wanted version is installed."""


def choose(wanted: str | None = None) -> str:
    """Return the version of Lua for a site's scripts.

    Args:
        wanted: what the configuration says, or None: that of Slurm's own Lua plugins, else the newest common one.

    Raises:
        NoLuaError: lupa is not installed, or has none of that version.
    """
    if wanted is not None:
        if _find(wanted) is None:
            have = ", ".join(name for name in VERSIONS if _find(name) is not None) or "none"
            raise NoLuaError(f"[lua] version: lupa has no Lua {wanted} here; it has: {have}")
        return wanted
    candidates = (of_slurm(), *NEWEST_FIRST)
    for version in candidates:
        if version is not None and _find(version) is not None:
            return version
    raise NoLuaError("Lua scripts need the Python package lupa, which is not installed where slurmhooks is")


def load(version: str) -> ModuleType:
    """Return lupa's module of a version; imports no more than that, as a launch pays for every module.

    Raises:
        NoLuaError: see :func:`choose`.
    """
    found = _find(version)
    if found is None:
        raise NoLuaError(f"lupa has no Lua {version} here")
    name, path = found
    module = sys.modules.get(name)
    if module is not None:
        return module
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import ExtensionFileLoader

    loader = ExtensionFileLoader(name, path)
    other = present()
    _shared[name] = other == version and _is_open()
    flags = sys.getdlopenflags()
    # All of its names at once: a library that comes later may bring those of another Lua.
    sys.setdlopenflags(os.RTLD_NOW | (0 if other is None or _shared[name] else os.RTLD_DEEPBIND))
    try:
        module = module_from_spec(ModuleSpec(name, loader, origin=path))
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    finally:
        sys.setdlopenflags(flags)
    return module


_shared: dict[str, bool] = {}
"""For each of lupa's modules that is loaded, whether it runs on the Lua that was in the process before."""


def _is_open() -> bool:
    """Tell whether anybody in this process finds functions of Lua."""
    import ctypes

    return hasattr(ctypes.CDLL(None), "lua_gettop")


def present() -> str | None:
    """Return the version of the liblua that is in this process, lupa's own left out; None if there is none."""
    for path in mapped():
        name = os.path.basename(path)
        if name.startswith("liblua"):
            return "5.1" if "jit" in name else _version_in(name)
    return None


def mapped() -> list[str]:
    """Return the files that this process has mapped."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            paths = dict.fromkeys(line[73:].strip() for line in file if "/" in line)
    except OSError:
        return []
    return list(paths)


def of_slurm(folders: Iterable[str] | None = None) -> str | None:
    """Return the version of Lua that this machine's Slurm was built with, as its own Lua plugins tell.

    Args:
        folders: where to look; by default beside libslurmfull.so in this process, else where distributions keep it.
    """
    if folders is None:
        folders = [os.path.dirname(path) for path in mapped() if os.path.basename(path).startswith("libslurmfull")]
        folders = folders or _usual_folders()
    for folder in folders:
        for name in OWN_PLUGINS:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    version = _version_in(_library(file.read()))
            except OSError:
                continue
            if version is not None:
                return version
    return None


def open_for_modules(version: str) -> str | None:
    """Have C modules find the functions of Lua.

    Returns:
        None, or the reason why they cannot.
    """
    found = _find(version)
    assert found is not None
    name, path = found
    if _shared.get(name) or _opened.get(name):
        return None
    if _is_open():
        return f"this process has Lua {present() or 'of another kind'} already, and the scripts run on lupa's {version}"
    own = of_slurm()
    if own not in (None, version):
        return (
            f"it needs Lua {version} open for the whole process, where Lua plugins of this Slurm would take it for"
            f' their own {own}; set [lua] version to "{own}"'
        )
    import ctypes

    try:
        ctypes.CDLL(path, mode=os.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError as error:
        return f"the functions of Lua {version} could not be opened for it: {error}"
    _opened[name] = True
    return None


_opened: dict[str, bool] = {}


def search_paths(version: str) -> tuple[str, str]:
    """Return package.path and package.cpath as the machine's own Lua of a version has them.

    They are compiled into liblua; lupa's know only /usr/local. The environment counts as it does for any Lua.
    """
    defaults = _compiled_in(_short(version)) or _usual_paths(_short(version))
    suffix = "" if version in ("5.1", "luajit") else "_" + version.replace(".", "_")
    found = []
    for name, default in zip(("LUA_PATH", "LUA_CPATH"), defaults, strict=True):
        wanted = os.environ.get(name + suffix) if suffix else None
        wanted = os.environ.get(name) if wanted is None else wanted
        if wanted is not None:
            wanted = f";{wanted};".replace(";;;", ";;").replace(";;", f";{default};").strip(";")
        found.append(default if wanted is None else wanted)
    return found[0], found[1]


def _compiled_in(short: str) -> tuple[str, str] | None:
    """Return the search paths that the machine's liblua holds."""
    names = (f"liblua{short}.so.0", f"liblua.so.{short}", f"liblua-{short}.so", f"liblua{short}.so")
    for folder in _library_folders():
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
            except OSError:
                continue
            path, cpath = _string_around(content, b"/?.lua;"), _string_around(content, b"/?.so;")
            if path and cpath:
                return path, cpath
    return None


def _string_around(content: bytes, part: bytes) -> str:
    """Return the C string of a binary in which a text stands."""
    at = content.find(part)
    start, end = content.rfind(b"\0", 0, at) + 1, content.find(b"\0", at)
    return content[start:end].decode("utf-8", "surrogateescape") if at >= 0 else ""


def _usual_paths(short: str) -> tuple[str, str]:
    scripts = [f"{folder}/lua/{short}" for folder in ("/usr/local/share", "/usr/share")]
    modules = [f"{folder}/lua/{short}" for folder in ("/usr/local/lib", *_library_folders())]
    path = [f"{folder}/{end}" for folder in scripts for end in ("?.lua", "?/init.lua")]
    return ";".join([*path, "./?.lua"]), ";".join([*(f"{folder}/?.so" for folder in modules), "./?.so"])


def _library_folders() -> list[str]:
    return [*_multiarch(), "/usr/lib64", "/usr/lib", "/usr/local/lib"]


def _multiarch() -> list[str]:
    """Return Debian's folders for libraries."""
    try:
        return [f"/usr/lib/{name}" for name in os.listdir("/usr/lib") if name.endswith("-linux-gnu")]
    except OSError:
        return []


def _usual_folders() -> list[str]:
    # As slurmhooks.cli._slurm has them; without glob, which costs a launch 5 ms.
    folders = ["/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"]
    return [*(f"{folder}/slurm-wlm" for folder in _multiarch()), *folders]


def _library(content: bytes) -> str:
    """Return the first name of a liblua with a version in a binary."""
    start = content.find(b"liblua")
    while start >= 0:
        end = content.find(b"\0", start)
        name = content[start:end].decode("ascii", "replace")
        if _version_in(name) is not None:
            return name
        start = content.find(b"liblua", start + 1)
    return ""


def _version_in(name: str) -> str | None:
    """Return the version in a name such as liblua5.4.so.0, liblua.so.5.4 or liblua-5.4.so."""
    at = name.find("5.")
    return name[at : at + 3] if at >= 0 and name[at + 2 : at + 3].isdigit() else None


def _short(version: str) -> str:
    """Return the version of the language: LuaJIT's is 5.1."""
    return "5.1" if version.startswith("luajit") else version


def _find(version: str) -> tuple[str, str] | None:
    """Return the name and the file of lupa's module for a version."""
    from _frozen_importlib_external import PathFinder

    package = PathFinder.find_spec("lupa")
    if package is None or package.submodule_search_locations is None:
        return None
    for short in VERSIONS.get(version, ()):
        spec = PathFinder.find_spec(f"lupa.{short}", package.submodule_search_locations)
        if spec is not None and spec.origin is not None:
            return f"lupa.{short}", spec.origin
    return None
