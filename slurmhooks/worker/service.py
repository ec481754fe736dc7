# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve: the interface between the processes here and a plugin point."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks import paths, site, trusted
from slurmhooks.errors import LoadError
from slurmhooks.hook_specs import HOOKS
from slurmhooks.reload import Former, LiveSite

if TYPE_CHECKING:
    from pathlib import Path

    from slurmhooks.config import Config, Workers
    from slurmhooks.loader import Source
    from slurmhooks.paths import State
    from slurmhooks.registry import Registry

Query = Callable[[bytes], bytes]
"""Asks slurmctld a question while it waits for an answer; raises StaleHandleError once it has the answer."""


@dataclass(frozen=True)
class Settings:
    """What the processes need to know of the section of their plugin, such as ``[job_submit]``.

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
    def of(cls, section: Workers) -> Settings:
        """Return what a section says."""
        return cls(
            workers=section.workers,
            timeout=section.timeout,
            memory_limit=section.memory_limit,
            accept=getattr(section, "on_unavailable", "reject") == "accept",
            reload=section.reload,
        )


@dataclass
class Watch:
    """From which files a generation was loaded; a change of any means that another one has to be loaded.

    Attributes:
        files: files as they were before they were read.
        globs: the files that there were for each glob; None: they cannot be listed.
        handlers: hook, label and file of each handler, by its source.
        before: what is in service already, if anything is: nothing of it may get lost by accident.
    """

    files: dict[str, State] = field(default_factory=dict)
    globs: dict[str, list[str] | None] = field(default_factory=dict)
    handlers: dict[str, list[list[str]]] = field(default_factory=dict)
    before: Watch | None = None

    def file(self, path: str) -> None:
        """Watch a file; to be called before it is read."""
        self.files.setdefault(path, paths.state(path))

    def glob(self, pattern: str) -> None:
        """Watch which files there are for a glob; to be called before it is expanded."""
        self.globs.setdefault(pattern, _listed(pattern))

    def changed(self) -> bool:
        """Tell whether anything is not as it was. Costs one stat for each file and one listing for each glob."""
        return any(paths.state(path) != seen for path, seen in self.files.items()) or any(
            _listed(pattern) != seen for pattern, seen in self.globs.items()
        )

    def contents(self) -> dict[str, list[Former]]:
        """Return the handlers by their source, as slurmhooks.reload has them."""
        return {
            name: [Former(HOOKS[hook], label, path) for hook, label, path in found]
            for name, found in self.handlers.items()
        }

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it, without what was before."""
        return {"files": self.files, "globs": self.globs, "handlers": self.handlers}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Watch:
        """Return what :meth:`plain` returned before JSON made lists of its tuples."""
        files = {path: seen if isinstance(seen, int) else tuple(seen) for path, seen in plain["files"].items()}
        return cls(files, plain["globs"], plain["handlers"])


def _listed(pattern: str) -> list[str] | None:
    """Return the files that there are for a glob; None: they cannot be listed."""
    try:
        return paths.matches(pattern)
    except LoadError:
        return None


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


def load_site(
    watch: Watch,
    check: Callable[[Registry], list[str]],
    scripts: Callable[[Config, Path], list[Source]] | None = None,
    hooks: Container[str] = HOOKS,
) -> tuple[Config, Registry]:
    """Load what the configuration names, and note on which files that depends.

    Files that are missing, empty or unreadable by accident do not load: see slurmhooks.reload.

    Args:
        watch: to note them in; says what is in service already.
        check: returns what else is wrong with a set of handlers.
        scripts: returns what the configuration names in other languages; it comes before the hook files.
        hooks: the hooks that are served.

    Raises:
        ConfigError: the configuration is wrong.
        LoadError: a hook file is, or handlers would get lost.
    """
    trusted.guard()
    path = site.config_path()
    live = LiveSite(check, path, scripts, hooks)
    if watch.before is not None:
        live.resume(watch.before.contents(), watch.before.files)
    watch.file(str(path))
    try:
        # What is wrong is watched, too, or its repair would go unnoticed.
        for pattern in site.patterns_of(path, site.read_config(path)):
            if paths.has_magic(pattern):
                watch.glob(pattern)
        live.start()
    finally:
        # The first look at a file counts: what has changed since then is to be loaded again.
        watch.files = {**live.files, **watch.files}
    watch.handlers = {
        name: [[handler.spec.name, handler.label, handler.path] for handler in handlers]
        for name, handlers in live.in_force.items()
    }
    return live.config, live.registry


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
