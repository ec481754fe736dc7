# SPDX-License-Identifier: GPL-2.0-or-later
"""Implements ``io.popen``, ``os.execute`` and ``os.tmpname``.

Commands that C starts would inherit that Python ignores SIGPIPE and SIGXFSZ: a producer whose reader has ended would go
on. Lua opens its end of the pipe by its path, so that scripts get a real Lua file.
"""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from slurmhooks.lua import library
from slurmhooks.values import ENCODING, ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_running: dict[int, Pipe] = {}
"""The commands that are not reaped, by process id."""


class Pipe(NamedTuple):
    """A command, and both ends of its pipe until Lua has opened one."""

    process: subprocess.Popen[bytes]
    ends: tuple[int, int]


def reap() -> int:
    """Forget commands that a script has not closed and that have ended; return how many still run."""
    for number in [number for number, pipe in _running.items() if pipe.process.poll() is not None]:
        del _running[number]
    return len(_running)


def spawn(command: bytes, writes: bool) -> tuple[Any, ...]:
    """Start a shell command; with ``writes`` the script writes to it, otherwise it reads.

    Returns:
        the process id, the path of Lua's end of the pipe, None, None; if it fails, None, None, a message and an errno.
    """
    reap()
    library.flush()
    try:
        ends = os.pipe()
        theirs, ours = ends if writes else ends[::-1]
        try:
            # Without env=, so that the command also gets variables that C has set, which os.environ lacks.
            process = subprocess.Popen(
                ["sh", "-c", command.partition(b"\0")[0]],
                executable="/bin/sh",
                stdin=theirs if writes else None,
                stdout=None if writes else theirs,
            )
        except OSError:
            os.close(ours)
            os.close(theirs)
            raise
    except OSError as error:
        return None, None, str(error.strerror).encode(ENCODING, ERRORS), error.errno
    _running[process.pid] = Pipe(process, ends)
    return process.pid, f"/proc/self/fd/{ours}".encode(), None, None


def started(number: int) -> None:
    """Close both ends after Lua has opened its own: as with popen(3), later commands must not inherit them."""
    pipe = _running[int(number)]
    inode = os.fstat(pipe.ends[0]).st_ino
    for end in pipe.ends:
        os.close(end)
    name = f"pipe:[{inode}]"
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}") == name:
                os.set_inheritable(int(descriptor), False)
        except OSError:
            continue


def wait(number: int) -> tuple[bytes, int]:
    """Wait for a command that a script has closed; return ``exit`` or ``signal``, and the number."""
    pipe = _running.pop(int(number), None)
    code = 0 if pipe is None else pipe.process.wait()
    return (b"signal", -code) if code < 0 else (b"exit", code)


def execute(command: bytes) -> tuple[Any, ...]:
    """Run a shell command to its end, as system(3) does.

    Returns:
        ``exit`` or ``signal`` and the number, and the status of wait(2); or None, an errno, -1 and a message.
    """
    reap()
    try:
        process = subprocess.Popen(["sh", "-c", command.partition(b"\0")[0]], executable="/bin/sh")
        _, status = os.waitpid(process.pid, 0)
    except OSError as error:
        return None, error.errno, -1, str(error.strerror).encode(ENCODING, ERRORS)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    return (b"signal", -code, status) if code < 0 else (b"exit", code, status)


def temporary() -> bytes:
    """Create a file with an unpredictable name, as Lua's os.tmpname does with mkstemp(3); return its path."""
    while True:
        path = f"/tmp/lua_{os.urandom(3).hex()}"
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return path.encode()
