# SPDX-License-Identifier: GPL-2.0-or-later
"""How commands such as ``slurmhooks deploy`` talk to the supervisor: a socket that only root and SlurmUser may use.

The socket is abstract, so that it disappears with the supervisor, however that ends. Any user can connect to an
abstract socket, or create one, so both sides ask the kernel who the other side is. The name has a random end, because a
user could otherwise take it first; commands look for all such names in /proc/net/unix.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, Any

from slurmhooks.files import slurm_conf
from slurmhooks.processes import descriptors

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "slurmhooks"
QUESTIONS = "questions"
"""A request for a channel on which slurmctld answers questions about its tables."""
SERVE = "reload"
"""A request to serve the set in force, which is answered when that serves; earlier releases know this word, too."""
PREPARE = "prepare "
"""A request to find out whether a set loads, before it is in force; its id follows."""
MAX_REQUEST = 4096
"""Maximum bytes of a request."""
MAX_CONNECTIONS = 32
"""Maximum number of connections at one time."""
CONNECT = 2.0
"""Seconds after which sockets that accept no connection are ignored: a user may have created them."""
SILENT = "slurmctld's supervisor has ended, or could not answer: see slurmctld's log, and run this again"
"""The finding for a supervisor that has closed the connection, perhaps for lack of descriptors."""
_CREDENTIALS = Struct("iII")


class Command:
    """One connection of a command.

    Attributes:
        text: the request; empty if it has not arrived yet.
        generation: number of the generation whose start it waits for; None if that has not been started yet.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.text = ""
        self.generation: int | None = None


class Commands:
    """The supervisor's side."""

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(f"\0{start_of_name(slurm_conf.directory())}{os.urandom(8).hex()}")
        self._listening.listen(MAX_CONNECTIONS)
        self._listening.setblocking(False)

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets to wait for."""
        return [self._listening, *(command.connection for command in self._commands)]

    @property
    def waiting(self) -> bool:
        """Whether a command waits for the files to be loaded."""
        return any(command.text == SERVE and command.generation is None for command in self._commands)

    def ready(self, fds: set[int]) -> list[Command]:
        """Accept connections and return those that have arrived."""
        arrived = []
        for command in list(self._commands):
            if command.connection.fileno() in fds:
                data = _receive(command.connection)
                if not data or command.text:
                    self._close(command)
                else:
                    command.text = data.decode("utf-8", "replace")
                    arrived.append(command)
        if self._listening.fileno() in fds:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return arrived
            if peer(connection) in (0, os.getuid()) and len(self._commands) < MAX_CONNECTIONS:
                connection.setblocking(False)
                self._commands.append(Command(connection))
            else:
                connection.close()
        return arrived

    def loading(self, generation: int) -> None:
        """Note which generation the waiting commands wait for."""
        for command in self._commands:
            if command.text == SERVE and command.generation is None:
                command.generation = generation

    def served(self, generation: int) -> None:
        """Answer the commands that wait for a generation, after it has gone into service."""
        for command in list(self._commands):
            if command.text == SERVE and command.generation is not None and command.generation <= generation:
                self.answer(command, {"generation": generation})

    def loaded(self, generation: int) -> None:
        """Answer the command that wants to know whether a set loads, after it has."""
        for command in list(self._commands):
            if command.generation == generation:
                self.answer(command, {})

    def failed(self, generation: int, findings: list[str]) -> None:
        """Answer the commands that wait for a generation, if it has not loaded."""
        for command in list(self._commands):
            if command.generation == generation:
                self.answer(command, {"findings": findings})

    def answer(self, command: Command, content: dict[str, Any]) -> None:
        """Answer a request and close its connection."""
        with suppress(OSError):  # the command was interrupted, or no descriptor is free
            document = descriptors.document(content)
            try:
                socket.send_fds(command.connection, [b"document"], [document])
            finally:
                os.close(document)
        self._close(command)

    def give(self, command: Command, pass_on: Callable[[socket.socket], None]) -> None:
        """Answer a request with a channel for questions to slurmctld, whose other end is passed on to it."""
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            self.answer(command, {"findings": [f"no channel can be made: {error.strerror}"]})
            return
        with ours, theirs:
            pass_on(ours)
            with suppress(OSError):  # the command was interrupted
                socket.send_fds(command.connection, [b"channel"], [theirs.fileno()])
        self._close(command)

    def close(self) -> None:
        """Close everything, in a forked child."""
        for end in self.sockets:
            end.close()

    def _close(self, command: Command) -> None:
        command.connection.close()
        self._commands.remove(command)


def start_of_name(folder: str) -> str:
    """Return the start of the socket names for a configuration: a hash, because socket names must be short."""
    return f"{PREFIX}-{hashlib.sha256(folder.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}-"


def peer(connection: socket.socket) -> int:
    """Return the user id of the process at the other end."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(MAX_REQUEST)
    except OSError:
        return b""


