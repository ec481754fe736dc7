# SPDX-License-Identifier: GPL-2.0-or-later
"""Load hook files as the daemons would, for check and compile."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from slurmhooks import config, loader, site
from slurmhooks.cli import _native, _site
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.manifest import Line
from slurmhooks.registry import Registry

PRIVATE_ARGUMENTS = {"record", "jobs", "partitions", "reservations"}


class Loaded:
    """All that the daemons of a site would load.

    Attributes:
        registry: the handlers that the configuration names, for job_submit and scrun.
        lines: the lines of plugstack.conf, for SPANK.
        findings: what is wrong, each thing once.
        watched: the files and folders that the handlers depend on.
        disabled: Lua scripts that are left out wherever they fail as here, each with the reason.
    """

    def __init__(self) -> None:
        self.registry = Registry((), ())
        self.lines: list[Line] = []
        self.findings: list[str] = []
        self.watched: list[str] = []
        self.disabled: list[str] = []

    def load(self, sysconfdir: Path) -> None:
        """Load everything that the configuration below ``sysconfdir`` names."""
        # Only compile leaves byte code beside the hook files: a new __pycache__ there makes the manifest stale.
        sys.dont_write_bytecode = True
        os.environ["SLURM_CONF"] = str(sysconfdir / "slurm.conf")
        path = config.default_path()
        self._guard(partial(self._load_config, path))
        for args in dict.fromkeys(_site.plugstack_arguments(sysconfdir)):
            self._guard(partial(self._load_line, args, path))
        self.findings = list(dict.fromkeys(self.findings))

    def _guard(self, load: Callable[[], None]) -> None:
        try:
            load()
        except (ConfigError, LoadError) as error:
            self.findings += error.findings

    def _load_config(self, path: Path) -> None:
        read, sources = site.of_config(path)
        self.registry = loader.load(sources)
        self.watched += site.watched(path, read, sources)

    def _load_line(self, args: tuple[str, ...], path: Path) -> None:
        name, pattern, rest = site.split_plugstack(args)
        if pattern is not None:
            sources = loader.expand([pattern], site.directory())
            self.watched += [os.path.dirname(os.path.join(site.directory(), pattern))]
            self.watched += [source.path for source in sources if source.path is not None]
            # A toml that appears or changes does not matter to a line that names its files.
        else:
            path = path if name is None else Path(site.directory(), name)
            read, sources = site.of_config(path)
            self.watched += site.watched(path, read, sources)
        registry = loader.load([source for source in sources if not source.scripted])
        scripts = [source for source in sources if source.scripted]
        version = None
        if scripts:
            version, registry = self._add_scripts(registry, scripts, args)
        self.watched += [handler.path for handler in registry.all_handlers()]
        self.lines.append(Line(args, sources, rest, registry, version))

    def _add_scripts(
        self, registry: Registry, scripts: list[loader.Source], args: tuple[str, ...]
    ) -> tuple[str, Registry]:
        """Return the version of Lua and the handlers of a line with its scripts; those that fail are findings."""
        from slurmhooks.lua import library
        from slurmhooks.lua import spank as lua

        self.watched.append(str(config.default_path()))
        try:
            version = library.choose(site.lua_version())
        except library.NoLuaError as error:
            raise LoadError([f"{scripts[0].path}: {error}"]) from error
        extended = lua.extend(registry, scripts, site.fails_on_error(args), version, self.disabled.append)
        return version, extended

    def all_registries(self) -> list[Registry]:
        """Return the handlers of the configuration and of each line."""
        return [self.registry, *(line.registry for line in self.lines)]


def needs_sources(registry: Registry, record: _native.BuildRecord | None) -> list[str]:
    """Return the handlers that the installed build cannot serve, each with the way to mend it."""
    if record is None or record.tiers.private:
        return []
    return [
        f"{handler.where}: handler {handler.label} takes {', '.join(sorted(PRIVATE_ARGUMENTS & set(handler.names)))}: "
        "the installed plugin was built with Slurm's public headers only; run 'slurmhooks build --slurm-source DIR' "
        "with the sources of exactly the installed release, and install the result"
        for hook in ("job_submit", "job_modify")
        for handler in registry.handlers(hook)
        if PRIVATE_ARGUMENTS & set(handler.names)
    ]
