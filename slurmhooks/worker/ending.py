# SPDX-License-Identifier: GPL-2.0-or-later
"""How the supervisor ends its child processes, and what workers have started whose generation has ended."""

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


class Orphans:
    """The workers of generations that have ended.

    The kernel kills such a worker with its generation, but not the programs that it has started. A generation may have
    named any process as a worker; only one that the supervisor has adopted can be.
    """

    def __init__(self) -> None:
        self._workers: dict[int, set[int]] = {}  # by process id of the generation, until it has been reaped

    def add(self, generation: int, workers: set[int]) -> None:
        """Take the workers of a generation that has ended, but has not been reaped."""
        self._workers[generation] = workers

    def before_reaping(self, pid: int) -> None:
        """End the programs of a process that is to be reaped, if it was a worker: nobody else has its id yet."""
        if any(pid in workers for workers in self._workers.values()):
            process.kill(pid, group=True)

    def reaped(self, pid: int, others: set[int]) -> None:
        """End the workers of a process that has been reaped, if it was a generation; ``others`` are as for kill()."""
        if pid in self._workers:
            self.kill(self._workers.pop(pid), others)

    @staticmethod
    def kill(workers: set[int], others: set[int]) -> None:
        """Kill workers, which a generation has named, with the programs they started; ``others`` are no workers."""
        for pid in workers.intersection(process.children()) - others:
            process.kill(pid, group=True)
