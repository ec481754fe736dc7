# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve: the interface between the processes here and a plugin point."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks import reload, site, trusted
from slurmhooks.hook_specs import HOOKS
from slurmhooks.watch import Watch

if TYPE_CHECKING:
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.config_sections import Workers
    from slurmhooks.loader import Source
    from slurmhooks.registry import Registry

Query = Callable[[bytes], bytes]
"""Asks slurmctld a question while it waits for an answer; raises StaleHandleError once it has the answer."""


class Running(Protocol):
    """What the observer process is told, so that a handler can be named and left out that has ended it.

    Attributes:
        ended: by the place of a handler that has ended the observer process with this request, what happened.
        dropped: requests that were not observed before this one, since the observer process was busy.
    """

    ended: dict[int, str]
    dropped: int

    def begin(self, place: int, label: str, timeout: float) -> None:
        """Note that a handler begins, and the seconds that it may take."""

    def end(self) -> None:
        """Note that it has ended."""


@dataclass(frozen=True)
class Settings:
    """What the processes need to know of the section of their plugin, such as ``[job_submit]``.

    Attributes:
        workers: how many requests are served at the same time.
        timeout: seconds that a request may take.
        memory_limit: bytes of private memory that a worker, and each program that it starts, may have; None: any.
        process_limit: processes that the user of the workers may have.
        open_file_limit: open files that a worker, and each program that it starts, may have.
        accept: whether requests are accepted when no worker can serve them.
        reload: whether changed files are loaded without being asked to.
        hooks: hash of the files.
        collect: what the collector is to do (slurmhooks/worker/collector.py); empty: nothing.
    """

    workers: int = 1
    timeout: float = 2.0
    memory_limit: int | None = 1 << 30
    process_limit: int = 4096
    open_file_limit: int = 1024
    accept: bool = False
    reload: bool = True
    hooks: str = ""
    collect: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, section: Workers) -> Settings:
        """Return what a section says."""
        return cls(
            workers=section.workers,
            timeout=section.timeout,
            memory_limit=section.memory_limit,
            process_limit=section.process_limit,
            open_file_limit=section.open_file_limit,
            accept=getattr(section, "on_unavailable", "reject") == "accept",
            reload=section.reload,
        )


class Service(Protocol):
    """Handlers that were loaded from one set of files.

    Attributes:
        settings: as the configuration was when they were loaded.
        observes: some handlers run after the answer, in the observer process (slurmhooks/worker/observer.py).
    """

    settings: Settings
    observes: bool

    def start(self) -> None:
        """Prepare a worker, in the worker, before its first request; whatever it raises ends the worker."""

    def handle(self, request: bytes, query: Query) -> bytes:
        """Return the answer to a request. Handlers' exceptions are in the answer; any that it raises is a bug."""

    def after(self) -> None:
        """Do what nobody waits for, after the answer has gone out; whatever it raises ends the worker."""

    def observed_by(self, send: Callable[[bytes], object]) -> None:
        """Have workers send what the observer process is to observe; the function never waits."""

    def observe(self, data: bytes, query: Query, running: Running) -> None:
        """Run the handlers that observe, in the observer process.

        Args:
            data: what a worker has sent.
            query: asks slurmctld a question, which is preceded by WHOSE of slurmhooks/slurmctld/observation.py.
            running: is told which handler runs.
        """

    def stop(self) -> None:
        """Clean up in a worker that ends in peace: its files changed, or slurmctld ends."""


def load_site(
    watch: Watch,
    check: Callable[[Registry], list[str]],
    scripts: Callable[[Config, Path], list[Source]] | None = None,
    hooks: Container[str] = HOOKS,
    prepare: Callable[[Config], None] | None = None,
) -> tuple[Config, Registry]:
    """Load what the configuration names, and note on which files that depends.

    Files that are missing, empty or unreadable by accident do not load: see slurmhooks.reload.

    Args:
        watch: to note them in; says what is in service already.
        check: returns what else is wrong with a set of handlers.
        scripts: returns what the configuration names in other languages; it comes before the hook files.
        hooks: the hooks that are served.
        prepare: called before any code of the site runs.

    Raises:
        ConfigError: the configuration is wrong.
        LoadError: a hook file is, or handlers would get lost.
    """
    trusted.guard()
    return reload.load(site.config_path(), watch, check, scripts, hooks, prepare)


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
