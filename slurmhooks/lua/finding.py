# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the Lua for scripts on this machine. Launches with a manifest do not search: the manifest has the result."""

from __future__ import annotations

import os

from slurmhooks.files import slurm_conf
from slurmhooks.lua.library import Lua, NoLuaError, mapped, version_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
"""The values of ``[lua] version``, each with lupa's modules in the order of preference."""

NEWEST_FIRST = ("5.4", "5.3", "5.5", "5.2", "5.1")
"""The order of preference if this Slurm has no Lua plugins: distributions build Slurm with 5.4 today."""

OWN_PLUGINS = ("job_submit_lua.so", "cli_filter_lua.so", "burst_buffer_lua.so", "jobcomp_lua.so")


def find(wanted: str | None = None) -> Lua:
    """Return the Lua for scripts.

    Raises:
        NoLuaError: see :func:`choose`.
    """
    version = choose(wanted)
    module = _find(version)
    assert module is not None
    own, path, cpath = _installed(_short(version)) or ("", *_usual_paths(_short(version)))
    # LuaJIT is another library, and Slurm's own plugins must not find a Lua of another version.
    of_machine = version == _short(version) and of_slurm() in (None, version)
    return Lua(version, *module, path, cpath, own if of_machine else "")


def choose(wanted: str | None = None) -> str:
    """Return the version of Lua for scripts.

    It is the configured version, or else that of Slurm's own Lua plugins, otherwise the most common one.

    Raises:
        NoLuaError: lupa is not installed, or does not have that version.
    """
    if wanted is not None:
        if not is_installed(wanted):
            have = ", ".join(filter(is_installed, VERSIONS)) or "none"
            raise NoLuaError(f"[lua] version: lupa has no Lua {wanted} here; it has: {have}")
        return wanted
    candidates = (of_slurm(), *NEWEST_FIRST)
    for version in candidates:
        if version is not None and is_installed(version):
            return version
    raise NoLuaError("Lua scripts need the Python package lupa, which is not installed where slurmhooks is")


def is_installed(version: str) -> bool:
    """Tell whether lupa has a version of Lua."""
    return _find(version) is not None


def of_slurm(folders: Iterable[str] | None = None) -> str | None:
    """Return the version of Lua that Slurm's own Lua plugins are linked to; None if there are none.

    Args:
        folders: the folders to search; by default that of libslurmfull.so in this process, otherwise those of
            PluginDir in slurm.conf and the usual ones.
    """
    if folders is None:
        folders = [os.path.dirname(path) for path in mapped(b"/libslurmfull")]
        folders = folders or [*(slurm_conf.own_value("PluginDir") or "").split(":"), *_usual_folders()]
    for folder in folders:
        for name in OWN_PLUGINS:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    version = version_in(_library(file.read()))
            except OSError:
                continue
            if version is not None:
                return version
    return None


def _installed(short: str) -> tuple[str, str, str] | None:
    """Return the file of liblua and the search paths that are compiled into it; None if it is not installed."""
    names = (f"liblua{short}.so.0", f"liblua.so.{short}", f"liblua-{short}.so", f"liblua{short}.so")
    for folder in _library_folders():
        for name in names:
            library = os.path.join(folder, name)
            try:
                with open(library, "rb") as file:
                    content = file.read()
            except OSError:
                continue
            path, cpath = _string_around(content, b"/?.lua;"), _string_around(content, b"/?.so;")
            if path and cpath:
                return library, path, cpath
    return None


def _string_around(content: bytes, part: bytes) -> str:
    """Return the C string in a binary that contains a text; an empty text if there is none."""
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
    try:
        return [f"/usr/lib/{name}" for name in os.listdir("/usr/lib") if name.endswith("-linux-gnu")]
    except OSError:
        return []


def _usual_folders() -> list[str]:
    # As in slurmhooks.cli.slurm, but without glob, which takes a launch 5 ms to import.
    folders = ["/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"]
    return [*(f"{folder}/{name}" for folder in _multiarch() for name in ("slurm-wlm", "slurm")), *folders]


def _library(content: bytes) -> str:
    """Return the first name of a liblua with a version number in a binary; an empty text if there is none."""
    start = content.find(b"liblua")
    while start >= 0:
        end = content.find(b"\0", start)
        name = content[start:end].decode("ascii", "replace")
        if version_in(name) is not None:
            return name
        start = content.find(b"liblua", start + 1)
    return ""


def _short(version: str) -> str:
    """Return the version of the language, which is 5.1 for LuaJIT."""
    return "5.1" if version.startswith("luajit") else version


def _find(version: str) -> tuple[str, str] | None:
    """Return the name and the file of lupa's module for a version; None if it is not installed."""
    from _frozen_importlib_external import PathFinder

    package = PathFinder.find_spec("lupa")
    if package is None or package.submodule_search_locations is None:
        return None
    for short in VERSIONS.get(version, ()):
        spec = PathFinder.find_spec(f"lupa.{short}", package.submodule_search_locations)
        if spec is not None and spec.origin is not None:
            return f"lupa.{short}", spec.origin
    return None
