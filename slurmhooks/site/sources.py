# SPDX-License-Identifier: GPL-2.0-or-later
"""Determines which hook files a process loads: those of the configuration, or of a line of plugstack.conf."""

from __future__ import annotations

import posix
from _stat import S_ISREG

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, paths, slurm_conf, trusted
from slurmhooks.handlers import loader
from slurmhooks.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from slurmhooks.config.model import Config
    from slurmhooks.config.plain import Checked
    from slurmhooks.handlers.loader import Source

    ReadChecked = Callable[[str], Checked | str]

FILE_NAME = home.SOURCE
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FORMER = "slurmhooks.d/current"
"""What lines of plugstack.conf call the folder of the files in force, since an earlier release."""


def config_path() -> Path:
    """Return what :func:`config_name` returns."""
    from pathlib import Path

    return Path(config_name())


def config_name() -> str:
    """Return the path of slurmhooks.toml in the set in force; if this machine has never had one, nothing is there.

    Raises:
        LoadError: no set is in force although one should be, or there are sources that were never deployed.
    """
    folder = home.set_in_force()
    if folder is None and (never := home.never_deployed()) is not None:
        raise LoadError([never])
    return f"{folder or f'{home.folder()}/{home.SETS}/{home.NONE}'}/{home.SOURCE}"


def source_path() -> Path:
    """Return the path of the slurmhooks.toml that people edit, which is not in force."""
    from pathlib import Path

    return Path(home.source_in(slurm_conf.directory()))


def shown_path() -> Path:
    """Return the path of the slurmhooks.toml in force; where no set is, of the one that people edit."""
    try:
        return config_path() if home.set_in_force() is not None else source_path()
    except LoadError:
        return source_path()


def shown_config() -> Config:
    """Return the configuration that :func:`shown_path` names."""
    return located_config(shown_path())[1]


def located(path: str) -> str:
    """Return the path of the file that a configuration is a link to; the path itself if it is no link.

    Names in the configuration are relative to this path.
    """
    try:
        posix.readlink(path)
    except OSError:
        return path
    real = paths.real(path)
    # A dangling link is reported later, with an error of its own.
    return real if paths.exists(real) else path


def read_config() -> Config:
    """Return the configuration of the set in force.

    Raises:
        LoadError: there is none, but should be.
        ConfigError: as located_config().
    """
    return _located_config(config_name(), whole=False)[1]


def located_config(link: Path, *, whole: bool = True, checked: ReadChecked | None = None) -> tuple[Path, Config]:
    """Return the path of a configuration, see :func:`located`, and its content; no content if it does not exist.

    The model, whose import is slow, reads only what slurmhooks.config.plain does not read, and says what is invalid.

    ``whole``: also what only job_submit's workers, health checks and commands read, such as rules; otherwise it is as
    if the file had none. ``checked`` returns what was checked at deployment, or why it cannot be used.

    Raises:
        ConfigError: it is invalid, cannot be read, or is a dangling link; or another user could have written it.
    """
    path, config = _located_config(str(link), whole=whole, checked=checked)
    return type(link)(path), config


def _located_config(link: str, *, whole: bool, checked: ReadChecked | None = None) -> tuple[str, Config]:
    """Return what :func:`located_config` returns, without the module pathlib."""
    from slurmhooks.config import plain

    path = located(link)
    _refuse_hidden(path)
    read: Any = None
    if checked is not None:
        read = checked(path)
        if not isinstance(read, str):
            return path, read
    why, tables = read, _plain_tables(path, whole=whole)
    read = plain.Plain(tables) if tables is not None else None
    if read is None:
        from pathlib import Path

        from slurmhooks.config import model

        if why is not None:
            log.info(
                "%s: slurmhooks.toml is checked again, which is slower; 'slurmhooks install' writes that file,"
                " unless private files of the set have several groups",
                why,
            )
        read = model.read(Path(path))
    return path, read


def sources_of(path: Path, config: Config) -> list[Source]:
    """Return the sources that a configuration names; packages come first, as the others import them.

    Raises:
        LoadError: a folder exists but cannot be listed.
    """
    base, hooks = str(path.parent), config.hooks
    folders = [loader.Source(packages=home.placed(name, base)) for name in hooks.packages]
    named = expand([home.placed(pattern, base) for pattern in hooks.paths])
    return [*folders, *named, *(loader.Source(module=name) for name in hooks.modules)]


