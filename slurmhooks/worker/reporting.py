# SPDX-License-Identifier: GPL-2.0-or-later
"""How workers, generations and the supervisor report to the collector (collector.py), without ever waiting for it.

A report is one message of a SOCK_SEQPACKET socket: its kind, how many reports its sender has dropped before, and its
bytes. A long one lies in an anonymous file, whose descriptor comes along. The supervisor keeps both ends, so that what
a collector leaves behind is there for the next one. All senders share one buffer: whoever finds it full drops the
report.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import sys
import termios
from mmap import mmap
from struct import Struct
from typing import NamedTuple

HEADER = Struct("<II")

DECISION = 1
"""JSON: what a worker did with one request (slurmhooks/slurmctld/decision.py)."""
RECORDED = 2
"""A recorded request."""
EVENT = 3
"""JSON: what the supervisor or a generation has to say; ``event`` is its name."""

MOST = 64 << 10
"""Bytes of a report in the message itself."""
BUFFER = 4 << 20
"""Bytes of the buffer that are asked for; the kernel gives at most net.core.wmem_max."""
BACKLOG = 16 << 10
"""Bytes in the buffer from which on long reports are dropped: what is in their files does not count for the kernel."""
LONGEST = 64 << 20
"""Bytes of a report."""
_PAGE = 4096
_RECORDING = 0


class Report(NamedTuple):
    """One report.

    Attributes:
        kind: DECISION, RECORDED or EVENT.
        data: its bytes.
        dropped: reports that its sender has dropped since its last one.
    """

    kind: int
    data: bytes
    dropped: int


class Reporter:
    """The senders' end, which forked processes share.

    Attributes:
        generation: the number of the generation that this process belongs to; 0: none.
        dropped: reports that this process has dropped and not told yet.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take over the sending end; only the supervisor makes one."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        self._connection = connection
        self._page = mmap(-1, _PAGE)  # shared with the children
        self.generation = 0
        self.dropped = 0

    @property
    def recording(self) -> bool:
        """Whether requests are recorded now; the supervisor sets it for all processes at once. Costs 0.1 us to read."""
        return self._page[_RECORDING] != 0

    @recording.setter
    def recording(self, value: bool) -> None:
        self._page[_RECORDING] = value

    def report(self, kind: int, data: bytes) -> bool:
        """Send a report, or drop it; never wait, never raise.

        Returns:
            whether it was sent.
        """
        try:
            if len(data) <= MOST:
                self._connection.sendmsg([HEADER.pack(kind, self.dropped), data], [], socket.MSG_DONTWAIT)
            else:
                self._send_long(kind, data)
        except OSError:  # the buffer is full, or the kernel short of memory or descriptors
            self.dropped += 1
            return False
        self.dropped = 0
        return True

    def _send_long(self, kind: int, data: bytes) -> None:
        """Send a report whose bytes lie in a file.

        Raises:
            OSError: it cannot be sent now.
        """
        queued = array.array("i", [0])
        fcntl.ioctl(self._connection, termios.TIOCOUTQ, queued)
        if queued[0] > BACKLOG or len(data) > LONGEST:
            raise BlockingIOError
        fd = os.memfd_create("slurmhooks", os.MFD_CLOEXEC)
        try:
            with open(fd, "wb", closefd=False) as file:
                file.write(data)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
            self._connection.sendmsg([HEADER.pack(kind, self.dropped)], rights, socket.MSG_DONTWAIT)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close this process's descriptor of the end."""
        self._connection.close()


def pair() -> tuple[Reporter, socket.socket]:
    """Return the two ends: what reports, and the socket that :func:`receive` takes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Reporter(ours), theirs


def receive(connection: socket.socket, flags: int = 0) -> Report | None:
    """Return the next report; None: all senders have ended. Waits as the socket does.

    Args:
        connection: the receiving end.
        flags: MSG_PEEK: the report is also the next one.

    Raises:
        BlockingIOError: there is none now, and the socket does not wait; likewise TimeoutError.
    """
    # Not socket.recv_fds(), which ignores flags.
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    data, rights, _, _ = connection.recvmsg(HEADER.size + MOST, room, flags | socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None
    kind, dropped = HEADER.unpack_from(data)
    content = data[HEADER.size :]
    for _, _, descriptor in rights:
        with open(int.from_bytes(descriptor, sys.byteorder), "rb") as file:
            file.seek(0)
            content = file.read()
    return Report(kind, content, dropped)


reporter: Reporter | None = None
"""What this process reports with; forked processes inherit it. None: no supervisor is above it."""
