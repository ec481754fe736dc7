# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors that processes send to each other; those of another user's process are checked before they are used.

A read, ``fstat()`` or even ``close()`` of a file may wait forever, if its sender has mounted the file system. Of
anonymous memory and Unix sockets, none does. ``F_GET_SEALS`` tells without waiting whether a descriptor is memory.
"""

from __future__ import annotations

import _thread
import fcntl
import json
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
MAX_SIZE = 64 << 20
"""Maximum bytes in sealed memory."""


def sealed(data: bytes) -> int:
    """Return the descriptor of anonymous memory that holds some bytes, and that nobody can change any more.

    Raises:
        OSError: the kernel is short of memory or descriptors.
    """
    fd = os.memfd_create("slurmhooks", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def content(fd: int, most: int = MAX_SIZE) -> bytes:
    """Return the bytes in sealed memory, and close the descriptor.

    Raises:
        ValueError: it is not sealed memory, or has more bytes; nothing was read.
    """
    try:
        if (_seals(fd) or 0) & SEALS != SEALS:
            raise ValueError("a descriptor is not sealed memory")
        size = os.fstat(fd).st_size
        if size > most:
            raise ValueError(f"{size} bytes in sealed memory; at most {most} are allowed")
        return os.pread(fd, size, 0)
    finally:
        discard([fd])


def document(values: dict[str, Any]) -> int:
    """Return the descriptor of sealed memory that holds a dictionary as JSON.

    Raises:
        OSError: the kernel is short of memory or descriptors.
    """
    return sealed(json.dumps(values).encode("utf-8", "surrogateescape"))


def values(fd: int, most: int = MAX_SIZE) -> dict[str, Any]:
    """Return the dictionary that :func:`document` wrote, and close the descriptor.

    Raises:
        ValueError: the descriptor does not hold such a dictionary, or is too large.
    """
    try:
        result = json.loads(content(fd, most).decode("utf-8", "surrogateescape"))
    except RecursionError:
        raise ValueError("a document is nested too deeply") from None
    if not isinstance(result, dict):
        raise ValueError("a document is not a dictionary")
    return result


def is_memory(fd: int) -> bool:
    """Tell whether a descriptor is anonymous memory."""
    return _seals(fd) is not None


def _seals(fd: int) -> int | None:
    """Return the seals of anonymous memory; None for anything else."""
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        return None


def is_stream(fd: int) -> bool:
    """Tell whether a descriptor is a Unix stream socket."""
    return _is_unix(fd) and _option(fd, socket.SO_TYPE) == socket.SOCK_STREAM


def is_seqpacket(fd: int) -> bool:
    """Tell whether a descriptor is a Unix socket for messages."""
    return _is_unix(fd) and _option(fd, socket.SO_TYPE) == socket.SOCK_SEQPACKET


def _is_unix(fd: int) -> bool:
    return _option(fd, socket.SO_DOMAIN) == socket.AF_UNIX


def _option(fd: int, name: int) -> int | None:
    """Return an option of a socket; None for anything else."""
    try:
        copy = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=fd)
    except OSError:
        return None
    try:
        return copy.getsockopt(socket.SOL_SOCKET, name)
    except OSError:
        return None
    finally:
        copy.detach()


def discard(fds: Iterable[int]) -> None:
    """Close descriptors without waiting; those that might wait are closed in a thread."""
    for fd in fds:
        if is_memory(fd) or _is_unix(fd):
            os.close(fd)
        else:
            with suppress(RuntimeError):  # no thread can be started: it stays open
                _thread.start_new_thread(os.close, (fd,))
