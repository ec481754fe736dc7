# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of this package and the service of a plugin point expect of each other, and how it is loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks import identity
from slurmhooks.errors import LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.processes.settings import Settings

if TYPE_CHECKING:
    from slurmhooks.worker.claims import Claim

Query = Callable[[bytes], bytes]
"""Asks slurmctld a question while slurmctld waits for the answer to a request; later calls raise StaleHandleError."""


class Progress(Protocol):
    """The progress of the observer process, so that a handler that ends it can be named, and left out the next time.

    Attributes:
        ended: what happened, by the index of each handler that has ended the observer process during this request.
        dropped: number of requests before this one that were not observed, because the observer process was busy.
    """

    ended: dict[int, str]
    dropped: int

    def begin(self, place: int, label: str, timeout: float) -> None:
        """Note that a handler begins, with its time limit in seconds."""

    def end(self) -> None:
        """Note that the handler has ended."""


class Turns(Protocol):
    """The progress of the process that runs periodic handlers."""

    @property
    def state(self) -> SharedState:
        """What all such processes share."""

    @property
    def reached(self) -> SharedState:
        """How far this process is with the rules that are due: where the next one goes on, if this one is killed."""

    def claim(self, rule: str, run: int, *, take_over: bool) -> tuple[Claim, int | None]:
        """Ask whether a run of a rule may begin now; see slurmhooks.worker.claims.

        Args:
            rule: what is noted.
            run: its number; the same or a lower one is not begun later, unless the clock has been put back meanwhile.
            take_over: run it also if another controller has run the rule the last time.

        Returns:
            the answer; if the run may begin, also the number of the run before, None if none is noted.
        """

    def free(self) -> None:
        """Note that nothing runs any more, or that this slurmctld is not in control."""

    def wait(self, seconds: float) -> bool:
        """Wait; return whether the process is to end."""

    def begin(self, what: str, timeout: float) -> None:
        """Note that something begins that may take this many seconds; after that the process is killed."""

    def end(self) -> None:
        """Note that it has ended."""


class SharedState(Protocol):
    """What the processes that run periodic handlers share, over all generations; see slurmhooks.worker.periodic."""

    def read(self) -> dict[str, Any]:
        """Return what was written."""

    def write(self, value: dict[str, Any]) -> None:
        """Replace it."""


class Service(Protocol):
    """Handlers that were loaded from one set of files.

    Attributes:
        settings: as the configuration was when they were loaded.
        repeats: some handlers run periodically, in a process of their own (slurmhooks/worker/periodic.py).
        observes: some handlers run after the answer, in the observer process (slurmhooks/worker/observer.py).
    """

    settings: Settings
    observes: bool
    repeats: bool

    def start(self) -> None:
        """Prepare this worker before its first request; an exception ends the worker."""

    def handle(self, request: bytes, query: Query) -> bytes:
        """Return the answer to a request, which covers exceptions of handlers; an exception of this method is a bug."""

    def after(self) -> None:
        """Do work that slurmctld need not wait for, after the answer has been sent; an exception ends the worker."""

    def observed_by(self, send: Callable[[bytes], object]) -> None:
        """Set the function that workers use to send requests to the observer process; it never waits."""

    def observe(self, data: bytes, query: Query, progress: Progress) -> None:
        """Run the handlers with mode "observe", in the observer process.

        ``data`` is the request, as a worker has sent it. ``query`` asks slurmctld a question, preceded by WHOSE of
        slurmhooks/slurmctld/observation.py. ``progress`` is called before and after each handler.
        """

    def repeat(self, query: Query, turns: Turns) -> None:
        """Run the periodic handlers until the process is to end.

        ``query`` asks slurmctld a question, as for :meth:`observe`; ``turns`` is told what runs.
        """

    def stop(self) -> None:
        """Clean up in a worker that ends normally: because its files changed, or slurmctld ends."""


Announce = Callable[[Settings], None]
"""Tells the supervisor the settings, and what is loaded, before this process gives up rights or runs code of the site:
the supervisor believes a process of another user nothing that matters to others."""
Load = Callable[[Watch, Announce], Service]
"""Loads the hooks, in a new process, and records them in the watch. Raises ConfigError or LoadError."""


def entry(name: str) -> Load:
    """Import the function that loads the hooks, ``module:function``."""
    module, _, function = name.partition(":")
    load: Load = getattr(importlib.import_module(module), function)
    return load


def load_again(name: str, watch: Watch, announce: Announce) -> Service:
    """Load hooks in a supervisor that has loaded some before: its package may have been replaced since.

    Raises:
        ConfigError: see Load.
        LoadError: see Load; or modules of two builds have met, whatever that has led to.
    """
    known = set(sys.modules)
    try:
        return entry(name)(watch, announce)
    finally:
        imported = {module for module in sys.modules.keys() - known if module.startswith("slurmhooks.")}
        if imported and (misfit := identity.misfit()) is not None:
            raise LoadError([misfit])


def complete(name: str, settings: Settings) -> str | None:
    """Import what only some handlers need, for the generations to come, when slurmctld no longer waits.

    A generation imports it where it is needed, each one anew if its supervisor has not: rules take longer than all
    else. The supervisor of a site without them is spared their memory.

    Args:
        name: ``module:function``; the module's ``LATER`` has the names of the modules, and its ``RULES`` those that
            ready-made rules need, if there are any.
        settings: of the generation that serves.

    Returns:
        why no later generation may serve; None if nothing keeps it. After an upgrade, modules of two builds would meet.
    """
    entry = importlib.import_module(name.partition(":")[0])
    later = [*getattr(entry, "LATER", ())]
    later += (*getattr(entry, "RULES", ()), *settings.kinds) if settings.kinds else ()
    missing = [module for module in later if module not in sys.modules]
    if missing and (misfit := identity.misfit()) is not None:
        return misfit
    for module in missing:
        with suppress(Exception):  # a generation imports again what fails here, and reports why
            importlib.import_module(module)
    return None


def point(name: str) -> str:
    """Return the plugin point of ``module:function``, such as ``job_submit``: the last part of the module's name."""
    return name.partition(":")[0].rpartition(".")[2]