def _plain_tables(path: str, *, whole: bool) -> dict[str, dict[str, Any]] | None:
    """Return the tables of a configuration that :class:`slurmhooks.config.plain.Plain` can have; otherwise None."""
    import tomllib

    from slurmhooks.config import plain

    try:
        # "utf-8-sig" is a module in a file
        tables = tomllib.loads(trusted.read(path).removeprefix(BYTE_ORDER_MARK).decode())
    except FileNotFoundError:
        return {} if paths.is_absent(path) else None
    except (LoadError, OSError, ValueError, RecursionError):
        return None
    tables = tables if whole else plain.of_all(tables)
    for name, entries in tables.items():
        rows = plain.TABLES.get(name)
        if rows is None or not isinstance(entries, dict):
            return None
        if any(key not in rows or not rows[key].is_valid(value) for key, value in entries.items()):
            return None
    return tables


def expand(patterns: Sequence[str]) -> list[Source]:
    """Return the hook files that absolute patterns match, see slurmhooks.handlers.loader.expand.

    Raises:
        LoadError: as loader.expand(); or another user could have added files to a folder, or removed some.
    """
    if trusted.guarded():
        for pattern in patterns:
            trusted.check(paths.fixed_folder(pattern))
    return loader.expand(patterns, "/")


def _refuse_hidden(path: str) -> None:
    """Refuse a configuration that is lost, may exist although stat does not find it, or is not a regular file.

    Raises:
        ConfigError: it is refused.
    """
    try:
        mode = posix.stat(path).st_mode
    except OSError as error:
        if not isinstance(error, FileNotFoundError) or not paths.is_absent(path):
            raise ConfigError([f"{path}: {paths.unreachable(error)}"]) from error
        if home.is_in_set(path) and not path.endswith(f"/{home.NONE}/{home.SOURCE}"):
            raise ConfigError(
                [f"{path}: is lost: 'slurmhooks rollback' or 'deploy' puts a whole set in force"]
            ) from error
        return
    if not S_ISREG(mode):
        # Reading a FIFO would wait for a writer.
        raise ConfigError([f"{path}: not a file"])


def lacks(config: str | None, pattern: str | None, folder: str | None) -> bool:
    """Tell whether a set, or the sources, do not have what a line of plugstack.conf names.

    Without ``folder``, that of the set, the sources count.
    """
    if pattern is not None:
        path = absolute(pattern, folder)
        return paths.is_absent(paths.fixed_folder(path) if paths.has_magic(path) else path)
    return config is not None and paths.is_absent(absolute_config(config, folder))


def lacking(args: Sequence[str]) -> str:
    """Return the finding for a line of plugstack.conf that names what the set in force does not have."""
    return f"plugstack.conf: {' '.join(args)}: the set in force does not have it: deploy one that has it"


def absolute(pattern: str, folder: str | None) -> str:
    """Return the absolute path of a GLOB of plugstack.conf.

    A GLOB is relative to ``folder``, the set in force; None: it is relative to slurm.conf.
    """
    if folder is not None:
        return home.placed(pattern.removeprefix(f"{FORMER}/"), folder)
    return paths.below(home.folder() if pattern.startswith(f"{FORMER}/") else slurm_conf.directory(), pattern)


def absolute_config(name: str, folder: str | None) -> str:
    """Return the absolute path of a configuration that a line of plugstack.conf names; arguments as absolute()."""
    return paths.below(slurm_conf.directory(), name) if folder is None else home.placed(name, folder)


def lua_version() -> str | None:
    """Return ``[lua] version`` of the set in force; None if it is not set.

    Raises:
        LoadError: the configuration is invalid.
    """
    try:
        return read_config().lua.version
    except ConfigError as error:
        raise LoadError(error.findings) from error


def script_of(point: str, path: Path, config: Config) -> str | None:
    """Return the site's own Lua script for job_submit, scrun or cli_filter; None if the configuration names none."""
    name: str | None = getattr(config, point).lua
    return None if name is None else home.placed(name, str(path.parent))
