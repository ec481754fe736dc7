# SPDX-License-Identifier: GPL-2.0-or-later
"""How the supervisor ends its child processes."""

from __future__ import annotations

import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from slurmhooks.processes import control, process

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection

    from slurmhooks.worker.child import Child


def wait(children: Collection[Child], seconds: float, wake: socket.socket, reap: Callable[[], None]) -> None:
    """Wait until generations that were told to finish have ended, and drop their last messages."""
    until = time.monotonic() + seconds
    connections = [child.connection for child in children]
    while any(child.pid for child in children) and time.monotonic() < until:
        ready, _, _ = select.select([wake, *connections], [], [], 0.05)
        with suppress(BlockingIOError):
            wake.recv(4096)
        for connection in connections[:]:
            if connection in ready and not control.drop(connection):
                connections.remove(connection)
        reap()


def kill(keep: set[int], reap: Callable[[], None]) -> None:
    """Kill all child processes but some; when one of them is killed, this process adopts its children."""
    while remaining := set(process.children()) - keep:
        for pid in remaining:
            process.kill(pid, group=True)
        time.sleep(0.005)
        reap()