def ask(text: str, folder: str, slurm_user: int, seconds: float) -> list[dict[str, Any]]:
    """Ask every supervisor on this machine that serves a configuration; return answers, and findings on missing ones.

    The command's side. ``seconds`` is how long to wait for an answer. Sockets of users other than root and SlurmUser
    are ignored.
    """
    candidates = names(folder)
    if candidates and os.getuid() not in (0, slurm_user):
        return [{"findings": ["only root and SlurmUser may do this"]}]
    answers = []
    for connection in _connect(candidates, slurm_user):
        with connection:
            connection.settimeout(seconds)
            try:
                connection.send(text.encode())
                _, documents, _, _ = socket.recv_fds(connection, MAX_REQUEST, 1)
            except ConnectionError:
                documents = []
            except TimeoutError:
                answers.append({"findings": [f"no answer within {seconds:g} s"]})
                continue
            # No answer is no agreement.
            answers += map(descriptors.values, documents) if documents else [{"findings": [SILENT]}]
    return answers


def is_served(folder: str, slurm_user: int) -> bool:
    """Tell whether a supervisor on this machine serves a configuration; see :func:`ask`."""
    connections = _connect(names(folder), slurm_user)
    for connection in connections:
        connection.close()
    return bool(connections)


def channels(folder: str, slurm_user: int, seconds: float) -> list[socket.socket]:
    """Return a channel for questions to each slurmctld on this machine that serves a configuration; see :func:`ask`.

    Raises:
        PermissionError: this process is neither root's nor SlurmUser's.
    """
    candidates = names(folder)
    if candidates and os.getuid() not in (0, slurm_user):
        raise PermissionError("only root and SlurmUser may do this")
    ends = []
    for connection in _connect(candidates, slurm_user):
        with connection, suppress(ConnectionError, TimeoutError):
            connection.settimeout(seconds)
            connection.send(QUESTIONS.encode())
            text, fds, _, _ = socket.recv_fds(connection, MAX_REQUEST, 1)
            if text == b"channel":
                ends += [socket.socket(fileno=fd) for fd in fds]
            else:
                descriptors.discard(fds)
    return ends


def _connect(candidates: list[str], slurm_user: int) -> list[socket.socket]:
    """Connect to those candidates whose sockets belong to root or SlurmUser; return the connections."""
    connections = []
    until = time.monotonic() + CONNECT
    while candidates:
        busy = []
        for name in candidates:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            connection.setblocking(False)
            try:
                connection.connect(f"\0{name}")
            except BlockingIOError:
                busy.append(name)
            except ConnectionError:
                pass  # it has just ended
            else:
                if peer(connection) in (0, slurm_user):
                    connections.append(connection)
                    continue
            connection.close()
        if not busy or time.monotonic() > until:
            break
        candidates = busy
        time.sleep(0.01)
    return connections


def names(folder: str) -> list[str]:
    """Return the names of all sockets that may be supervisors of a configuration, without the NUL byte."""
    # Names of other sockets may contain line breaks, so a line does not always describe a socket.
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        return sorted(set(re.findall(f"@({start_of_name(folder)}[0-9a-f]{{16}})$", file.read(), re.MULTILINE)))
