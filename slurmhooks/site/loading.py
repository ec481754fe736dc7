# SPDX-License-Identifier: GPL-2.0-or-later
"""Leads from what a site has configured to loaded handlers: the one way for daemons, launches and commands."""

from __future__ import annotations

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.handlers import loader
from slurmhooks.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.loader import Source
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.site.sources import ReadChecked

    Scripts = Callable[[Config, Path], list[Source]]
    """Returns the sources in other languages that a configuration names for a plugin point; they come first."""
    Read = Callable[[str, Sequence[str]], list[Handler]]


class Named:
    """What is to be loaded, before any code of the site runs.

    Attributes:
        sources: hook files, modules and folders of packages.
        scripts: sources in other languages. Those with a function that reads them precede ``sources``; the others are
            Lua scripts for SPANK, which slurmhooks.lua adds to the registry.
        require: labels of handlers that must be among those of ``sources``, whichever process loads them.
        rest: for a line of plugstack.conf, the arguments for its handlers.
        rows: what the manifest says of a line or plugin point; None if the configuration decides.
    """

    __slots__ = ("require", "rest", "rows", "scripts", "sources")

    def __init__(self, sources: Iterable[Source], require: Sequence[str] = (), scripts: Iterable[Source] = ()) -> None:
        self.sources = list(sources)
        self.require = require
        self.scripts = list(scripts)
        self.rest: list[str] = []
        self.rows: list[list[str]] | None = None

    @property
    def all_sources(self) -> list[Source]:
        """The sources in the order in which they are loaded."""
        return [*self.scripts, *self.sources]

    def load(self) -> Registry:
        """Load the handlers.

        Raises:
            LoadError: with all findings; nothing is registered then.
        """
        return loader.load([*(each for each in self.scripts if each.read is not None), *self.sources], self.require)


class Configured(Named):
    """What a configuration names.

    Attributes:
        path: of the configuration, with its link resolved; names in it are relative to this path.
        config: its content.
    """

    __slots__ = ("config", "path")

    def __init__(self, path: Path, config: Config, sources: Iterable[Source], scripts: Iterable[Source]) -> None:
        require = tuple(label for label in config.hooks.require if not of_one_point(label))
        super().__init__(sources, require, scripts)
        self.path = path
        self.config = config

    def give_modes(self, registry: Registry, hooks: Container[str] | None = None) -> list[str]:
        """Give handlers the modes of the configuration; return findings about these modes, and about what is required.

        ``hooks`` are those that this process calls; default: all, and everything that the configuration names has been
        loaded. If none of them has modes, the process may not have loaded it, such as a Lua script.
        """
        from slurmhooks.handlers.registry import missing
        from slurmhooks.handlers.rollouts import assign

        if hooks is not None and not have_modes(hooks):
            return []
        handlers, require = registry.all_handlers(), self.config.hooks.require
        # Workers of job_submit load no script of cli_filter.
        script = self.config.cli_filter.lua if hooks is not None else None
        elsewhere = f"{script.rpartition('/')[2]}:" if script is not None else None
        wanted = (label for label in require if of_one_point(label))
        lacking = missing((label for label in wanted if not elsewhere or not label.startswith(elsewhere)), handlers)
        return lacking + assign(self.config.rollouts(), handlers, require)


def of_one_point(label: str) -> bool:
    """Tell whether a label is that of a rule or of a Lua script, which only the processes of one plugin point load."""
    return label.startswith("rule:") or ".lua:" in label


def have_modes(hooks: Container[str]) -> bool:
    """Tell whether some hooks have modes and rules: those of job_submit have."""
    from slurmhooks.hooks.points import HOOKS

    return any(name in hooks for name, spec in HOOKS.items() if spec.has_modes)


def of_config(
    link: Path, scripts: Scripts | None = None, *, whole: bool = True, checked: ReadChecked | None = None
) -> Configured:
    """Return what a configuration names.

    ``scripts`` adds what it names in other languages; for the others see slurmhooks.site.sources.located_config().

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: as slurmhooks.site.sources.sources_of().
    """
    from slurmhooks.site import sources as site

    path, config = site.located_config(link, whole=whole, checked=checked)
    return Configured(path, config, site.sources_of(path, config), scripts(config, path) if scripts is not None else ())


