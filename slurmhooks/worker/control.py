# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages between slurmctld, the supervisor and generations, over SOCK_SEQPACKET. In C: native/wire/control.h."""

from __future__ import annotations

import array
import socket
from struct import Struct
from typing import NamedTuple

from slurmhooks.worker import descriptors

LOAD_LIMIT = 60.0
"""Seconds that loading hook files may take."""

HEADER = Struct("<IIIi")

# To slurmctld, forwarded by the supervisor.
WORKER = 1
"""A worker is ready; the descriptors of its channel and its status page come with the message."""
DIED = 2
"""A worker has ended; value: its wait status. Its process id is not reused before RELEASED."""
SERVING = 3
"""Use only workers of this generation and later ones. value: timeout in ms; pid: 1 to accept if no worker can serve."""
UNAVAILABLE = 4
"""No handlers can serve; text: why; value, from a generation: how many times in a row no worker could serve."""
OBSERVER = 10
"""The observer process of a generation has a channel for questions, whose descriptor comes with the message."""
# From slurmctld.
ACKNOWLEDGED = 5
"""All later requests go to this generation or later ones."""
RELEASED = 6
"""slurmctld knows that a worker has ended, or has closed its channel, and no longer uses its process id; value: 1 if it
could not take the worker at all."""
KILL = 12
"""Kill a worker, with the programs that it has started. Its generation does it, which has the rights of its user."""
UNSERVED = 11
"""slurmctld has decided a request without an answer; value: index in VERDICTS; pid: index in CAUSES; text: 5 lines."""
VERDICTS = ("handler left out", "accepted on error", "failed", "unavailable, accepted", "unavailable")
"""As enum unserved in native/slurmctld/point.c. After "handler left out", the other handlers run again."""
CAUSES = ("answered", "timeout", "crash", "unavailable", "invalid message")
"""As enum slurmhooks_result in native/wire/client.h."""
# Between the supervisor and a generation.
CONFIGURED = 13
"""The configuration is read, and no code of the site has run; a descriptor holds the settings and the watch as JSON."""
LOADED = 7
"""The hooks are loaded; a descriptor holds the watch and the hash of the files as JSON."""
FAILED = 8
"""The hooks could not be loaded; a descriptor holds the findings and the watch as JSON."""
FINISH = 9
"""Start no more workers, and end when the last one has ended; value: 1 to end the observer at once."""

LONGEST = 4096
_CREDENTIALS = Struct("iII")


class Message(NamedTuple):
    """One message.

    Attributes:
        kind: see above; 0: the bytes that have arrived are not a message.
        generation: number of the generation.
        pid: of a worker.
        value: see the kind.
        text: see the kind.
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


def send(control: socket.socket, message: Message, flags: int = 0) -> None:
    """Send a message.

    Args:
        control: the socket.
        message: the message.
        flags: MSG_DONTWAIT to raise BlockingIOError instead of waiting for a receiver.

    Raises:
        OSError: the other side is gone.
    """
    kind, generation, pid, value, text, fds, _ = message
    data = HEADER.pack(kind, generation, pid, value) + text.encode("utf-8", "replace")[: LONGEST - HEADER.size]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    control.sendmsg([data], rights, socket.MSG_NOSIGNAL | flags)


def receive(control: socket.socket) -> Message | None:
    """Return the next message, which has arrived; None: the other side is gone."""
    room = socket.CMSG_SPACE(16) + socket.CMSG_SPACE(_CREDENTIALS.size)
    try:
        data, parts, _, _ = control.recvmsg(LONGEST, room, socket.MSG_CMSG_CLOEXEC)
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
