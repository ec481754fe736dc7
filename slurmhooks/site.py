# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a process loads: from the configuration, or from a line of plugstack.conf."""

from __future__ import annotations

import os
import sys

from slurmhooks import loader
from slurmhooks.errors import ConfigError, LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Source

MODE = "init_failure_mode="
MODES = ("node", "job")
"""What a failure to load in slurmstepd is the fault of; the stub reads it, native/spank/lines.c."""


def directory() -> str:
    """Return the folder of slurm.conf."""
    return os.path.dirname(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf")


def of_config(path: Path | None = None) -> tuple[Config, list[Source]]:
    """Return the configuration and what it names.

    Args:
        path: the file; by default slurmhooks.toml beside slurm.conf.

    Raises:
        ConfigError: it is wrong.
    """
    from slurmhooks import config

    path = path or config.default_path()
    read = config.read(path)
    sources = loader.expand(read.hooks.paths, str(path.parent))
    return read, [*sources, *(loader.Source(module=name) for name in read.hooks.modules)]


def of_plugstack(args: Sequence[str]) -> tuple[list[Source], list[str]]:
    """Return what the arguments on a line of plugstack.conf name, and those that are left for handlers.

    Args:
        args: ``[config=FILE] [failonerror] [init_failure_mode=MODE] [GLOB ARGS...]``; without a GLOB the configuration
            says what to load.

    Raises:
        LoadError: a file does not exist, or the configuration is wrong.
    """
    config, pattern, rest = split_plugstack(args)
    if pattern is not None:
        return loader.expand([pattern], directory()), rest
    from pathlib import Path

    try:
        return of_config(None if config is None else Path(directory(), config))[1], rest
    except ConfigError as error:
        raise LoadError(error.findings) from error


def fails_on_error(args: Sequence[str]) -> bool:
    """Tell whether an error in a Lua script fails what it is called for: ``failonerror`` before the GLOB."""
    pattern = split_plugstack(args)[1]
    return "failonerror" in (args if pattern is None else args[: list(args).index(pattern)])


def lua_version() -> str | None:
    """Return ``[lua] version`` of the configuration; None if it does not say.

    Raises:
        LoadError: the configuration is wrong.
    """
    try:
        with open(os.path.join(directory(), "slurmhooks.toml"), "rb") as file:
            if b"lua" not in file.read():
                # Importing the model takes longer than all else.
                return None
    except OSError:
        return None
    from slurmhooks import config

    try:
        return config.read(config.default_path()).lua.version
    except ConfigError as error:
        raise LoadError(error.findings) from error


def split_plugstack(args: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """Take the arguments on a line of plugstack.conf apart.

    Returns:
        the value of ``config=`` or None, the GLOB or None, and the arguments for handlers.

    Raises:
        LoadError: ``init_failure_mode=`` has a value that Slurm has not.
    """
    rest = list(args)
    config = None
    while rest and (rest[0].startswith(("config=", MODE)) or rest[0] == "failonerror"):
        word = rest.pop(0)
        if word.startswith("config="):
            config = word.removeprefix("config=")
        elif word.startswith(MODE) and word.removeprefix(MODE) not in MODES:
            raise LoadError([f"plugstack.conf: {word}: it can be {' or '.join(MODE + name for name in MODES)}"])
    return config, rest[0] if rest else None, rest[1:]


def watched(path: Path, read: Config | None = None, sources: Iterable[Source] = ()) -> list[str]:
    """Return the files and folders whose change may mean that the handlers are others.

    Args:
        path: the configuration file.
        read: its content; None if it could not be read.
        sources: what it named; packages count only once they are imported.
    """
    patterns = read.hooks.paths if read is not None else ()
    packages = read.hooks.modules if read is not None else ()
    folders = [os.path.dirname(os.path.join(path.parent, pattern)) for pattern in patterns]
    files = [source.path for source in sources if source.path is not None]
    modules = [getattr(sys.modules[name], "__file__", None) for name in modules_below(packages)]
    return list(dict.fromkeys([str(path), *folders, *files, *filter(None, modules)]))


def modules_below(packages: Iterable[str]) -> list[str]:
    """Return the names of the imported modules that are one of some packages or inside one."""
    packages = tuple(packages)
    return [
        name
        for name in list(sys.modules)
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    ]
