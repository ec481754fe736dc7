# SPDX-License-Identifier: GPL-2.0-or-later
import os
import signal
import socket
import struct
from collections.abc import Iterator
from mmap import mmap
from threading import Thread

import pytest

from slurmhooks.errors import StaleHandleError
from slurmhooks.wire.protocol import MAX_MESSAGE, STATUS_PAGE, ChannelKind
from slurmhooks.worker.channel import HEADER, Channel, ProtocolError, serve
from slurmhooks.worker.companion import asks
from slurmhooks.worker.interface import Query


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    """A worker's channel with a page, and slurmctld's end of it."""
    theirs, ours = socket.socketpair()
    theirs.settimeout(10)
    with theirs, ours:
        yield Channel(ours, mmap(-1, STATUS_PAGE)), theirs


def message(kind: int, data: bytes) -> bytes:
    """Return a message as it is sent."""
    return HEADER.pack(len(data), kind) + data


def read(end: socket.socket) -> tuple[int, bytes]:
    """Return the next message at slurmctld's end."""
    length, kind = HEADER.unpack(end.recv(HEADER.size, socket.MSG_WAITALL))
    return kind, end.recv(length, socket.MSG_WAITALL) if length else b""


@pytest.mark.parametrize("size", [0, 1, (1 << 16) - HEADER.size, (1 << 16) - HEADER.size + 1, 3_000_000])
def test_messages_arrive_whole(ends: tuple[Channel, socket.socket], size: int) -> None:
    """A message of any size is received completely, in any number of reads."""
    ours, theirs = ends
    data = bytes(range(256)) * (size // 256) + b"z" * (size % 256)
    sender = Thread(target=theirs.sendall, args=(message(ChannelKind.REQUEST, data),))
    sender.start()
    assert ours.receive(ChannelKind.REQUEST) == data
    sender.join()


def test_a_child_asks_nothing(ends: tuple[Channel, socket.socket]) -> None:
    """A process that a handler has forked takes no part in what its parent exchanges."""
    query = asks(ends[0])
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)  # nobody would answer
        try:
            query(b"who")
        except StaleHandleError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_header_in_pieces(ends: tuple[Channel, socket.socket]) -> None:
    """A header that arrives in two reads is put together."""
    ours, theirs = ends
    received: list[bytes | None] = []
    receiver = Thread(target=lambda: received.append(ours.receive(ChannelKind.REQUEST)))
    receiver.start()
    whole = message(ChannelKind.REQUEST, b"text")
    theirs.sendall(whole[:3])
    theirs.sendall(whole[3:])
    receiver.join()
    assert received == [b"text"]


@pytest.mark.parametrize(
    "wrong",
    [
        message(ChannelKind.REPLY, b""),
        HEADER.pack(MAX_MESSAGE + 1, ChannelKind.REQUEST),
        message(ChannelKind.REQUEST, b"a") + b"more",
    ],
    ids=["another kind", "too long", "more than one"],
)
def test_damaged_messages(ends: tuple[Channel, socket.socket], wrong: bytes) -> None:
    """An invalid message ends the worker."""
    ours, theirs = ends
    theirs.sendall(wrong)
    with pytest.raises(ProtocolError):
        ours.receive(ChannelKind.REQUEST)


def test_too_long_to_send(ends: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that slurmctld would refuse is not sent."""
    monkeypatch.setattr("slurmhooks.worker.channel.MAX_MESSAGE", 10)
    with pytest.raises(ProtocolError, match="11 bytes; at most 10"):
        ends[0].send(ChannelKind.ANSWER, b"x" * 11)


def test_serving(ends: tuple[Channel, socket.socket]) -> None:
    """A worker reports that it is ready, asks, answers, counts begun requests, and may end after an answer."""
    ours, theirs = ends
    queries: list[Query] = []

    def handle(request: bytes, query: Query) -> bytes:
        queries.append(query)
        ours.doing("limits:check", 1)
        return query(b"what of " + request)

    worker = Thread(target=serve, args=(ours, handle, lambda: len(queries) == 2))
    worker.start()
    assert read(theirs) == (ChannelKind.READY, b"")
    for number, kind in ((1, ChannelKind.ANSWER), (2, ChannelKind.LAST)):
        theirs.sendall(message(ChannelKind.REQUEST, b"it"))
        assert read(theirs) == (ChannelKind.QUERY, b"what of it")
        assert ours.page is not None
        assert ours.page[:21] == struct.pack("<II", number, 1) + b"limits:check\0"
        theirs.sendall(message(ChannelKind.REPLY, b"this"))
        assert read(theirs) == (kind, b"this")
    worker.join()
    with pytest.raises(StaleHandleError):
        queries[0](b"late")


def test_end_of_service(ends: tuple[Channel, socket.socket]) -> None:
    """A worker ends without an error when slurmctld closes the channel, even during a request."""
    ours, theirs = ends
    theirs.sendall(message(ChannelKind.REQUEST, b""))
    theirs.shutdown(socket.SHUT_RDWR)
    serve(ours, lambda request, query: b"x" * 1_000_000)


def test_limits(ends: tuple[Channel, socket.socket]) -> None:
    """The status page has the deadline of a handler in milliseconds, at least one, until the handler ends."""
    ours, theirs = ends
    for seconds, sent in ((None, None), (0.25, 250), (1e-9, 1), (None, 0), (None, None)):
        if sent is not None:
            theirs.sendall(message(ChannelKind.REPLY, b""))
        ours.doing("", 0, seconds)
        if sent is not None:
            assert read(theirs) == (ChannelKind.LIMIT, sent.to_bytes(4, "little"))
