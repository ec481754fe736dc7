# SPDX-License-Identifier: GPL-2.0-or-later
"""The process of a generation that runs periodic handlers (``hook.every``), one at a time.

The generation ends a rule that exceeds its time limit together with the process; the next process goes on with the next
rule. What a run has staged and not yet done is then not done: the next run of the rule decides again.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import StaleHandleError
from slurmhooks.log import log
from slurmhooks.processes import control, process
from slurmhooks.processes.control import Message
from slurmhooks.wire.protocol import Control
from slurmhooks.worker.claims import Claim
from slurmhooks.worker.companion import BUSY, IDLE, Companion, Page, asks, begin, ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.worker.channel import Channel
    from slurmhooks.worker.interface import Service


class SharedState:
    """What processes leave to those after them. One of the configured user may write anything: only its rules use it.

    Those of all generations of one supervisor share which lines users have had: only the process that has claimed a run
    reads or writes it (claims.py). Those of one generation share how far the last one has come.
    """

    def __init__(self) -> None:
        """Create it; processes that are forked from now on share it."""
        self._fd = os.memfd_create("every", os.MFD_CLOEXEC)

    def read(self) -> dict[str, Any]:
        """Return what was written; empty if a process was killed while it wrote."""
        try:
            value = json.loads(os.pread(self._fd, os.fstat(self._fd).st_size, 0) or b"{}")
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def write(self, value: dict[str, Any]) -> None:
        """Replace it."""
        data = json.dumps(value).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, data, 0)


state: SharedState | None = None
"""The state of this process, which forked processes inherit; None in a process without a supervisor."""


class Periodic(Companion):
    """The generation's side."""

    def __init__(self, service: Service, number: int, supervisor: socket.socket) -> None:
        super().__init__(service, number, supervisor)
        self._until, self._waits = socket.socketpair()  # the process ends when the first one is closed
        self._finishing = False
        self._reached = SharedState()

    def tend(self, leave: Callable[[], None]) -> None:
        """Start the process, end it if a rule takes too long, replace it if it has ended.

        Args:
            leave: called in the forked process; closes what belongs to the generation.
        """
        now = time.monotonic()
        if self._pid:
            deadline, label = self._page.read()[2], self._page.read()[4]
            if deadline and now > deadline:
                process.kill(self._pid, group=True)
                self._forget(f"missed the time limit of {label} and was killed")
            elif self._has_ended():
                self._forget("")
        if not self._pid and not self._finishing and self._backoff.is_over:
            self._begin(leave)

    def _begin(self, leave: Callable[[], None]) -> None:
        failed = "no process for periodic handlers can be started: %s"
        try:
            claims, theirs = process.pair(socket.SOCK_SEQPACKET)
        except OSError as error:
            log.error(failed, error.strerror)
            self._backoff.failed()
            return
        with claims:
            with theirs, suppress(OSError):  # the supervisor has ended; this generation will end, too
                control.send(self._supervisor, Message(Control.CLAIMS, self._number, fds=(theirs.fileno(),)))
            self._start(leave, partial(self._run, claims), failed)

    def finish(self, *, at_once: bool) -> None:
        """Make the process end: now, or after the running rule."""
        if not self._finishing:
            self._finishing = True
            self._until.close()
            self._waits.close()
        if at_once and self._pid:
            process.kill(self._pid, group=True)

    def forked(self) -> None:
        """Close, in a forked child, what it does not need."""
        self._until.close()
        self._waits.close()

    def _run(self, claims: socket.socket, channel: Channel, parent: int) -> None:
        self._until.close()
        begin(self._service, channel, parent, "slurmhooks-every")
        turns = Turns(self._page, self._waits, claims, self._reached)
        turns.end()
        self._service.repeat(asks(channel), turns)
        self._service.stop()

    def _forget(self, how: str) -> None:
        """Log how the process ended; ``how`` is empty if it ended by itself."""
        pid, status = self._reap()
        self._reached.write({"ended": time.time(), **self._reached.read()})
        kind, _, deadline, _, label = self._page.read()
        if status and not (self._finishing and kind != BUSY):
            how = how or process.describe(status) + (f" in {label}" if deadline else "")
            log.error("the process of periodic handlers (%d) %s; the next run decides again", pid, how)
        if kind == BUSY:
            self._backoff.succeeded()  # the rule that has ended the process is due again later
        else:
            self._backoff.failed()


class Turns:
    """What the process tells its generation, and what it has to wait for; implements ``Turns`` of interface.py."""

    def __init__(self, page: Page, until: socket.socket, claims: socket.socket, reached: SharedState) -> None:
        """Begin.

        ``until`` is readable when this process is to end; ``claims`` goes to the supervisor, which lets rules run. For
        ``reached`` see slurmhooks.worker.interface.
        """
        assert state is not None
        self.state = state
        self.reached = reached
        self._page = page
        self._until = until
        self._claims = claims
        self._pid = os.getpid()

    def claim(self, rule: str, run: int, *, take_over: bool) -> tuple[Claim, int | None]:
        """Ask whether a run may begin; see slurmhooks.worker.interface.

        Raises:
            StaleHandleError: the supervisor has no socket to this process, which thus cannot run anything.
        """
        answer = None
        with suppress(OSError):
            control.send(self._claims, Message(Claim.RUN, 0, run, int(take_over), rule))
            if self._claims not in select.select([self._claims, self._until], [], [])[0]:
                return Claim.LOCKED, None  # this process is to end
            answer = control.receive(self._claims)
        if answer is None:
            raise StaleHandleError("the supervisor does not let this process run periodic handlers")
        return Claim(answer.kind), answer.about if answer.value else None

    def free(self) -> None:
        """Note that nothing runs any more, or that this slurmctld is not in control."""
        with suppress(OSError):  # the supervisor has ended
            control.send(self._claims, Message(Claim.NONE, 0))

    def wait(self, seconds: float) -> bool:
        """Wait; return whether this process is to end."""
        return bool(select.select([self._until], [], [], max(0.0, seconds))[0])

    def begin(self, what: str, timeout: float) -> None:
        """Note that something begins that may take this many seconds."""
        self._page.write(BUSY, 1, time.monotonic() + timeout, 0, what)

    def end(self) -> None:
        """Note that it has ended; end this process if it is a child that a handler forked."""
        ended(self._page, self._pid)
        self._page.write(IDLE, 1)
