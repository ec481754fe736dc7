# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command where scrun runs, as ``slurm.allocator_command`` of scrun.lua does, without its faults.

scrun's own function (24.11 to 26.05, lua.c:_lua_allocator_command) reports 0 for a command that died of a signal, ends
the output at a NUL byte, and in stage_out races with scrun's reaper of children (anchor.c:_catch_sigchld), which leaves
it with a status that it never read. So the status here comes through a pipe from the shell that ran the command.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal

from slurmhooks.errors import SlurmhooksError
from slurmhooks.scrun.errors import CancelledError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHELL = "/bin/sh"
STATUS_FD = 3
ERROR_FD = 4
WRAPPER = f'(exec "$0" -c "$1" 2>&{ERROR_FD} {ERROR_FD}>&- {STATUS_FD}>&-)\necho $? >&{STATUS_FD}'
"""Runs the command, then writes its status; 128 + N for death by signal N, which this shell says on a muted stderr."""
LOOK_SECONDS = 0.1
KILL_SECONDS = 2.0


class CommandResult:
    """What a command came to.

    Attributes:
        status: its exit code; 128 + N if signal N ended it.
        output: its standard output and standard error, as one text. Bytes that are not UTF-8 are surrogates.
    """

    __slots__ = ("output", "status")

    def __init__(self, status: int, output: str) -> None:
        """Keep both."""
        self.status = status
        self.output = output

    def __repr__(self) -> str:
        """Return both."""
        return f"CommandResult(status={self.status}, output={self.output!r})"


def run(command: bytes, environment: Mapping[bytes, bytes], cancelled: Callable[[], bool]) -> tuple[int, bytes]:
    """Run a shell command in its own process group, and wait for it.

    Standard input is empty; standard output and error are one stream, read to its end, so that a process which the
    command left in the background is waited for as well, as scrun does.

    Args:
        command: for ``/bin/sh -c``.
        environment: all of it.
        cancelled: asked from time to time; true kills the process group.

    Returns:
        status and output.

    Raises:
        CancelledError: see ``cancelled``.
        SlurmhooksError: it could not be started, or somebody killed the shell.
    """
    out_read, out_write = os.pipe()
    status_read, status_write = os.pipe()
    try:
        pid = _spawn(command, environment, out_write, status_write)
    except OSError as error:
        os.close(out_read)
        os.close(status_read)
        raise SlurmhooksError(f"{SHELL}: {error.strerror}") from error
    finally:
        os.close(out_write)
        os.close(status_write)
    try:
        output, status = _read_both(out_read, status_read, pid, cancelled)
    finally:
        os.close(out_read)
        os.close(status_read)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # what the command left behind
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)  # scrun may have reaped it first
    if not status.strip().isdigit():
        raise SlurmhooksError("the shell was killed before it could say how the command ended")
    return int(status), output


def _spawn(command: bytes, environment: Mapping[bytes, bytes], out: int, status: int) -> int:
    # Pipes of Python are closed on exec, and the numbers 0 to 3 may be any of them: move them up first.
    moved: list[int] = []
    try:
        for number in (out, status):
            moved.append(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, ERROR_FD + 1))
        actions: list[tuple[object, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, moved[0], 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, moved[0], ERROR_FD),
            (os.POSIX_SPAWN_DUP2, moved[1], STATUS_FD),
        ]
        defaults = set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}
        return os.posix_spawn(
            SHELL,
            (SHELL, "-c", WRAPPER, SHELL, command),
            dict(environment),
            file_actions=actions,
            setpgroup=0,
            setsigmask=[],
            setsigdef=defaults,
        )
    finally:
        for number in moved:
            os.close(number)


def _read_both(out: int, status: int, pid: int, cancelled: Callable[[], bool]) -> tuple[bytes, bytes]:
    found = {out: bytearray(), status: bytearray()}
    poll = select.poll()
    for number in found:
        poll.register(number, select.POLLIN)
    left = set(found)
    while left:
        for number, _ in poll.poll(LOOK_SECONDS * 1000):
            chunk = os.read(number, 1 << 16)
            if chunk:
                found[number] += chunk
            else:
                poll.unregister(number)
                left.discard(number)
        if cancelled():
            _end(pid, status if status in left else None)
            raise CancelledError
    return bytes(found[out]), bytes(found[status])


def _end(pid: int, status: int | None) -> None:
    """Ask the process group to end, and end it."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGTERM)
        if status is not None:
            select.select([status], [], [], KILL_SECONDS)
        os.killpg(pid, signal.SIGKILL)
