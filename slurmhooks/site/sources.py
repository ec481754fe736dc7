# SPDX-License-Identifier: GPL-2.0-or-later
"""Determines which hook files a process loads: those of the configuration, or of a line of plugstack.conf."""

from __future__ import annotations

import posix
from _stat import S_ISREG

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import paths, plugstack, slurm_conf, trusted
from slurmhooks.handlers import loader
from slurmhooks.log import DEBUG3, LEVELS, USER, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.loader import Source

    Read = Callable[[str | None], tuple[list[Source], Sequence[str]]]

FILE_NAME = "slurmhooks.toml"
"""As in config.py, which imports pydantic."""
DEPLOYED = "slurmhooks.d/current"
"""The folder of the deployed bundle's files, relative to that of slurm.conf."""
_PLAIN: dict[str, dict[str, type]] = {
    "hooks": {"paths": list, "modules": list, "packages": list, "require": list},
    "job_submit": {"reload": bool, "lua": str},
    "spank": {},
    "scrun": {"lua": str},
    "cli_filter": {"lua": str},
    "log": {"level": str},
}
"""Keys whose values the model of the configuration accepts if they have this type and are not empty."""


def config_path() -> Path:
    """Return the path of slurmhooks.toml, which is beside slurm.conf."""
    from pathlib import Path

    return Path(slurm_conf.directory(), FILE_NAME)


def located(path: str) -> str:
    """Return the path of the file that a configuration is a link to; the path itself if it is no link.

    Names in the configuration are relative to this path. A caller that resolves the link only once gets files that
    belong together, even if ``slurmhooks deploy`` changes the link meanwhile.
    """
    try:
        posix.readlink(path)
    except OSError:
        return path
    real = paths.real(path)
    # A dangling link is reported later, with an error of its own.
    return path if isinstance(paths.state(real), int) else real


def located_path(path: Path) -> Path:
    """Return what :func:`located` returns."""
    return type(path)(located(str(path)))


def of_config(path: Path | None = None) -> tuple[Config, list[Source]]:
    """Return the configuration and the sources that it names.

    Args:
        path: path of the file, see :func:`located`; by default slurmhooks.toml beside slurm.conf.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: a folder of hook files exists but cannot be listed, or another user could write to it.
    """
    link = path or config_path()
    path = located_path(link)
    config = read_config(path)
    return config, sources_of(path, config, link)


def read_config(path: Path) -> Config:
    """Return the configuration; an empty one if the file does not exist.

    Raises:
        ConfigError: it is invalid, cannot be read, or is a dangling link; or another user could have written it.
    """
    from slurmhooks.config import model as config

    _refuse_hidden(str(path))
    return config.read(path)


def sources_of(path: Path, config: Config, link: Path) -> list[Source]:
    """Return the sources that a configuration names.

    Args:
        path: path of the file.
        config: its content.
        link: the path before :func:`located`.

    Raises:
        LoadError: a folder exists but cannot be listed, or a name is relative to another folder than it seems.
    """
    _refuse_misplaced(str(link), str(path), names_of(config))
    return _sources(config.hooks.paths, config.hooks.modules, config.hooks.packages, str(path.parent))


def _sources(patterns: Sequence[str], modules: Iterable[str], packages: Iterable[str], base: str) -> list[Source]:
    """Return the sources of ``[hooks]``; packages come first, as the others import them."""
    folders = [loader.Source(packages=name if name.startswith("/") else f"{base}/{name}") for name in packages]
    return [*folders, *_expand(patterns, base), *(loader.Source(module=name) for name in modules)]


def problems(path: Path | None = None) -> list[str]:
    """Return why this process cannot read the configuration or hook files, without loading them."""
    try:
        _, files = of_config(path)
    except (ConfigError, LoadError) as error:
        return error.findings
    findings: list[str] = []
    for name in loader.files_of(files):
        try:
            loader.read(name)
        except LoadError as error:
            findings += error.findings
    return findings


def names_of(config: Config) -> list[str]:
    """Return the names, globs and folders in a configuration that may be relative to it."""
    scripts = (config.job_submit.lua, config.scrun.lua, config.cli_filter.lua)
    return [*config.hooks.paths, *config.hooks.packages, *(name for name in scripts if name is not None)]


def _refuse_misplaced(link: str, path: str, names: Iterable[str]) -> None:
    """Refuse names in a configuration that lead to other files beside the link to it, where they seem to be.

    Raises:
        LoadError: there are such names.
    """
    if link == path:
        return
    from slurmhooks.files import misplaced

    findings = misplaced.findings(link, path, names)
    if findings:
        raise LoadError(findings)


