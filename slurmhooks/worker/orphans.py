# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends what workers have started after their generation has ended."""

from __future__ import annotations

from slurmhooks.processes import process


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
        """Kill workers with the programs that they started.

        Args:
            workers: the process ids that a generation has named.
            others: children of the supervisor that are no workers.
        """
        for pid in workers.intersection(process.children()) - others:
            process.kill(pid, group=True)
