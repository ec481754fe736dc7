# SPDX-License-Identifier: GPL-2.0-or-later
"""Leads from what a site has configured to loaded handlers: the one way for daemons, launches and commands."""

from __future__ import annotations

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.handlers import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.files.watch import Watch
    from slurmhooks.handlers.loader import Source
    from slurmhooks.handlers.registry import Handler, Registry

    Scripts = Callable[[Config, Path], list[Source]]
    """Returns the sources in other languages that a configuration names for a plugin point; they come first."""
    Read = Callable[[str, Sequence[str]], list[Handler]]


class Named:
    """What is to be loaded, before any code of the site runs.

    Attributes:
        sources: hook files, modules and folders of packages.
        scripts: sources in other languages. Those with a function that reads them precede ``sources``; the others are
            Lua scripts for SPANK, which slurmhooks.lua adds to the registry.
        require: labels of handlers that must be among those of ``sources``.
        rest: for a line of plugstack.conf, the arguments for its handlers.
        rows: what the manifest says of a line or plugin point; None if the configuration decides.
    """

    __slots__ = ("require", "rest", "rows", "scripts", "sources")

    def __init__(self, sources: Iterable[Source], require: Sequence[str] = (), scripts: Iterable[Source] = ()) -> None:
        """Store the sources."""
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
        """Store the configuration and what it names."""
        super().__init__(sources, config.hooks.require, scripts)
        self.path = path
        self.config = config

    def give_modes(self, registry: Registry, hooks: Container[str] | None = None) -> list[str]:
        """Give handlers the modes of the configuration; return findings about these modes.

        Args:
            registry: what :meth:`load` has returned.
            hooks: those that this process calls; default: all. If none of them has modes, the process may not have
                loaded what the configuration names, such as a Lua script.
        """
        from slurmhooks.handlers.rollouts import assign
        from slurmhooks.hooks.points import HOOKS

        if hooks is not None and not any(name in hooks for name, spec in HOOKS.items() if spec.has_modes):
            return []
        return assign(self.config.rollouts(), registry.all_handlers(), self.require)


def of_config(link: Path, scripts: Scripts | None = None, watch: Watch | None = None) -> Configured:
    """Return what a configuration names, for processes that may import its model.

    Args:
        link: path of the file, which may be a link.
        scripts: adds what the configuration names in other languages.
        watch: records each file before it is read, so that a change during the load is seen as one afterwards.

    Raises:
        ConfigError: it is invalid, or another user could have written it.
        LoadError: as slurmhooks.site.sources.sources_of().
    """
    from slurmhooks.files import paths
    from slurmhooks.site import dependencies
    from slurmhooks.site import sources as site
    from slurmhooks.site.replaced import again

    def read() -> Configured:
        if watch is not None:
            watch.file(site.located(str(link)))
        path, config = site.located_config(link)
        if watch is not None:
            for pattern in dependencies.patterns_of(path, config):
                (watch.glob if paths.has_magic(pattern) else watch.file)(pattern)
        sources = site.sources_of(path, config, link)
        return Configured(path, config, sources, scripts(config, path) if scripts is not None else ())

    named = again(read)
    if watch is not None:
        for source in named.all_sources:
            if source.path is not None:
                watch.file(source.name)
        watch.folders = [source.packages for source in named.sources if source.packages is not None]
    return named


def problems(link: Path) -> list[str]:
    """Return why this process cannot read a configuration or its hook files, without loading them."""
    try:
        named = of_config(link)
    except (ConfigError, LoadError) as error:
        return error.findings
    findings: list[str] = []
    for name in loader.files_of(named.sources):
        try:
            loader.read(name)
        except LoadError as error:
            findings += error.findings
    return findings


def of_line(args: Sequence[str], *, known: bytes | None = None, with_model: bool = False) -> Named:
    """Return what a line of plugstack.conf names: the manifest says it, or the configuration and the line do.

    Args:
        args: the arguments of the line.
        known: the manifest, as C has read it; None: it does not have the line.
        with_model: read the configuration by its model, and return a :class:`Configured` if the line names no files.
            Launches do without the model where that is possible.

    Raises:
        LoadError: a file does not exist, or the configuration is invalid.
    """
    rows = None
    if known is not None:
        from slurmhooks.site import manifest

        rows = manifest.records(known, args)
    if rows is not None:
        from slurmhooks.files import plugstack

        named = _in_manifest(rows)
        named.rest = plugstack.split(args)[2]
    else:
        from slurmhooks.site import sources as site
        from slurmhooks.site.replaced import again

        configured: list[Named] = []

        def by_model(path: str | None) -> tuple[list[Source], Sequence[str]]:
            from pathlib import Path

            named = of_config(Path(path) if path is not None else site.config_path())
            configured.append(named)
            return named.sources, named.require

        sources, rest, require = again(lambda: site.of_plugstack(args, by_model if with_model else site.sources))
        named = configured[-1] if configured else Named(sources, require)
        named.rest = rest
    named.scripts = [source for source in named.sources if source.scripted]
    named.sources = [source for source in named.sources if not source.scripted]
    return named


def of_point(point: str, *, known: bool, read: Read | None = None) -> Named:
    """Return what a plugin point without a line in plugstack.conf names.

    Args:
        point: its name, in the manifest and in the configuration.
        known: look into the manifest.
        read: returns the handlers of the site's Lua script; called with its path and the manifest's words for its Lua
            library.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a folder cannot be listed, or another user could have written a file.
    """
    rows = None
    if known:
        from slurmhooks.site import manifest

        rows = manifest.read((), point=point)
    lua: Sequence[str] = ()
    if rows is not None:
        from slurmhooks.site import manifest

        named, lua = _in_manifest(rows), manifest.of_scripts(rows)[0]
    else:
        from slurmhooks.site import sources as site
        from slurmhooks.site.replaced import again

        def configured() -> tuple[Named, str | None]:
            # Resolve the link once for both calls, so that their results belong together.
            link = site.config_name()
            path = site.located(link)
            return Named(*site.sources(path, link)), site.script_of(point, path, link) if read is not None else None

        named, script = again(configured)
        if script is not None:
            # A script runs before the handlers of hook files of the same order, as for job_submit.
            named.sources.insert(0, loader.Source(path=script))
    if read is not None:
        for source in named.sources:
            if source.scripted:
                source.read = lambda path: read(path, lua)
    return named


def _in_manifest(rows: list[list[str]]) -> Named:
    """Return what the manifest names; 'slurmhooks compile' writes none that lacks a required handler."""
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
