# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a process loads: from the configuration, or from a line of plugstack.conf."""

from __future__ import annotations

import posix
import sys
from _stat import S_ISREG

from slurmhooks import loader, paths, slurm_conf, trusted
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import DEBUG3, LEVELS, USER, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from slurmhooks.config import Config
    from slurmhooks.loader import Source

MODE = "init_failure_mode="
MODES = ("node", "job")
"""What a failure to load in slurmstepd is the fault of; the stub reads it, native/spank/lines.c."""


_CONFIG = "slurmhooks.toml"
"""As in config.py, which is not imported for a name."""
_PLAIN: dict[str, dict[str, type]] = {
    "hooks": {"paths": list, "modules": list, "require": list},
    "job_submit": {"reload": bool, "lua": str},
    "spank": {},
    "scrun": {"lua": str},
    "cli_filter": {"lua": str},
    "log": {"level": str},
}
"""Keys with values that the model of the configuration accepts if they are of that type and not empty."""


def config_path() -> Path:
    """Return where slurmhooks.toml is: beside slurm.conf."""
    from pathlib import Path

    return Path(slurm_conf.directory(), _CONFIG)


def of_config(path: Path | None = None) -> tuple[Config, list[Source]]:
    """Return the configuration and what it names.

    Args:
        path: the file; by default slurmhooks.toml beside slurm.conf.

    Raises:
        ConfigError: it is wrong, or somebody else could have written it.
        LoadError: a folder that it names exists but cannot be listed, or is exposed.
    """
    path = path or config_path()
    read = read_config(path)
    return read, sources_of(path, read)


def read_config(path: Path) -> Config:
    """Return the configuration; one that really does not exist is an empty one.

    Raises:
        ConfigError: it is wrong, cannot be read, or leads nowhere; or somebody else could have written it.
    """
    from slurmhooks import config

    _refuse_hidden(str(path))
    return config.read(path)


def sources_of(path: Path, read: Config) -> list[Source]:
    """Return what a configuration names.

    Args:
        path: of the file.
        read: its content.

    Raises:
        LoadError: a folder exists but cannot be listed.
    """
    found = _expand(read.hooks.paths, str(path.parent))
    return [*found, *(loader.Source(module=name) for name in read.hooks.modules)]


def problems(path: Path | None = None) -> list[str]:
    """Return why the configuration or a folder that it names cannot be read by this process, without loading hooks."""
    try:
        _, found = of_config(path)
    except (ConfigError, LoadError) as error:
        return error.findings
    return [reason for reason in map(loader.unfit, loader.names(found)) if reason is not None]


def sources(path: str | None = None) -> tuple[list[Source], Sequence[str]]:
    """Return what the configuration names, and the handlers that it requires; limit the log as it says.

    For launches without a hook manifest. To import the model of the configuration takes three times as long as all else
    in one, so a file that says little more than which hook files there are is read without it; anything more, or
    anything wrong, is the model's to judge.

    Args:
        path: as for :func:`of_config`.

    Raises:
        ConfigError: it is wrong, or somebody else could have written it.
        LoadError: a folder that it names exists but cannot be listed.
    """
    path = path or f"{slurm_conf.directory()}/{_CONFIG}"
    _refuse_hidden(path)
    tables = _plain(path)
    if tables is not None:
        hooks = tables.get("hooks", {})
        log.limit(tables.get("log", {}).get("level", LEVELS[DEBUG3]))
        found = _expand(hooks.get("paths", ()), path.rpartition("/")[0])
        found += [loader.Source(module=name) for name in hooks.get("modules", ())]
        return found, hooks.get("require", ())
    from pathlib import Path

    read, found = of_config(Path(path))
    log.limit(read.log.level, read.log.limit)
    return found, read.hooks.require


def script_of(point: str) -> str | None:
    """Return the path of a site's Lua script for a plugin point, None if the configuration names none.

    Args:
        point: ``scrun`` or ``cli_filter``, as the table of the configuration is called.

    Raises:
        ConfigError: it is wrong, or somebody else could have written it.
    """
    path = f"{slurm_conf.directory()}/{_CONFIG}"
    _refuse_hidden(path)
    tables = _plain(path)
    name = getattr(read_config(config_path()), point).lua if tables is None else tables.get(point, {}).get("lua")
    return None if name is None else name if name.startswith("/") else f"{slurm_conf.directory()}/{name}"


