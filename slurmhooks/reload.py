# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files that are taken up again when they change, for processes that live long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from slurmhooks import config, dispatch, loader, site
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import log
from slurmhooks.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Identity, Source


class Watch:
    """Tells whether any of some files or folders has changed; asking costs one stat each."""

    __slots__ = ("_seen",)

    def __init__(self, paths: Iterable[str]) -> None:
        """Remember how they are now."""
        self._seen: list[tuple[str, Identity | None]] = [(path, loader.identity(path)) for path in dict.fromkeys(paths)]

    def changed(self) -> bool:
        """Return whether one is not as it was."""
        return any(loader.identity(path) != seen for path, seen in self._seen)


class LiveSite:
    """The handlers that the configuration names, as they were when they last loaded without a fault.

    Attributes:
        registry: the handlers in force.
    """

    def __init__(self, check: Callable[[Registry], list[str]], path: Path | None = None) -> None:
        """Load nothing yet.

        Args:
            check: returns what else is wrong with a set of handlers in this process.
            path: the configuration file; by default slurmhooks.toml beside slurm.conf.
        """
        self._check = check
        self._path = path or config.default_path()
        self._packages: tuple[str, ...] = ()
        self._reload = True
        self._watch = Watch(())
        self.registry = Registry((), ())

    def start(self) -> None:
        """Load for the first time.

        Raises:
            ConfigError: the configuration is wrong.
            LoadError: a hook file is.
        """
        self._watch = Watch(site.watched(self._path))
        self._load()

    def refresh(self) -> None:
        """Load again if anything changed; a fault leaves the last good handlers in force and is logged once."""
        if not self._reload or not self._watch.changed():
            return
        try:
            self._load()
        except (ConfigError, LoadError) as error:
            dispatch.report_findings(error.findings, "the hooks that were loaded before stay in force")
        else:
            log.info("took up changed hooks: %d handlers", len(self.registry.all_handlers()))

    def _load(self) -> None:
        read: Config | None = None
        sources: list[Source] = []
        try:
            read, sources = site.of_config(self._path)
            # Taken before the files are read: what changes while they load is seen as a change afterwards.
            self._watch = Watch(site.watched(self._path, read, sources))
            self._forget((*self._packages, *read.hooks.modules))
            registry = loader.load(sources)
            findings = self._check(registry)
            if findings:
                raise LoadError(findings)
        except ConfigError:
            self._watch = Watch([*site.watched(self._path), *(path for path, _ in self._watch._seen)])
            raise
        except LoadError:
            self._watch = Watch(site.watched(self._path, read, sources))
            raise
        self.registry = registry
        self._packages = read.hooks.modules
        self._reload = read.job_submit.reload
        if self._packages:
            self._watch = Watch(site.watched(self._path, read, sources))

    @staticmethod
    def _forget(packages: Iterable[str]) -> None:
        """Have a site's packages imported anew."""
        for name in site.modules_below(packages):
            del sys.modules[name]
