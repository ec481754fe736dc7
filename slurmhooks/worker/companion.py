# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that a generation runs beside its workers: how it is started, watched and replaced, and how it begins.

It may ask slurmctld after all requests have been answered, and shows on a page what it is doing.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from mmap import mmap
from struct import Struct
from typing import TYPE_CHECKING

from slurmhooks.errors import StaleHandleError
from slurmhooks.log import log
from slurmhooks.processes import confinement, control, process
from slurmhooks.processes.backoff import Backoff
from slurmhooks.wire.protocol import ChannelKind, Control
from slurmhooks.worker.channel import Channel, end_fork, end_timer

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.worker.interface import Query, Service

_PAGE = 4096
_STATE = Struct("=IIdII")
"""On the status page: the state of the process, how many requests it has begun, when the running handler is to be
killed (0: none runs), the index of the handler, and the size of its name, which follows."""
STARTING, IDLE, BUSY = range(3)


class Page:
    """The state of the process, in memory that it shares with the generation."""

    def __init__(self) -> None:
        """Create the memory, which processes that are forked from now on share."""
        self._memory = mmap(-1, _PAGE)

    def write(self, state: int, begun: int, deadline: float = 0.0, place: int = 0, label: str = "") -> None:
        """Write the state."""
        name = label.encode("utf-8", "replace")[: _PAGE - _STATE.size]
        self._memory[: _STATE.size + len(name)] = _STATE.pack(state, begun, deadline, place, len(name)) + name

    def read(self) -> tuple[int, int, float, int, str]:
        """Return the state, see _STATE; the label of the handler comes last."""
        state, begun, deadline, place, size = _STATE.unpack_from(self._memory)
        name = self._memory[_STATE.size : _STATE.size + min(size, _PAGE - _STATE.size)]
        return state, begun, deadline, place, name.decode("utf-8", "replace")


class Companion:
    """The generation's side of one such process."""

    def __init__(self, service: Service, number: int, supervisor: socket.socket) -> None:
        """Prepare for one service of a generation; ``supervisor`` passes a channel for questions on to slurmctld."""
        self._service = service
        self._number = number
        self._supervisor = supervisor
        self._page = Page()
        self._pid = 0
        self._backoff = Backoff()  # for a process that ends too early

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._pid != 0

    def wait(self, most: float) -> float:
        """Return how many seconds the generation may sleep, at most ``most``."""
        deadline = self._page.read()[2]
        return max(0.0, min(most, deadline - time.monotonic())) if self._pid and deadline else most

    def _start(self, leave: Callable[[], None], run: Callable[[Channel, int], None], failed: str) -> None:
        """Start the process.

        Called in it, ``leave`` closes what belongs to the generation; ``run`` gets its channel to slurmctld and the
        process id of the generation. ``failed`` is a line for the log, with a place for the reason.
        """
        self._page.write(STARTING, 0)
        me = os.getpid()
        try:
            pid, ours, theirs = process.fork(socket.SOCK_STREAM)
        except OSError as error:
            log.error(failed, error.strerror)
            self._backoff.failed()
            return
        if not pid:
            leave()
            ours.close()
            process.end_after(lambda: run(Channel(theirs), me))
        theirs.close()
        self._pid = pid
        with suppress(OSError):  # the supervisor has ended; this generation will end, too
            control.send(self._supervisor, control.Message(Control.OBSERVER, self._number, pid, fds=(ours.fileno(),)))
        ours.close()

    def _has_ended(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reap(self) -> tuple[int, int]:
        """Kill the process and the programs that it started; return its id and its wait status."""
        process.kill(self._pid, group=True)
        pid, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return pid, status


def begin(service: Service, channel: Channel, parent: int, name: str) -> None:
    """Prepare a forked process, and run the handlers of init."""
    os.setsid()
    process.die_with(parent)
    process.name(name)
    confinement.limit(service.settings)
    os.register_at_fork(after_in_child=channel.close)
    service.start()


def ended(page: Page, pid: int) -> None:
    """Clean up after a handler: end its timer, and end this process if it is a child that the handler forked.

    ``page`` has the name of the handler; ``pid`` is the process in which it was called.
    """
    end_fork(pid)
    if end_timer():
        log.error("%s has left a timer, which is ended", page.read()[4] or "a handler")


def asks(channel: Channel) -> Query:
    """Return a function that asks slurmctld over a channel."""

    def query(question: bytes) -> bytes:
        reply = None
        with suppress(ConnectionError):
            reply = None if channel.inherited else channel.ask(ChannelKind.QUERY, question)
        if reply is None:
            raise StaleHandleError("slurmctld does not answer questions of this process")
        return reply

    return query
