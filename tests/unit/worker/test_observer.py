# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that runs handlers after the answer, and its parent, which replaces it."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from slurmhooks.config import plain
from slurmhooks.errors import StaleHandleError
from slurmhooks.log import log
from slurmhooks.processes import control
from slurmhooks.processes.settings import Settings
from slurmhooks.wire.protocol import ChannelKind, Control
from slurmhooks.worker import companion, worker
from slurmhooks.worker.channel import HEADER
from slurmhooks.worker.interface import Progress, Query, Turns
from slurmhooks.worker.observer import Observer


@dataclass
class Service:
    """Runs Python code that "workers" send."""

    folder: Path
    settings: Settings = field(
        default_factory=lambda: Settings(plain.table("job_submit", {"memory_limit": "unlimited"}))
    )
    observes: bool = True
    repeats: bool = False
    timeout: float = 30.0

    def start(self) -> None:
        """Do nothing."""

    def handle(self, request: bytes, query: Query) -> bytes:
        """Never called."""
        raise NotImplementedError

    def after(self) -> None:
        """Never called."""

    def observed_by(self, send: Callable[[bytes], object]) -> None:
        """Keep the function of workers."""
        self.send = send

    def observe(self, data: bytes, query: Query, progress: Progress) -> None:
        """Run two handlers, of which the first one is the code; write a line about the outcome."""
        if data.startswith(b"before"):
            os._exit(3)
        if 0 not in progress.ended:
            progress.begin(0, "limits:first", self.timeout)
            exec(data, {"query": query, "note": self.note, "os": os, "signal": signal, "time": time})
            progress.end()
        self.note(f"{progress.ended} {progress.dropped}")

    def note(self, text: str) -> None:
        """Write a line."""
        with open(self.folder / "notes", "a", encoding="utf-8") as file:
            file.write(text + "\n")

    def repeat(self, query: Query, turns: Turns) -> None:
        """Have no rules."""

    def stop(self) -> None:
        """Say so."""
        self.note("stopped")


