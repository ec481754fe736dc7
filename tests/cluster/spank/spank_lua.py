# SPDX-License-Identifier: GPL-2.0-or-later
"""spank-lua itself, https://github.com/stanford-rc/slurm-spank-lua, for comparisons in clusters."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

PLUGIN = "/opt/spank-lua/lua.so"
WHERE = "SLURMHOOKS_SPANK_LUA"
"""The environment variable with the path of its library, or of the folder with its sources."""
SOURCES = ("lua.c", "lib/list.c", "lib/list.h")


def install(path: Path, put: Callable[[str, str], object], root: Callable[[str], object]) -> None:
    """Install a library unchanged, or a folder of sources, compiled with the cluster's Lua.

    Raises:
        FileNotFoundError: it is neither.
    """
    folder = PurePosixPath(PLUGIN).parent
    root(f"mkdir -p {folder}/lib")
    if path.is_file():
        put(str(path), PLUGIN)
        return
    for name in SOURCES:
        if not (path / name).is_file():
            raise FileNotFoundError(f"{path}: neither a library nor a folder with {name}")
        put(str(path / name), f"{folder}/{name}")
    root(
        f"cd {folder} && gcc -O2 -w -fPIC -shared -I. lua.c lib/list.c -o {PLUGIN}"
        " $(pkg-config --cflags --libs lua5.1) -ldl"
    )
