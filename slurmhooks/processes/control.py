# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages between slurmctld, the supervisor and generations, over SOCK_SEQPACKET. In C: native/client/control.h."""

from __future__ import annotations

import array
import socket
from struct import Struct
from typing import NamedTuple

from slurmhooks.processes import descriptors
from slurmhooks.wire.protocol import MAX_CONTROL_MESSAGE, Result, Unserved

LOAD_LIMIT = 60.0
"""Seconds that loading hook files may take."""

HEADER = Struct("<IIIi")

VERDICTS = {
    Unserved.EXCLUDED: "handler left out",
    Unserved.PASSED_ON_ERROR: "accepted on error",
    Unserved.FAILED: "failed",
    Unserved.PASSED_UNAVAILABLE: "unavailable, accepted",
    Unserved.FAILED_UNAVAILABLE: "unavailable",
}
"""How the decision log calls the end of a request without an answer."""
CAUSES = {
    Result.OK: "answered",
    Result.TIMED_OUT: "timeout",
    Result.WORKER_DIED: "crash",
    Result.UNAVAILABLE: "unavailable",
    Result.PROTOCOL: "invalid message",
}
"""How it calls the cause."""

_CREDENTIALS = Struct("iII")


class Message(NamedTuple):
    """One message.

    Attributes:
        kind: one of slurmhooks.wire.protocol.Control, which describes the others; 0: the bytes are no message.
        generation: number of the generation.
        pid: of a worker; or what ``about`` means there.
        value: a number.
        text: a text.
        fds: the descriptors that come with the message.
        user: of a message that was received: the user id of its sender, by the kernel; None: the kernel was not asked.
    """

    kind: int
    generation: int
    pid: int = 0
    value: int = 0
    text: str = ""
    fds: tuple[int, ...] = ()
    user: int | None = None

    @property
    def about(self) -> int:
        """A second number of messages that are not about a worker."""
        return self.pid


def send(control: socket.socket, message: Message, flags: int = 0) -> None:
    """Send a message; with MSG_DONTWAIT, raise BlockingIOError instead of waiting for a receiver.

    Raises:
        OSError: the other side is gone.
    """
    kind, generation, pid, value, text, fds, _ = message
    data = (
        HEADER.pack(kind, generation, pid, value) + text.encode("utf-8", "replace")[: MAX_CONTROL_MESSAGE - HEADER.size]
    )
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    control.sendmsg([data], rights, socket.MSG_NOSIGNAL | flags)


def receive(control: socket.socket, flags: int = 0) -> Message | None:
    """Return the next message, which has arrived; None: the other side is gone.

    MSG_DONTWAIT raises BlockingIOError if there is none after all.
    """
    room = socket.CMSG_SPACE(16) + socket.CMSG_SPACE(_CREDENTIALS.size)
    try:
        data, parts, _, _ = control.recvmsg(MAX_CONTROL_MESSAGE, room, socket.MSG_CMSG_CLOEXEC | flags)
    except ConnectionError:
        return None
    if not data:
        return None
    fds, user = array.array("i"), None
    for level, kind, content in parts:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            user = _CREDENTIALS.unpack(content)[1]
    if len(data) < HEADER.size:
        return Message(0, 0, fds=tuple(fds), user=user)
    kind, generation, pid, value = HEADER.unpack_from(data)
    return Message(kind, generation, pid, value, data[HEADER.size :].decode("utf-8", "replace"), tuple(fds), user)


def drop(control: socket.socket) -> bool:
    """Receive and discard a message with its descriptors; tell whether others may follow.

    A worker that is ready would go on waiting for requests as long as the descriptor of its channel is in a message.
    """
    message = receive(control)
    if message is None:
        return False
    descriptors.discard(message.fds)
    return True
