# SPDX-License-Identifier: GPL-2.0-or-later
"""One worker: a forked process that answers one request at a time, as SlurmUser or the configured user."""

from __future__ import annotations

import os
import resource
import socket
import time
from mmap import mmap
from typing import TYPE_CHECKING, NoReturn

from slurmhooks.processes import confinement, process
from slurmhooks.wire.protocol import STATUS_PAGE
from slurmhooks.worker.channel import Channel, serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.processes.settings import Settings
    from slurmhooks.worker.interface import Service

RETIRE = 0.75
"""The fraction of its memory limit at which a worker is replaced, between two requests."""

CHECK = 0.005
"""Seconds between two looks at the memory of a worker: within them, a handler can fill some ten MiB at most."""


own_channel: Channel | None = None
"""That of this process, if it is a worker."""
ends_timers = False
"""Whether this process ends timers that handlers have left; in one that is not ours, they may be those of a test."""


def doing(what: str, flags: int = 0, seconds: float | None = None) -> None:
    """Note what this worker is doing, in case it never ends, see Channel.doing(); without effect in other processes."""
    if own_channel is not None:
        own_channel.doing(what, flags, seconds)


def run(service: Service, connection: socket.socket, page: int, parent: int) -> None:
    """Serve until slurmctld closes the channel; then the caller ends this process.

    The descriptor ``page`` is taken over. ``parent`` is the process id of the generation.
    """
    global own_channel, ends_timers
    # A session and process group of its own: killing the group ends the programs that handlers started.
    os.setsid()
    process.die_with(parent)
    process.name("slurmhooks-work")
    confinement.limit(service.settings)
    own_channel = channel = Channel(connection, mmap(page, STATUS_PAGE))
    ends_timers = True
    os.close(page)
    service.start()
    serve(channel, service.handle, retirement(service.settings), service.after)
    service.stop()


def retirement(settings: Settings) -> Callable[[], bool]:
    """Return a function that tells whether this process is to be replaced: it looks every CHECK seconds at most."""
    last = float("-inf")

    def retires() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < CHECK:
            return False
        last = now
        return is_bloated(settings)

    return retires


def is_bloated(settings: Settings) -> bool:
    """Tell whether this process has used so much memory that later requests might not get enough."""
    if settings.section.memory_limit is None:
        return False
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > RETIRE * settings.section.memory_limit


def main(service: Service, connection: socket.socket, page: int, parent: int) -> NoReturn:
    """Run the worker, in a forked child; does not return."""
    process.end_after(lambda: run(service, connection, page, parent))