class Parent:
    """A generation that has an observer."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.lines: list[str] = []
        self.supervisor, self.ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.observer = Observer(service, 7, self.ours)

    def until(self, true: Callable[[], bool]) -> None:
        """Do the work of a generation until a condition is true."""
        while not true():
            self.observer.tend(lambda: None)
            time.sleep(0.002)

    def notes(self, count: int) -> list[str]:
        """Wait for lines of the process; return them."""
        path = self.service.folder / "notes"
        self.until(lambda: path.exists() and path.read_text().count("\n") >= count)
        return path.read_text().splitlines()


def drop(supervisor: socket.socket) -> None:
    """Close the channels that were not taken."""
    supervisor.setblocking(False)
    with suppress(BlockingIOError):
        while (message := control.receive(supervisor)) is not None:
            for fd in message.fds:
                os.close(fd)


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    """Return a generation; its process is ended afterwards, and none is left."""
    parent = Parent(Service(tmp_path))
    before = log.attach(lambda level, text: parent.lines.append(text), parent.lines.append)
    try:
        yield parent
    finally:
        parent.observer.finish(at_once=True)
        parent.until(lambda: not parent.observer.running)
        log.attach(*before)
        drop(parent.supervisor)
        parent.supervisor.close()
        parent.ours.close()


def test_it_observes_what_workers_send(parent: Parent) -> None:
    """Requests are observed in order, by one process, which ends by itself after an order to finish."""
    for number in range(3):
        parent.service.send(f"note('{number} ' + str(os.getpid()))".encode())
    notes = parent.notes(6)
    assert notes[1::2] == ["{} 0"] * 3
    (pid,) = {note.split()[1] for note in notes[::2]}
    assert int(pid) != os.getpid()
    parent.service.send(b"note('last')")
    parent.observer.finish(at_once=False)
    assert parent.notes(9)[6:] == ["last", "{} 0", "stopped"]
    parent.until(lambda: not parent.observer.running)
    assert parent.lines == []


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL in limits:first"),
        ("os._exit(4)", "ended with exit code 4 in limits:first"),
        ("time.sleep(1000)", "missed the time limit of limits:first and was killed"),
        (
            "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); time.sleep(1000)",
            "missed the time limit of",
        ),
    ],
)
def test_a_lost_process_is_replaced(parent: Parent, code: str, how: str) -> None:
    """The next observer continues with the same request without that handler; the log names it; no request is lost."""
    if "sleep" in code:
        parent.service.timeout = 0.05
    parent.service.send(code.encode())
    parent.service.send(b"note('next')")
    first, *others = parent.notes(3)
    assert first.startswith("{0: '" + how)
    assert others == ["next", "{} 0"]
    (line,) = parent.lines
    assert how in line
    assert line.endswith("; no request is affected")


def test_a_request_that_ends_every_process_is_dropped(parent: Parent) -> None:
    """If the process ends outside of handlers, its request does not also end the next process."""
    parent.service.send(b"before")
    parent.service.send(b"note('next')")
    assert parent.notes(2) == ["next", "{} 0"]
    (line,) = parent.lines
    assert "ended with exit code 3; no request" in line


def test_a_process_that_is_killed_between_requests(parent: Parent) -> None:
    """If the process is killed while it waits, nothing is left out or dropped."""
    parent.service.send(b"note(str(os.getpid()))")
    pid = int(parent.notes(2)[0])
    parent.until(lambda: parent.observer._page.read()[0] == companion.IDLE)
    os.kill(pid, signal.SIGKILL)
    parent.service.send(b"note('next')")
    assert parent.notes(4)[2:] == ["next", "{} 0"]


def test_children_of_handlers_end(parent: Parent) -> None:
    """A child that a handler has forked, and that returns, observes nothing; its parent continues."""
    parent.service.send(b"pid = os.fork()\nif pid: note(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))")
    assert parent.notes(2) == ["1", "{} 0"]


def test_a_timer_is_not_left(parent: Parent) -> None:
    """A timer of a handler does not end the process while it observes another request; the log names the handler."""
    parent.service.send(b"signal.setitimer(signal.ITIMER_REAL, 0.05)\nnote(str(os.getpid()))")
    parent.service.send(b"time.sleep(0.2)\nnote(str(os.getpid()))")
    first, _, second, ended = parent.notes(4)
    assert (second, ended) == (first, "{} 0")
    assert parent.lines == []  # the process has a log of its own


def test_workers_never_wait(parent: Parent) -> None:
    """If too many requests are waiting, further ones are dropped and counted."""
    parent.service.send(b"note('first')\nos.read(os.open('%b', os.O_RDONLY), 1)" % os.fsencode(fifo(parent)))
    parent.notes(1)
    sent = 0
    while parent.service.send(b"pass #" + b"x" * 5000):
        sent += 1
    assert not parent.service.send(b"pass")
    with open(fifo(parent), "wb", buffering=0) as file:
        file.write(b"x")
    notes = parent.notes(2 + sent)
    assert notes[1:] == ["{} 0"] * (1 + sent)
    assert parent.service.send(b"pass")
    assert parent.notes(3 + sent)[-1] == "{} 2"


def fifo(parent: Parent) -> Path:
    """Return the path of a FIFO."""
    path = parent.service.folder / "fifo"
    if not path.exists():
        os.mkfifo(path)
    return path


def test_questions_go_to_slurmctld(parent: Parent) -> None:
    """The process gets its own channel, whose other end is sent to slurmctld; when that is closed, questions fail."""
    parent.service.send(
        b"note(query(b'what').decode())\ntry:\n    query(b'else')\nexcept Exception as error: note(repr(error))"
    )
    parent.until(lambda: parent.observer.running)
    message = control.receive(parent.supervisor)
    assert message is not None
    assert (message.kind, message.generation) == (Control.OBSERVER, 7)
    with socket.socket(fileno=message.fds[0]) as channel:
        assert channel.recv(100) == HEADER.pack(4, ChannelKind.QUERY) + b"what"
        channel.sendall(HEADER.pack(4, ChannelKind.REPLY) + b"that")
        parent.notes(1)
    assert parent.notes(2)[1].startswith(StaleHandleError.__name__)


def test_a_process_with_much_memory_is_replaced(parent: Parent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with too little memory left ends between two requests, so that later requests get enough."""
    monkeypatch.setattr(worker, "is_bloated", lambda settings: True)
    for _ in range(2):
        parent.service.send(b"note(str(os.getpid()))")
    first, _, stopped, second = parent.notes(5)[:4]
    assert stopped == "stopped"
    assert first != second
    assert parent.lines == []
