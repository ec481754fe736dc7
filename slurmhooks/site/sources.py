# SPDX-License-Identifier: GPL-2.0-or-later
"""Determines which hook files a process loads: those of the configuration, or of a line of plugstack.conf."""

from __future__ import annotations

import posix
from _stat import S_ISREG

from slurmhooks.errors import ConfigError, LoadError, ReplacedError
from slurmhooks.files import home, paths, plugstack, slurm_conf, trusted
from slurmhooks.handlers import loader
from slurmhooks.log import log
from slurmhooks.site.replaced import Unchanged, again, refuse_replaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from slurmhooks.config.keys import Key
    from slurmhooks.config.model import Config
    from slurmhooks.handlers.loader import Source

    Read = Callable[[str | None], tuple[list[Source], Sequence[str]]]
    Values = Callable[[str, str], Any]
    """Returns the value of a key of a table."""

FILE_NAME = "slurmhooks.toml"
"""As in slurmhooks.config.model, which imports pydantic."""
OTHERS = ("policy", "policies", "policy_defaults", "policy_exemptions", "health")
"""Tables for slurmctld, or for slurmhooks_health; launches do not check them."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FORMER = "slurmhooks.d/current"
"""What lines of plugstack.conf call the folder of the files in force, since an earlier release."""


def config_path() -> Path:
    """Return the path of slurmhooks.toml: in the set in force, or in the home if nothing has been deployed."""
    from pathlib import Path

    return Path(config_name())


def config_name() -> str:
    """Return what :func:`config_path` returns, as a text."""
    return config_in(slurm_conf.directory())


def config_in(directory: str) -> str:
    """Return what :func:`config_name` returns, for a folder of slurm.conf."""
    return f"{home.pointer(directory) or home.of(directory)}/{FILE_NAME}"


def located(path: str) -> str:
    """Return the path of the file that a configuration is a link to; the path itself if it is no link.

    Names in the configuration are relative to this path. A caller that resolves the link only once gets files that
    belong together, even if ``slurmhooks deploy`` changes the link meanwhile.
    """
    folder = path.rpartition("/")[0]
    try:
        posix.readlink(folder if folder.endswith(f"/{home.SET}") else path)
    except OSError:
        return path
    real = paths.real(path)
    # A dangling link is reported later, with an error of its own.
    return path if isinstance(paths.state(real), int) else real


def read_config(link: str) -> Config:
    """Return the configuration; see :func:`located_config`."""
    return again(lambda: _located_config(link))[1]


def located_config(link: Path) -> tuple[Path, Config]:
    """Return the path of a configuration, see :func:`located`, and its content; no content if it does not exist.

    The model, whose import is slow, reads only what slurmhooks.config.plain does not read, and says what is invalid.

    Raises:
        ConfigError: it is invalid, cannot be read, or is a dangling link; or another user could have written it.
        ReplacedError: it was replaced meanwhile.
    """
    path, config = _located_config(str(link))
    return type(link)(path), config


def _located_config(link: str) -> tuple[str, Config]:
    """Return what :func:`located_config` returns, without the module pathlib."""
    from slurmhooks.config import plain

    path = located(link)
    with Unchanged(link, path):
        _refuse_hidden(path)
        tables = _valid(path, plain.TABLES.get)
        read: Any = plain.Plain(tables) if tables is not None else None
        if read is None:
            from pathlib import Path

            from slurmhooks.config import model

            read = model.read(Path(path))
    return path, read


def sources_of(path: Path, config: Config, link: Path) -> list[Source]:
    """Return the sources that a configuration names.

    Args:
        path: path of the file.
        config: its content.
        link: the path before :func:`located`.

    Raises:
        LoadError: a folder exists but cannot be listed, or a name is relative to another folder than it seems.
    """
    with Unchanged(str(link), str(path)):
        _refuse_misplaced(str(link), str(path), names_of(config))
        return _sources(config.hooks.paths, config.hooks.modules, config.hooks.packages, str(path.parent))


def _sources(patterns: Sequence[str], modules: Iterable[str], packages: Iterable[str], base: str) -> list[Source]:
    """Return the sources of ``[hooks]``; packages come first, as the others import them."""
    folders = [loader.Source(packages=home.placed(name, base)) for name in packages]
    return [*folders, *_expand(patterns, base), *(loader.Source(module=name) for name in modules)]


def names_of(config: Config) -> list[str]:
    """Return the names, globs and folders in a configuration that may be relative to it."""
    scripts = (config.job_submit.lua, config.scrun.lua, config.cli_filter.lua)
    return [*config.hooks.paths, *config.hooks.packages, *(name for name in scripts if name is not None)]


def _refuse_misplaced(link: str, path: str, names: Iterable[str]) -> None:
    """Refuse names in a configuration that lead to other files beside the link to it, where they seem to be.

    Raises:
        LoadError: there are such names; or as :func:`slurmhooks.site.replaced.refuse_replaced`.
    """
    if link == path:
        return
    refuse_replaced(link, path)
    from slurmhooks.files import misplaced

    findings = misplaced.findings(link, path, names)
    if findings:
        raise LoadError(findings)


def sources(path: str | None = None, link: str | None = None) -> tuple[list[Source], Sequence[str]]:
    """Return the sources and the required handlers of the configuration, and apply its ``[log]``.

    For launches without a hook manifest.

    Args:
        path: path of the file, see :func:`located`; by default slurmhooks.toml in the home.
        link: the path before :func:`located`, if it was called.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: as :func:`sources_of`.
    """
    link = link or path or config_name()
    path = located(path or link)
    with Unchanged(link, path):
        value = values(path)
        log.limit(value("log", "level"), value("log", "limit"))
        patterns, packages = value("hooks", "paths"), value("hooks", "packages")
        _refuse_misplaced(link, path, [*patterns, *packages])
        named = _sources(patterns, value("hooks", "modules"), packages, path.rpartition("/")[0])
    return named, value("hooks", "require")


def script_of(point: str, path: str | None = None, link: str | None = None) -> str | None:
    """Return the path of the site's own Lua script for a plugin point; None if the configuration names none.

    Args:
        point: ``scrun`` or ``cli_filter``: the table of the configuration.
        path: path of the file; by default slurmhooks.toml in the home.
        link: the path before :func:`located`, if it was called.

    Raises:
        ConfigError: the configuration is invalid, or another user could have written it.
        LoadError: the name is relative to another folder than it seems.
    """
    link = link or path or config_name()
    path = located(path or link)
    with Unchanged(link, path):
        name: str | None = values(path)(point, "lua")
        _refuse_misplaced(link, path, [] if name is None else [name])
    return None if name is None else home.placed(name, path.rpartition("/")[0])


def values(path: str) -> Values:
    """Return the function that returns values of a configuration, for launches and commands.

    A valid file is read without the model, whose import takes longer than the rest of a launch. The model decides on
    any other file: it says what is wrong, or converts a value such as a number in quotation marks.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
    """
    _refuse_hidden(path)
    tables = _valid(path, _keys, OTHERS)
    if tables is not None:
        return lambda table, key: tables.get(table, {}).get(key, (_keys(table) or {})[key].default)
    config = read_config(path)
    return lambda table, key: getattr(getattr(config, table), key)


def _keys(name: str) -> Mapping[str, Key] | None:
    """Return the keys of a table; None if launches do not know it."""
    from slurmhooks.config import keys

    if name in keys.TABLES:
        return keys.rows(keys.TABLES[name])
    from slurmhooks.config import controller

    return keys.rows(controller.TABLES[name]) if name in controller.TABLES else None


def _valid(
    path: str, keys_of: Callable[[str], Mapping[str, Key] | None], ignored: Iterable[str] = ()
) -> dict[str, dict[str, Any]] | None:
    """Return the tables of a configuration if it is valid according to its keys; otherwise None.

    Args:
        path: path of the file.
        keys_of: returns the keys of a table; None if the file may not have it.
        ignored: tables that are neither checked nor returned.
    """
    from slurmhooks.config import plain_toml

    try:
        text = trusted.read(path).removeprefix(BYTE_ORDER_MARK).decode()  # "utf-8-sig" is a module in a file
    except FileNotFoundError:
        return {} if paths.is_absent(path) else None
    except (LoadError, OSError, UnicodeDecodeError):
        return None
    tables = plain_toml.read(text)
    if tables is None:
        import tomllib

        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError):
            return None
        if "0000" in text:  # perhaps a NUL byte: the model says where it is
            return None
    for name in ignored:
        tables.pop(name, None)
    for name, entries in tables.items():
        rows = keys_of(name)
        if rows is None or not isinstance(entries, dict):
            return None
        if any(key not in rows or not rows[key].is_valid(value) for key, value in entries.items()):
            return None
    return tables


def _expand(patterns: Sequence[str], base: str) -> list[Source]:
    """Return the hook files that patterns match, see slurmhooks.handlers.loader.expand.

    Raises:
        LoadError: as loader.expand(); or another user could have added files to a folder, or removed some.
    """
    patterns = [home.placed(pattern, base) for pattern in patterns]
    if trusted.guarded():
        for pattern in patterns:
            trusted.check(paths.fixed_folder(pattern))
    return loader.expand(patterns, base)


def _refuse_hidden(path: str) -> None:
    """Refuse a configuration that may exist although stat does not find it, and one that is not a regular file.

    Raises:
        ConfigError: it may be hidden, or is not a regular file.
    """
    try:
        mode = posix.stat(path).st_mode
    except OSError as error:
        unusable = home.fault(path)
        if unusable is not None:
            raise ConfigError([unusable]) from error
        if not isinstance(error, FileNotFoundError) or not paths.is_absent(path):
            raise ConfigError([f"{path}: {paths.unreachable(error)}"]) from error
        folder = path.rpartition("/")[0]
        if folder.endswith(f"/{home.SET}") or home.is_in_set(path):
            raise ConfigError([home.no_set(folder)]) from error
        from slurmhooks.files import misplaced

        elsewhere = misplaced.of_configuration(path)
        if elsewhere is not None:
            raise ConfigError([elsewhere]) from error
        return
    if not S_ISREG(mode):
        # Reading a FIFO would wait for a writer.
        raise ConfigError([f"{path}: not a file"])


def of_plugstack(args: Sequence[str], read: Read = sources) -> tuple[list[Source], list[str], Sequence[str]]:
    """Return the sources of a line of plugstack.conf, the arguments for its handlers, and the required handlers.

    Args:
        args: ``[config=FILE] [failonerror] [init_failure_mode=MODE] [GLOB ARGS...]``; without a GLOB, the configuration
            names the sources.
        read: returns the sources and the required handlers of the configuration with this path.

    Raises:
        LoadError: a file does not exist, or the configuration is invalid.
    """
    config, pattern, rest = plugstack.split(args)
    for text in plugstack.unknown(args):
        log.error("%s", text)
    folder = home.set_in_force() if config is not None or pattern is not None else None
    if lacks(config, pattern, folder):
        log.error("plugstack.conf: %s: the set in force does not have it, so this line has no hooks", config or pattern)
        return [], rest, ()
    if pattern is not None:
        # Resolve the folder once for all files, so that they belong together even if a link on the way changes
        # meanwhile.
        link, _, last = of_line(pattern, folder).rpartition("/")
        folder = link if paths.has_magic(link) else paths.real(link)
        with Unchanged(link, folder):
            named = _expand([f"{folder}/{last}"], "/")
        return named, rest, ()
    if config is not None:
        config = config_of_line(config, folder)
        if isinstance(paths.state(config), int) and paths.is_absent(config):
            raise LoadError([no_such(config)])
    try:
        named, require = read(config)
    except ReplacedError:
        raise
    except ConfigError as error:
        raise LoadError(error.findings) from error
    return named, rest, require


def lacks(config: str | None, pattern: str | None, folder: str | None) -> bool:
    """Tell whether the set in force does not have what a line of plugstack.conf names.

    The line has no hooks then: plugstack.conf is Slurm's, and an edit of it must not fail launches. A configless node
    gets its first set before its first job, but slurmd starts earlier.

    Args:
        config: ``config=`` of the line.
        pattern: its GLOB.
        folder: the set in force; None: nothing has been deployed on this machine.
    """
    if pattern is not None:
        path = of_line(pattern, folder)
        former = f"{home.folder()}/{FORMER}"  # of an earlier release, which calls the sets bundles
        if folder is None and not (path.startswith(f"{former}/") and paths.is_absent(former)):
            return False
        return paths.is_absent(paths.fixed_folder(path) if paths.has_magic(path) else path)
    return config is not None and folder is not None and paths.is_absent(config_of_line(config, folder))


def lacking(args: Sequence[str]) -> str:
    """Return the finding for a line of plugstack.conf that names what the set in force does not have."""
    return f"plugstack.conf: {' '.join(args)}: the set in force does not have it: deploy one that has it"


def of_line(pattern: str, folder: str | None) -> str:
    """Return the absolute path of a GLOB of plugstack.conf.

    Args:
        pattern: the GLOB.
        folder: the set in force, to which it is relative; None: it is relative to slurm.conf.
    """
    if folder is not None:
        return home.placed(pattern.removeprefix(f"{FORMER}/"), folder)
    return paths.below(home.folder() if pattern.startswith(f"{FORMER}/") else slurm_conf.directory(), pattern)


def config_of_line(name: str, folder: str | None) -> str:
    """Return the absolute path of a configuration that a line of plugstack.conf names; arguments as of_line()."""
    return paths.below(slurm_conf.directory(), name) if folder is None else home.placed(name, folder)


def no_such(config: str) -> str:
    """Return the finding for a configuration that a line of plugstack.conf names and that does not exist."""
    return f"{config}: does not exist; config= in plugstack.conf names it"


def lua_version() -> str | None:
    """Return ``[lua] version`` of the configuration; None if it is not set.

    Raises:
        LoadError: the configuration is invalid.
    """
    try:
        version: str | None = values(config_name())("lua", "version")
    except ConfigError as error:
        raise LoadError(error.findings) from error
    return version
