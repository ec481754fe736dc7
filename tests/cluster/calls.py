# SPDX-License-Identifier: GPL-2.0-or-later
"""Call the verbs of `tests/cluster/run` without starting Python for each, because tests make thousands of calls."""

import atexit
import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.lab import cluster, enter, places, warm
from tests.cluster.lab.errors import LabError

RUN = Path(__file__).parent / "run"
SERVE = (sys.executable, "-I", "-S", str(RUN), "serve")
LATE = "late"
PLAIN = re.compile(r"(exec 2>&1[;\n])?\s*(slurmhooks [\w ./=:,-]+)\s*")
"""A script that needs no shell."""

_idle: list[subprocess.Popen[str]] = []
"""Idle servers; at most as many as there were simultaneous calls."""
_inside: dict[tuple[str, str], list[tuple[subprocess.Popen[bytes], socket.socket]]] = {}
"""Idle servers in a cluster, by its name and release, or for the commands of a build; most calls are theirs."""


def call(
    arguments: list[str], environment: Mapping[str, str], stdin: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a verb like `run`.

    Output goes through files, because with pipes the call would wait for processes that outlive their parent.

    Raises:
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it has been killed.
    """
    with contextlib.ExitStack() as stack:
        streams = [_file(stack, text) for text in (stdin or "", "", "")]
        code = _call_inside(arguments, environment, streams, timeout) or _call(arguments, environment, streams, timeout)
        out, err = (_content(stream) for stream in streams[1:])
    if code == LATE:
        raise subprocess.TimeoutExpired(arguments, timeout, out, err)
    return subprocess.CompletedProcess(arguments, int(code), out, err)


def _file(stack: contextlib.ExitStack, text: str) -> int:
    """Return the descriptor of a file in memory, at the beginning of its content."""
    descriptor = os.memfd_create("stream")
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(text.encode(errors="surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    # Linux does not lock the position that processes share in such a file: what they write at once would be lost.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    return descriptor


def _content(descriptor: int) -> str:
    # Processes that outlive their parent may still write, and share the position of this descriptor.
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="surrogateescape")


def _call(arguments: list[str], environment: Mapping[str, str], streams: list[int], timeout: float) -> str:
    """Run any verb; return the exit code as a text, or LATE."""
    if arguments[0] in ("up", "down"):
        _leave(environment.get("SLURMHOOKS_CLUSTER", ""))
    paths = [f"/proc/{os.getpid()}/fd/{stream}" for stream in streams]
    request = {"arguments": arguments, "environment": dict(environment), "streams": paths}
    server = _idle.pop() if _idle else _start()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    process = int(server.stdout.readline())
    late = threading.Event()

    def end() -> None:
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    timer = threading.Timer(timeout, end)
    timer.start()
    code = server.stdout.readline().strip()
    timer.cancel()
    _idle.append(server)
    return LATE if late.is_set() else code


def _call_inside(
    arguments: list[str], environment: Mapping[str, str], streams: list[int], timeout: float
) -> str | None:
    """Run a verb in a cluster; return the exit code as a text, LATE, or None: this is no task for such a server."""
    release = _served_inside(arguments)
    if release is None:
        return None
    name = environment.get("SLURMHOOKS_CLUSTER", "")
    answer = None
    if arguments[0] == "exec":
        command = enter.read("exec", arguments[1:])
        directory = os.path.join(places.clusters(), name, release)
        build, keeper = cluster.read_layer(directory), places.read_keeper(directory)
        words, plain = _without_shell(command.words, streams)
        if words[0] == "slurmhooks" and not (command.env or command.directory) and build and keeper:
            # Its process does not end late commands.
            request = [words[1:], keeper.pid]
            answer = _ask((build, release), [release, build], environment, request, plain, timeout)
    if answer in (None, warm.UNSERVED):
        # It ends late commands itself, but may wait for a file system, too.
        answer = _ask((name, release), [release], environment, [arguments, timeout], streams, timeout + 10)
    return answer


def _without_shell(words: list[str], streams: list[int]) -> tuple[list[str], list[int]]:
    """Return a command of slurmhooks and its streams without the shell that would start it; any other as it is."""
    script = PLAIN.fullmatch(words[-1]) if words[:-1] in (["sh", "-c"], ["sh", "-ec"]) else None
    if script is None:
        return words, streams
    return script[2].split(), [*streams[:2], streams[1 if script[1] else 2]]


def _ask(
    key: tuple[str, str],
    served: list[str],
    environment: Mapping[str, str],
    request: list[object],
    streams: list[int],
    timeout: float,
) -> str | None:
    """Return the answer of an idle server, or of a new one; None: it has ended.

    ``served`` and ``environment`` are for a new one; it is killed after ``timeout`` seconds.
    """
    idle = _inside.setdefault(key, [])
    server, connection = idle.pop() if idle else _start_inside(served, environment)
    with contextlib.ExitStack() as stack:
        file = _file(stack, json.dumps(request))
        try:
            socket.send_fds(connection, [b"."], [file, *streams])
            connection.settimeout(timeout)
            answer = connection.recv(64)
        except TimeoutError:
            server.kill()
            connection.close()
            return LATE
        except OSError:
            answer = b""
    if not answer:  # it has not entered, or the cluster has ended
        connection.close()
        server.wait()
        return None
    idle.append((server, connection))
    return answer.decode()


def _served_inside(arguments: list[str]) -> str | None:
    """Return the release, or None if the verb needs the host."""
    verb, *others = arguments
    if verb in ("exec", "as"):
        try:
            return enter.read(verb, others).release
        except LabError:
            return None
    if verb == "log" or (verb == "put" and others[-2:-1] == ["-"] and others[-1].startswith("/")):
        return others[0]
    return None


def _start() -> subprocess.Popen[str]:
    """Return a new server, which ends with this process: its standard input is then closed."""
    return subprocess.Popen([*SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _start_inside(served: list[str], environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Return a new server for clusters, and the socket to it, whose end it notices."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen([*SERVE, *served], stdin=theirs.fileno(), env=environment, stderr=subprocess.DEVNULL)
    return server, ours


def _leave(name: str) -> None:
    """End the servers in a set of clusters: they would keep what is mounted there."""
    for key in [key for key in _inside if key[0] == name]:
        for server, connection in _inside.pop(key):
            connection.close()
            server.wait()


@atexit.register
def _end() -> None:
    for name in {name for name, _ in _inside}:
        _leave(name)
    for server in _idle:
        server.communicate()