def of_line(args: Sequence[str], *, known: bytes | None = None, source: bool = False) -> Named:
    """Return what a line of plugstack.conf names: the manifest says it, or the set and the line do.

    Args:
        args: ``[config=FILE] [failonerror] [init_failure_mode=MODE] [GLOB ARGS...]``; without a GLOB, the configuration
            names the sources, and what is returned is :class:`Configured`.
        known: the manifest, as C has read it; None: it does not have the line.
        source: of what people edit, in place of the set in force.

    Raises:
        LoadError: a file does not exist, or the configuration is invalid.
    """
    from slurmhooks.files import plugstack

    rows = None
    if known is not None:
        from slurmhooks.site import manifest

        rows = manifest.records(known, args)
    config, pattern, rest = plugstack.split(args)
    named = _in_manifest(rows) if rows is not None else _by_line(args, config, pattern, source)
    named.rest = rest
    named.scripts = [source for source in named.sources if source.scripted]
    named.sources = [source for source in named.sources if not source.scripted]
    return named


def _by_line(args: Sequence[str], config: str | None, pattern: str | None, source: bool) -> Named:
    """Return what a line of plugstack.conf names that the manifest does not have; see :func:`of_line`.

    A line that names what the set does not have has no hooks: plugstack.conf is Slurm's, and an edit of it must not
    fail launches.
    """
    from slurmhooks.files import home, plugstack
    from slurmhooks.site import sources as site

    for text in plugstack.unknown(args):
        log.error("%s", text)
    folder = None if source else home.set_in_force()
    lacks = site.lacks(config, pattern, folder)
    if source and lacks:
        raise LoadError([f"plugstack.conf: {' '.join(args)}: does not exist beside slurm.conf"])
    if folder is None and not source:
        return _without_set(None if lacks or (config or pattern) is None else f"plugstack.conf: {' '.join(args)}")
    if lacks:
        log.error("%s, so this line has no hooks", site.lacking(args))
        return Named(())
    try:
        if pattern is not None:
            return Named(site.expand([site.absolute(pattern, folder)]))
        from pathlib import Path

        if config is not None:
            path = Path(site.absolute_config(config, folder))
        else:
            path = site.source_path() if source else site.config_path()
        return _limited(of_config(path, whole=False))
    except ConfigError as error:
        raise LoadError(error.findings) from error


def _without_set(line: str | None = None) -> Named:
    """Return no hooks, for a launch on a machine that has never had a set; log what may be meant to be in force.

    Args:
        line: of plugstack.conf, if it names files that exist.
    """
    from slurmhooks.files import home

    never = home.never_deployed() or (f"{line}: was never deployed, so it has no hooks" if line is not None else None)
    if never is not None:
        log.error("%s", never)
    return Named(())


def _limited(named: Configured) -> Configured:
    """Limit the log as a configuration says, in a launch without a manifest."""
    log.limit(named.config.log.level, named.config.log.limit)
    return named


def of_point(point: str, *, known: bytes | None, read: Read | None = None) -> Named:
    """Return what a plugin point without a line in plugstack.conf names.

    ``known`` is the manifest, as C has read it; None: there is none. ``read`` returns the handlers of the site's Lua
    script; it gets its path and the manifest's words for its Lua library.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a folder cannot be listed, or another user could have written a file.
    """
    from slurmhooks.site import manifest

    rows = None if known is None else manifest.records(known, (), point)
    lua: Sequence[str] = ()
    if rows is not None:
        named, lua = _in_manifest(rows), manifest.of_scripts(rows)[0]
    else:
        from slurmhooks.files import home
        from slurmhooks.site import sources as site

        if home.set_in_force() is None:
            return _without_set()
        named = configured = _limited(of_config(site.config_path(), whole=False))
        script = site.script_of(point, configured.path, configured.config) if read is not None else None
        if script is not None:
            # A script runs before the handlers of hook files of the same order, as for job_submit.
            named.sources.insert(0, loader.Source(path=script))
    if read is not None:
        for source in named.sources:
            if source.scripted:
                source.read = lambda path: read(path, lua)
    return named


def _in_manifest(rows: list[list[str]]) -> Named:
    """Return what the manifest names; 'slurmhooks deploy' writes none that lacks a required handler."""
    from slurmhooks.site import manifest

    named = Named(manifest.sources(rows))
    named.rows = rows
    return named


def of_files(names: Iterable[str]) -> Named:
    """Return hook files that a user names; there is no configuration, and owners and modes are not checked."""
    from slurmhooks.files.paths import real

    return Named(loader.Source(path=real(name), name=name) for name in names)


def files_in(path: str) -> list[str]:
    """Return the hook files in a folder, or the path of a file."""
    import glob
    import os

    from slurmhooks.files.paths import matches

    return matches(f"{glob.escape(path)}/*.py") if os.path.isdir(path) else [path]
