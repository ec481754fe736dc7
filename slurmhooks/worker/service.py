# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve: the interface between the processes here and a plugin point."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks import loader, site, trusted

if TYPE_CHECKING:
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Source
    from slurmhooks.registry import Registry

Query = Callable[[bytes], bytes]
"""Asks slurmctld a question while it waits for an answer; raises StaleHandleError once it has the answer."""


@dataclass(frozen=True)
class Settings:
    """What the processes need to know of the configuration, ``[job_submit]``.

    Attributes:
        workers: how many requests are served at the same time.
        timeout: seconds that a request may take.
        memory_limit: bytes of private memory that a worker, and each program that it starts, may have; None: any.
        accept: whether requests are accepted when no worker can serve them.
        reload: whether changed files are loaded without being asked to.
    """

    workers: int = 1
    timeout: float = 2.0
    memory_limit: int | None = 1 << 30
    accept: bool = False
    reload: bool = True

    @classmethod
    def of(cls, config: Config) -> Settings:
        """Return what a configuration says."""
        section = config.job_submit
        return cls(
            workers=section.workers,
            timeout=section.timeout,
            memory_limit=section.memory_limit,
            accept=section.on_unavailable == "accept",
            reload=section.reload,
        )


@dataclass
class Watch:
    """Which files a generation was loaded from; a change of any means that another one has to be loaded.

    Attributes:
        files: files as they were before they were read; None: there was none.
        globs: the files that there were for each glob.
    """

    files: dict[str, loader.Identity | None] = field(default_factory=dict)
    globs: dict[str, list[str]] = field(default_factory=dict)

    def file(self, path: str) -> None:
        """Watch a file; to be called before it is read."""
        self.files.setdefault(path, loader.identity(path))

    def glob(self, pattern: str) -> None:
        """Watch which files there are for a glob; to be called before it is expanded."""
        self.globs.setdefault(pattern, loader.matches(pattern))

    def changed(self) -> bool:
        """Tell whether anything is not as it was. Costs one stat for each file and one listing for each glob."""
        return any(loader.identity(path) != seen for path, seen in self.files.items()) or any(
            loader.matches(pattern) != seen for pattern, seen in self.globs.items()
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Watch:
        """Return what :meth:`plain` returned before JSON made lists of its tuples."""
        files = {path: None if seen is None else tuple(seen) for path, seen in plain["files"].items()}
        return cls(files, plain["globs"])


class Service(Protocol):
    """Handlers that were loaded from one set of files.

    Attributes:
        settings: as the configuration was when they were loaded.
    """

    settings: Settings

    def start(self) -> None:
        """Prepare a worker, in the worker, before its first request; whatever it raises ends the worker."""

    def handle(self, request: bytes, query: Query) -> bytes:
        """Return the answer to a request. Handlers' exceptions are in the answer; any that it raises is a bug."""

    def stop(self) -> None:
        """Clean up in a worker that ends in peace: its files changed, or slurmctld ends."""


def load_site(watch: Watch, scripts: Callable[[Config, Path], list[Source]] | None = None) -> tuple[Config, Registry]:
    """Load what the configuration names, and note which files that depends on.

    Args:
        watch: to note them in.
        scripts: returns what the configuration names in other languages; it comes before the hook files.

    Raises:
        ConfigError: the configuration is wrong.
        LoadError: a hook file is.
    """
    trusted.guard()
    path = site.config_path()
    watch.file(str(path))
    config, sources = site.of_config(path)
    for pattern in site.patterns_of(path, config):
        if loader.has_magic(pattern):
            watch.glob(pattern)
    if scripts is not None:
        sources = [*scripts(config, path), *sources]
    for name in loader.names(sources):
        watch.file(name)
    registry = loader.load(sources, config.hooks.require)
    # Only now is it known of which files a package consists.
    for name in site.watched(path, config, sources):
        watch.file(name)
    return config, registry


Load = Callable[[Watch], Service]
"""Loads the hooks, in a fresh process; notes all files in the watch before it reads them, so that they are watched if
they are wrong, too. Raises ConfigError or LoadError."""


def entry(name: str) -> Load:
    """Import the function that loads the hooks.

    Args:
        name: ``module:function``.
    """
    module, _, function = name.partition(":")
    load: Load = getattr(importlib.import_module(module), function)
    return load
