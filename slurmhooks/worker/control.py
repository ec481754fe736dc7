# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages between slurmctld, the supervisor and generations, over SOCK_SEQPACKET. In C: native/wire/control.h."""

from __future__ import annotations

import array
import json
import os
import socket
from struct import Struct
from typing import Any, NamedTuple

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
UNSERVED = 11
"""slurmctld has decided a request without an answer; value: index in VERDICTS; pid: index in CAUSES; text: 5 lines."""
VERDICTS = ("handler left out", "accepted on error", "failed", "unavailable, accepted", "unavailable")
"""As enum unserved in native/slurmctld/point.c. After "handler left out", the other handlers run again."""
CAUSES = ("answered", "timeout", "crash", "unavailable", "invalid message")
"""As enum slurmhooks_result in native/wire/client.h."""
# Between the supervisor and a generation.
LOADED = 7
"""The hooks are loaded; a descriptor holds the settings and the watch as JSON."""
FAILED = 8
"""The hooks could not be loaded; a descriptor holds the findings and the watch as JSON."""
FINISH = 9
"""Start no more workers, and end when the last one has ended; value: 1 to end the observer at once."""

LONGEST = 4096


class Message(NamedTuple):
    """One message."""

    kind: int
    generation: int
    pid: int = 0
    value: int = 0
    text: str = ""
    fds: tuple[int, ...] = ()


def send(control: socket.socket, message: Message) -> None:
    """Send a message.

    Raises:
        OSError: the other side is gone.
    """
    kind, generation, pid, value, text, fds = message
    data = HEADER.pack(kind, generation, pid, value) + text.encode("utf-8", "replace")[: LONGEST - HEADER.size]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    control.sendmsg([data], rights, socket.MSG_NOSIGNAL)


def receive(control: socket.socket) -> Message | None:
    """Return the next message, which has arrived; None: the other side is gone."""
    try:
        data, rights, _, _ = control.recvmsg(LONGEST, socket.CMSG_SPACE(16), socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None
    if not data:
        return None
    fds = array.array("i")
    for level, kind, content in rights:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    kind, generation, pid, value = HEADER.unpack_from(data)
    return Message(kind, generation, pid, value, data[HEADER.size :].decode("utf-8", "replace"), tuple(fds))


def drop(control: socket.socket) -> bool:
    """Receive and discard a message with its descriptors; tell whether others may follow.

    A worker that is ready would go on waiting for requests as long as the descriptor of its channel is in a message.
    """
    message = receive(control)
    if message is None:
        return False
    for fd in message.fds:
        os.close(fd)
    return True


def document(content: dict[str, Any]) -> int:
    """Return the descriptor of an anonymous file that holds a dictionary, which may be too large for a message."""
    fd = os.memfd_create("slurmhooks", os.MFD_CLOEXEC)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape", closefd=False) as file:
        json.dump(content, file)
    return fd


def content(fd: int) -> dict[str, Any]:
    """Return the dictionary that :func:`document` wrote, and close the descriptor."""
    with open(fd, encoding="utf-8", errors="surrogateescape") as file:
        file.seek(0)
        dictionary: dict[str, Any] = json.load(file)
    return dictionary
