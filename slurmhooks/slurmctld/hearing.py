# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks nodes whether scripts of jobs have begun, so that lines reach them; one that hangs delays no other job.

Each node is asked by a process of its own, about one job after the other. A node that does not answer in time is not
asked about its other jobs.
"""

from __future__ import annotations

import os
import select
import time
from collections import deque
from typing import TYPE_CHECKING

from slurmhooks.log import log
from slurmhooks.processes import process

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator, Iterable

SECONDS = 5.0
"""What a node may take for each answer: slurmd itself answers at once."""
AT_ONCE = 32
"""How many nodes are asked at once."""
NO, YES, SILENT = b"n", b"y", b"s"


class _Question:
    """What one node is asked."""

    def __init__(self, node: str, jobs: list[int], has_begun: Callable[[int, str], bool | None]) -> None:
        """Start the process.

        Raises:
            OSError: that is not possible.
        """
        self.jobs = deque(jobs)
        self.pid, self.socket, theirs = process.fork()
        if not self.pid:
            self.socket.close()
            process.end_after(lambda: _ask(node, jobs, has_begun, theirs))
        theirs.close()
        self.deadline = time.monotonic() + SECONDS

    def close(self) -> None:
        process.kill(self.pid)
        os.waitpid(self.pid, 0)
        self.socket.close()


def _ask(node: str, jobs: list[int], has_begun: Callable[[int, str], bool | None], answers: socket.socket) -> None:
    process.die_with(os.getppid())
    for job in jobs:
        begun = has_begun(job, node)
        answers.send(SILENT if begun is None else YES if begun else NO)
        if begun is None:
            return


def heard(
    jobs: Iterable[tuple[int, str]], has_begun: Callable[[int, str], bool | None]
) -> Generator[tuple[int, bool | None], None, None]:
    """Begin to ask, and yield jobs as their answers come: whether the script has begun; None: its node has not said so.

    Processes end with the iterator, which must be closed or exhausted. The first ones start with its first step.

    ``jobs`` are ids of batch jobs, with the node of each script. ``has_begun`` asks a node about a job; may take long.
    """
    of_node: dict[str, list[int]] = {}
    for job, node in jobs:
        of_node.setdefault(node, []).append(job)
    waiting = deque(of_node.items())
    running: dict[int, _Question] = {}
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                node, group = waiting.popleft()
                try:
                    question = _Question(node, group, has_begun)
                except OSError as error:
                    log.error("%s is not asked which scripts have begun: %s", node, error.strerror)
                    yield from ((job, None) for job in group)
                    continue
                running[question.socket.fileno()] = question
            if running:
                yield from _answers(running)
    finally:
        for question in running.values():
            question.close()


def _answers(running: dict[int, _Question]) -> list[tuple[int, bool | None]]:
    """Wait for answers, or for the end of a node's time; questions that end are removed.

    Returns all answers at once: what the caller does with one takes time, which must not count as that of other nodes.
    """
    left = min(question.deadline for question in running.values()) - time.monotonic()
    poll = select.poll()  # descriptors may have any number
    for fd in running:
        poll.register(fd, select.POLLIN)
    ready = {fd for fd, _ in poll.poll(max(0.0, left) * 1000)}
    found: list[tuple[int, bool | None]] = []
    for fd, question in list(running.items()):
        if fd in ready:
            answer = question.socket.recv(1)
            if answer in (YES, NO):
                found.append((question.jobs.popleft(), answer == YES))
                question.deadline = time.monotonic() + SECONDS
                if question.jobs:
                    continue
        elif question.deadline > time.monotonic():
            continue
        del running[fd]
        question.close()
        found += [(job, None) for job in question.jobs]
    return found
