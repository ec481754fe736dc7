# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a command on the machine of scrun, like ``slurm.allocator_command`` of scrun.lua but without its bugs.

scrun's own function (24.11 to 26.05, lua.c:_lua_allocator_command) returns 0 for a command that was killed by a signal,
cuts the output at a NUL byte, and in stage_out may lose the status: scrun's handler of SIGCHLD reaps all children
(anchor.c:_catch_sigchld). So here the shell that runs the command writes the status to a pipe.
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
"""Runs the command and writes its status, 128 + N for signal N. Messages of this shell itself go to /dev/null."""
LOOK_SECONDS = 0.1
"""Seconds between two checks whether the container was cancelled."""
KILL_SECONDS = 2.0
"""Seconds between SIGTERM and SIGKILL."""


class CommandResult:
    """The result of a command.

    Attributes:
        status: the exit code; 128 + N if signal N killed the command.
        output: standard output and standard error as one text. Bytes that are not UTF-8 are surrogates.
    """

    __slots__ = ("output", "status")

    def __init__(self, status: int, output: str) -> None:
        self.status = status
        self.output = output

    def __repr__(self) -> str:
        """Show both attributes."""
        return f"CommandResult(status={self.status}, output={self.output!r})"


def run(command: bytes, environment: Mapping[bytes, bytes], cancelled: Callable[[], bool]) -> tuple[int, bytes]:
    """Run a shell command in its own process group, and wait for it; return status and output.

    Standard input is empty. Standard output and error are one stream, which is read to its end: as in scrun, processes
    that the command left in the background are waited for, too.

    ``cancelled`` is called from time to time; if it returns true, the process group is killed.

    Raises:
        CancelledError: ``cancelled`` returned true.
        SlurmhooksError: the shell could not be started, or was killed.
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
            os.killpg(pid, signal.SIGKILL)  # processes that the command left behind
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)  # scrun may have reaped it first
    if not status.strip().isdigit():
        raise SlurmhooksError("the shell was killed before it reported the status of the command")
    return int(status), output


def _spawn(command: bytes, environment: Mapping[bytes, bytes], out: int, status: int) -> int:
    # Python's pipes are closed on exec and may have the numbers 0 to 4, so duplicate them to higher numbers first.
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
    data = {out: bytearray(), status: bytearray()}
    poll = select.poll()
    for number in data:
        poll.register(number, select.POLLIN)
    open_ends = set(data)
    while open_ends:
        for number, _ in poll.poll(LOOK_SECONDS * 1000):
            chunk = os.read(number, 1 << 16)
            if chunk:
                data[number] += chunk
            else:
                poll.unregister(number)
                open_ends.discard(number)
        if cancelled():
            _terminate(pid, status if status in open_ends else None)
            raise CancelledError
    return bytes(data[out]), bytes(data[status])


def _terminate(pid: int, status: int | None) -> None:
    """Terminate the process group, and kill it if it has not ended in time."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGTERM)
        if status is not None:
            select.select([status], [], [], KILL_SECONDS)
        os.killpg(pid, signal.SIGKILL)