def sources(path: str | None = None, link: str | None = None) -> tuple[list[Source], Sequence[str]]:
    """Return the sources and the required handlers of the configuration, and apply its ``[log]``.

    For launches without a hook manifest. Importing the model of the configuration takes three times as long as the rest
    of a launch, so a simple and valid file is read without the model. Any other file is left to the model.

    Args:
        path: as for :func:`of_config`.
        link: the path before :func:`located`, if it was called.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: as :func:`sources_of`.
    """
    link = link or path or f"{slurm_conf.directory()}/{FILE_NAME}"
    path = located(path or link)
    _refuse_hidden(path)
    tables = _plain(path)
    if tables is not None:
        hooks = tables.get("hooks", {})
        log.limit(tables.get("log", {}).get("level", LEVELS[DEBUG3]))
        base = path.rpartition("/")[0]
        _refuse_misplaced(link, path, [*hooks.get("paths", ()), *hooks.get("packages", ())])
        simple = _sources(hooks.get("paths", ()), hooks.get("modules", ()), hooks.get("packages", ()), base)
        return simple, hooks.get("require", ())
    from pathlib import Path

    config = read_config(Path(path))
    named = sources_of(Path(path), config, Path(link))
    log.limit(config.log.level, config.log.limit)
    return named, config.hooks.require


def script_of(point: str, path: str | None = None, link: str | None = None) -> str | None:
    """Return the path of the site's own Lua script for a plugin point; None if the configuration names none.

    Args:
        point: ``scrun`` or ``cli_filter``: the table of the configuration.
        path: path of the file; by default slurmhooks.toml beside slurm.conf.
        link: the path before :func:`located`, if it was called.

    Raises:
        ConfigError: the configuration is invalid, or another user could have written it.
        LoadError: the name is relative to another folder than it seems.
    """
    link = link or path or f"{slurm_conf.directory()}/{FILE_NAME}"
    path = located(path or link)
    _refuse_hidden(path)
    tables = _plain(path)
    if tables is None:
        from pathlib import Path

        name = getattr(read_config(Path(path)), point).lua
    else:
        name = tables.get(point, {}).get("lua")
    if name is not None:
        _refuse_misplaced(link, path, [name])
    return None if name is None else name if name.startswith("/") else f"{path.rpartition('/')[0]}/{name}"


def _plain(path: str) -> dict[str, Any] | None:
    """Return the tables of a configuration that is valid according to ``_PLAIN``; None if the model has to decide."""
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
    # These tables are for slurmctld, or for slurmhooks_health, which needs the model.
    for name in ("policy", "policies", "policy_defaults", "health"):
        tables.pop(name, None)
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
    """Return the hook files that patterns match, see slurmhooks.handlers.loader.expand.

    Raises:
        LoadError: as loader.expand(); or another user could have added files to a folder, or removed some.
    """
    if trusted.guarded():
        for pattern in patterns:
            trusted.check(paths.fixed_folder(pattern if pattern.startswith("/") else f"{base}/{pattern}"))
    return loader.expand(patterns, base)


def _refuse_hidden(path: str) -> None:
    """Refuse a configuration that may exist although stat does not find it, and one that is not a regular file.

    Raises:
        ConfigError: it may be hidden, or is not a regular file.
    """
    try:
        mode = posix.stat(path).st_mode
    except OSError as error:
        if not isinstance(error, FileNotFoundError) or not paths.is_absent(path):
            raise ConfigError([f"{path}: {paths.unreachable(error)}"]) from error
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
    if pattern is not None:
        if awaits_deployment(pattern):
            return [], rest, ()
        # Resolve the folder once for all files, so that they belong together even if a link on the way changes
        # meanwhile.
        folder, _, last = paths.below(slurm_conf.directory(), pattern).rpartition("/")
        folder = folder if paths.has_magic(folder) else paths.real(folder)
        return _expand([f"{folder}/{last}"], "/"), rest, ()
    if config is not None:
        config = paths.below(slurm_conf.directory(), config)
        if isinstance(paths.state(config), int) and paths.is_absent(config):
            raise LoadError([no_such(config)])
    try:
        named, require = read(config)
    except ConfigError as error:
        raise LoadError(error.findings) from error
    return named, rest, require


def awaits_deployment(pattern: str) -> bool:
    """Tell whether a GLOB of plugstack.conf names files of a bundle, and none has been deployed yet.

    Then the line has no hooks: a configless node gets its first bundle before its first job, but slurmd starts earlier.
    """
    current = f"{slurm_conf.directory()}/{DEPLOYED}"
    return paths.below(slurm_conf.directory(), pattern).startswith(f"{current}/") and paths.is_absent(current)


def no_such(config: str) -> str:
    """Return the finding for a configuration that a line of plugstack.conf names and that does not exist."""
    return f"{config}: does not exist; config= in plugstack.conf names it"


def lua_version() -> str | None:
    """Return ``[lua] version`` of the configuration; None if it is not set.

    Raises:
        LoadError: the configuration is invalid.
    """
    from slurmhooks.config import model as config

    try:
        return config.read(config_path()).lua.version
    except ConfigError as error:
        raise LoadError(error.findings) from error
