# SPDX-License-Identifier: GPL-2.0-or-later
"""The socket between a worker and slurmctld: one request at a time, then questions about it, then one answer.

A message is its length and kind as two little-endian 32-bit numbers, then its bytes. In C:
native/client/channel.c.
"""

from __future__ import annotations

import os
import socket
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from mmap import mmap
from signal import ITIMER_REAL, setitimer
from struct import Struct

from slurmhooks.errors import StaleHandleError
from slurmhooks.log import log
from slurmhooks.wire.protocol import MAX_MESSAGE, STATUS_PAGE, ChannelKind
from slurmhooks.worker.interface import Query

HEADER = Struct("<II")
_SIZE = HEADER.size
_BEGUN = Struct("<I")
_FLAGS = Struct("<I")
_FLAGS_AT = _BEGUN.size
_TEXT = _FLAGS_AT + _FLAGS.size
_LIMIT = Struct("<I")
# In Python 3.11, each look-up in an enumeration takes long.
_REQUEST, _ANSWER, _LAST = ChannelKind.REQUEST, ChannelKind.ANSWER, ChannelKind.LAST


@lru_cache(1000)
def on_page(what: str) -> bytes:
    """Return a name as a status page stores it, perhaps cut off."""
    return what.encode("utf-8", "replace")[: STATUS_PAGE - _TEXT - 1]


@lru_cache(1000)
def _noted(what: str, flags: int) -> tuple[slice, bytes]:
    """Return flags and name as a status page stores them, and where."""
    raw = _FLAGS.pack(flags) + on_page(what) + b"\0"
    return slice(_FLAGS_AT, _FLAGS_AT + len(raw)), raw


class ProtocolError(Exception):
    """The other side has sent an invalid message, or a message is too long."""


class Channel:
    """The worker's end.

    Attributes:
        page: the status page, shared with slurmctld, which reads what a killed worker was doing.
    """

    def __init__(self, connection: socket.socket, page: mmap | None = None) -> None:
        self._connection = connection
        self.page = page
        self._owner = os.getpid()
        self._begun = 0
        self._open = 0  # the number of the request during which questions may be asked
        self._limited = False
        self._lock = allocate_lock()  # a handler's threads may ask at the same time

    @property
    def inherited(self) -> bool:
        """Whether this process is a child that a handler has forked, not the worker itself."""
        return os.getpid() != self._owner

    def close(self) -> None:
        """Close the socket; slurmctld sees that no answer will come."""
        self._connection.close()

    def send(self, kind: int, data: bytes) -> None:
        """Send a message.

        Raises:
            ProtocolError: the message is too long.
            OSError: slurmctld has closed the channel.
        """
        if len(data) > MAX_MESSAGE:
            raise ProtocolError(f"a message of {len(data)} bytes; at most {MAX_MESSAGE} are possible")
        self._connection.sendall(HEADER.pack(len(data), kind) + data)

    def receive(self, expected: int) -> bytes | None:
        """Return the next message; None: slurmctld has closed the channel.

        Raises:
            ProtocolError: the message has another kind than expected.
        """
        try:
            data = self._connection.recv(1 << 16)
            while len(data) < _SIZE:
                more = self._connection.recv(1 << 16) if data else b""
                if not more:
                    return None
                data += more
            length, kind = HEADER.unpack_from(data)
            data = data[_SIZE:]
            if kind != expected or not len(data) <= length <= MAX_MESSAGE:
                raise ProtocolError(f"message {kind} of {length} bytes instead of message {expected}")
            return data if len(data) == length else self._rest(data, length)
        except ConnectionError:
            return None

    def _rest(self, start: bytes, length: int) -> bytes | None:
        """Return a long message whose start has arrived."""
        whole = bytearray(length)
        whole[: len(start)] = start
        with memoryview(whole) as view:
            done = len(start)
            while done < length:
                size = self._connection.recv_into(view[done:])
                if not size:
                    return None
                done += size
        return bytes(whole)

    def ask(self, kind: int, data: bytes) -> bytes | None:
        """Return the reply to a message; None: slurmctld has closed the channel."""
        with self._lock:
            self.send(kind, data)
            return self.receive(ChannelKind.REPLY)

    def _query(self, request: int, question: bytes) -> bytes:
        """Ask a question during a request, which is given by its number; see slurmhooks.worker.interface.Query."""
        with self._lock:
            if request != self._open or self.inherited:
                raise StaleHandleError("slurmctld answers only during the call, in the worker itself")
            self.send(ChannelKind.QUERY, question)
            reply = self.receive(ChannelKind.REPLY)
        if reply is None:
            raise StaleHandleError("slurmctld has given up waiting for this call")
        return reply

    def doing(self, what: str, flags: int = 0, seconds: float | None = None) -> None:
        """Note what the worker is doing, so that slurmctld can log it if it never ends.

        ``flags`` are LENIENT and ALL_LENIENT. ``seconds`` limits how long slurmctld waits for the next message; None:
        until the deadline of the request.
        """
        if self.page is not None:
            place, raw = _noted(what, flags)
            self.page[place] = raw
        if seconds is not None or self._limited:
            self._limited = seconds is not None
            self.ask(ChannelKind.LIMIT, _LIMIT.pack(0 if seconds is None else max(1, round(seconds * 1000))))

    def begin(self) -> Query:
        """Note that a request has arrived; if this process is killed before that, another worker gets the request."""
        number = self._begun = self._open = self._begun + 1
        self._limited = False
        if self.page is not None:
            _BEGUN.pack_into(self.page, 0, number & 0xFFFFFFFF)
        return lambda question: self._query(number, question)

    def end(self) -> None:
        """Let no more questions be asked during the request; wait for one that another thread is asking.

        In a child that a handler forked, and that has returned from the handler, end the process.
        """
        end_fork(self._owner)
        with self._lock:
            self._open = 0


def end_timer() -> bool:
    """End the timer (SIGALRM) that a handler has left in this process; tell whether there was one."""
    return setitimer(ITIMER_REAL, 0)[0] > 0


def end_fork(pid: int) -> None:
    """End this process if it is a child that a handler forked, and not the process with this id."""
    if os.getpid() != pid:
        log.error("a handler has forked and its child came back, which ends here: have it call os._exit()")
        os._exit(1)


def serve(
    channel: Channel,
    handle: Callable[[bytes, Query], bytes],
    retire: Callable[[], bool] = bool,
    after: Callable[[], object] = bool,
) -> None:
    """Answer requests until slurmctld closes the channel.

    Args:
        channel: to slurmctld.
        handle: returns the answer to a request; if it raises, the worker ends, and the request gets no answer.
        retire: called after each request; tells whether this worker is to be replaced.
        after: called after each answer has been sent, when slurmctld no longer waits; if it raises, the worker ends. It
            must be quick nevertheless, because the next request may have arrived already.
    """
    channel.end()  # this may be a child that a handler of init forked
    # A child that a handler forks must neither keep the channel open nor answer.
    os.register_at_fork(after_in_child=channel.close)
    with suppress(ConnectionError):
        channel.send(ChannelKind.READY, b"")
        while (request := channel.receive(_REQUEST)) is not None:
            answer = handle(request, channel.begin())
            channel.end()
            last = retire()
            channel.send(_LAST if last else _ANSWER, answer)
            after()
            if last:
                return
