# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets scripts load C modules of the distribution, such as posix and cjson.

C modules need Lua's functions as global symbols. lupa's Lua is made global only when a script loads such a module,
because global symbols of Lua could affect plugins of Slurm that are linked to another Lua.
"""

from __future__ import annotations

import posix

from slurmhooks.lua import finding, library


def open_for_modules(lua: library.Lua) -> str | None:
    """Make the functions of a loaded Lua global; return why this is not possible, or None."""
    name, path, version = lua.module, lua.file, lua.version
    if library.shared.get(name) or _opened.get(name):
        return None
    if library.is_open():
        other = library.present() or "of another kind"
        return f"this process has Lua {other} already, and the scripts run on lupa's {version}"
    own = finding.of_slurm()
    if own not in (None, version):
        return (
            f"it needs Lua {version} open for the whole process, where Lua plugins of this Slurm would take it for"
            f' their own {own}; set [lua] version to "{own}"'
        )
    import ctypes

    try:
        ctypes.CDLL(path, mode=posix.RTLD_GLOBAL | posix.RTLD_NOLOAD | posix.RTLD_NOW)
    except OSError as error:
        return f"the functions of Lua {version} could not be opened for it: {error}"
    _opened[name] = True
    return None


_opened: dict[str, bool] = {}