def _plain(path: str) -> dict[str, Any] | None:
    """Return the tables of a configuration that its model need not judge; None for any other."""
    try:
        raw = trusted.read(path)
    except FileNotFoundError:
        return {}
    except (LoadError, OSError):
        return None
    import tomllib

    try:
        tables = tomllib.loads(raw.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    for name, entries in tables.items():
        kinds = _PLAIN.get(name)
        if kinds is None or not isinstance(entries, dict):
            return None
        if any(_may_be_wrong(value, kinds.get(key)) for key, value in entries.items()):
            return None
    return tables if tables.get("log", {}).get("level", LEVELS[DEBUG3]) in LEVELS[:USER] else None


def _may_be_wrong(value: object, kind: type | None) -> bool:
    if type(value) is not kind or value == "":
        return True
    return isinstance(value, list) and not all(type(item) is str and item for item in value)


def _expand(patterns: Sequence[str], base: str) -> list[Source]:
    """Return the hook files that patterns name, as :func:`loader.expand` does.

    Raises:
        LoadError: somebody else could have put files into a folder that they name, or have taken some away.
    """
    if trusted.guarded():
        for pattern in patterns:
            full = pattern if pattern.startswith("/") else f"{base}/{pattern}"
            folder = full.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
            trusted.check(folder)
    return loader.expand(patterns, base)


def _refuse_hidden(path: str) -> None:
    """Refuse a configuration that cannot be seen, but may exist.

    Raises:
        ConfigError: it is one.
    """
    try:
        mode = posix.stat(path).st_mode
    except OSError as error:
        if not isinstance(error, FileNotFoundError) or not paths.is_absent(path):
            raise ConfigError([f"{path}: {paths.unreachable(error)}"]) from error
        return
    if not S_ISREG(mode):
        # Reading a FIFO would wait for whoever writes to it.
        raise ConfigError([f"{path}: not a file"])


def of_plugstack(args: Sequence[str]) -> tuple[list[Source], list[str], Sequence[str]]:
    """Return what a line of plugstack.conf names, the arguments for handlers, and the handlers that are required.

    Args:
        args: ``[config=FILE] [failonerror] [init_failure_mode=MODE] [GLOB ARGS...]``; without a GLOB the configuration
            says what to load.

    Raises:
        LoadError: a file does not exist, or the configuration is wrong.
    """
    config, pattern, rest = split_plugstack(args)
    if pattern is not None:
        return _expand([pattern], slurm_conf.directory()), rest, ()
    if config is not None and not config.startswith("/"):
        config = f"{slurm_conf.directory()}/{config}"
    try:
        found, require = sources(config)
    except ConfigError as error:
        raise LoadError(error.findings) from error
    return found, rest, require


def fails_on_error(args: Sequence[str]) -> bool:
    """Tell whether an error in a Lua script fails what it is called for: ``failonerror`` before the GLOB."""
    pattern = split_plugstack(args)[1]
    return "failonerror" in (args if pattern is None else args[: list(args).index(pattern)])


def lua_version() -> str | None:
    """Return ``[lua] version`` of the configuration; None if it does not say.

    Raises:
        LoadError: the configuration is wrong.
    """
    from slurmhooks import config

    try:
        return config.read(config_path()).lua.version
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


def watched(path: Path, read: Config, sources: Iterable[Source] = ()) -> list[str]:
    """Return the files whose change may mean that the handlers are others.

    Args:
        path: the configuration file.
        read: its content.
        sources: what it named; packages count only once they are imported.
    """
    return list(dict.fromkeys([str(path), *loader.names(sources), *module_files(read.hooks.modules)]))


def module_files(packages: Iterable[str]) -> list[str]:
    """Return the files of the imported modules that are one of some packages or inside one."""
    files = [getattr(sys.modules[name], "__file__", None) for name in modules_below(packages)]
    return [file for file in files if file is not None]


def folders(path: Path, read: Config) -> list[str]:
    """Return the folders in which files may come that the globs of a configuration name."""
    import os

    found: list[str] = []
    left = [pattern for pattern in patterns_of(path, read) if paths.has_magic(pattern)]
    while left:
        folder = os.path.dirname(left.pop())
        if paths.has_magic(folder):
            found += paths.matches(folder)
            left.append(folder)
        else:
            found.append(folder)
    return list(dict.fromkeys(found))


def patterns_of(path: Path, read: Config) -> list[str]:
    """Return the names and globs of hook files in a configuration, with the folder that they start from."""
    return [str(path.parent / pattern) for pattern in read.hooks.paths]


def modules_below(packages: Iterable[str]) -> list[str]:
    """Return the names of the imported modules that are one of some packages or inside one."""
    packages = tuple(packages)
    return [
        name
        for name in list(sys.modules)
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    ]
