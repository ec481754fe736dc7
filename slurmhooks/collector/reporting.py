# SPDX-License-Identifier: GPL-2.0-or-later
"""How workers, generations and the supervisor report to the collector (collector.py), without ever waiting for it.

A report is one message on a SOCK_SEQPACKET socket: its kind, how many reports its sender has dropped before, and its
bytes. The bytes of a long report are in sealed memory, whose descriptor comes with the message. The supervisor keeps
both ends of the socket, so that the next collector receives what the previous one has not read. All senders share one
buffer: a sender that finds it full drops the report.

Workers may run as another user: whoever receives a report has to check it.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import termios
from struct import Struct
from typing import NamedTuple

from slurmhooks.processes import descriptors, process

HEADER = Struct("<II")

DECISION = 1
"""JSON: what a worker did with one request (slurmhooks/collector/checked.py)."""
RECORDED = 2
"""A recorded request."""
EVENT = 3
"""JSON: an event of the supervisor or a generation; ``event`` is its name."""

MAX_INLINE = 64 << 10
"""Maximum bytes of a report in the message itself."""
_DONT_WAIT = int(socket.MSG_DONTWAIT)
_CLOSE_ON_EXEC = int(socket.MSG_CMSG_CLOEXEC)
_ROOM = socket.CMSG_SPACE(array.array("i").itemsize)
BUFFER = 4 << 20
"""Requested size of the buffer in bytes; the kernel grants at most net.core.wmem_max."""
BACKLOG = 16 << 10
"""Bytes in the buffer at which long reports are dropped: the kernel does not count the bytes in their files."""


class Report(NamedTuple):
    """One report.

    Attributes:
        kind: DECISION, RECORDED or EVENT.
        data: its bytes.
        dropped: number of reports that its sender has dropped since its previous report.
    """

    kind: int
    data: bytes
    dropped: int


class Reporter:
    """The sending end of the socket, which forked processes share.

    Attributes:
        generation: the number of the generation that this process belongs to; 0: none.
        dropped: number of reports that this process has dropped since its last report.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take over the sending end; only the supervisor creates a Reporter."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        self._connection = connection
        self.generation = 0
        self.dropped = 0

    def report(self, kind: int, data: bytes) -> bool:
        """Send a report, or drop it; tell whether it was sent. Never wait, never raise."""
        try:
            if len(data) <= MAX_INLINE:
                self._connection.send(HEADER.pack(kind, self.dropped) + data, _DONT_WAIT)
            else:
                self._send_long(kind, data)
        except OSError:  # the buffer is full, or the kernel short of memory or descriptors
            self.dropped += 1
            return False
        self.dropped = 0
        return True

    def _send_long(self, kind: int, data: bytes) -> None:
        """Send a report whose bytes are in a file.

        Raises:
            OSError: the report cannot be sent now.
        """
        queued = array.array("i", [0])
        fcntl.ioctl(self._connection, termios.TIOCOUTQ, queued)
        if queued[0] > BACKLOG or len(data) > descriptors.MAX_SIZE:
            raise BlockingIOError
        fd = descriptors.sealed(data)
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
            self._connection.sendmsg([HEADER.pack(kind, self.dropped)], rights, socket.MSG_DONTWAIT)
        finally:
            os.close(fd)

    @property
    def socket(self) -> socket.socket:
        """The socket."""
        return self._connection

    def close(self) -> None:
        """Close the descriptor of this process."""
        self._connection.close()


def pair() -> tuple[Reporter, socket.socket]:
    """Return the two ends: a reporter, and the socket that :func:`receive` takes."""
    ours, theirs = process.pair(socket.SOCK_SEQPACKET)
    return Reporter(ours), theirs


def receive(connection: socket.socket, flags: int = 0) -> Report | None:
    """Return the next report, or None if all senders have ended. Whether this call waits depends on the socket.

    Args:
        connection: the receiving end.
        flags: with MSG_PEEK, the next call returns the same report again.

    Raises:
        BlockingIOError: no report is available, and the socket is non-blocking.
        TimeoutError: no report has arrived within the timeout of the socket.
        ValueError: what has arrived is not a report; it is lost.
    """
    # Not socket.recv_fds(), which ignores flags.
    data, rights, _, _ = connection.recvmsg(HEADER.size + MAX_INLINE, _ROOM, flags | _CLOSE_ON_EXEC)
    if not data:
        return None
    if rights:
        fds = array.array("i")
        for _, _, part in rights:
            fds.frombytes(part)
        if len(data) < HEADER.size or len(fds) > 1:
            descriptors.discard(fds)
            raise ValueError("a message is not a report")
    elif len(data) < HEADER.size:
        raise ValueError("a message is not a report")
    kind, dropped = HEADER.unpack_from(data)
    content = descriptors.content(fds[0]) if rights else data[HEADER.size :]
    return tuple.__new__(Report, (kind, content, dropped))  # Report(...) would run Python code


reporter: Reporter | None = None
"""The reporter of this process, which forked processes inherit; None in a process without a supervisor."""
