# SPDX-License-Identifier: GPL-2.0-or-later
"""What scripts ask of POSIX, and lupa's Lua has not: ``io.popen``, ``os.tmpname``.

Lua opens its end of a command's pipe by its path, so that scripts get a real file of Lua.
"""

from __future__ import annotations

import os
import subprocess

from slurmhooks.values import ENCODING, ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_running: dict[int, Pipe] = {}
"""By process id; those that a script forgot to close are reaped when the next command starts."""


class Pipe:
    """One command, and the ends of its pipe until Lua has opened its own."""

    __slots__ = ("ends", "process")

    def __init__(self, process: subprocess.Popen[bytes], ends: tuple[int, int]) -> None:
        """Keep both."""
        self.process = process
        self.ends = ends


def spawn(command: bytes, writes: bool) -> tuple[Any, ...]:
    """Start a command of the shell.

    Args:
        command: as the script has it.
        writes: the script writes to it; else it reads.

    Returns:
        the process id and the path at which Lua opens its end of the pipe, or None, None, a message and an errno.
    """
    for number in [number for number, pipe in _running.items() if pipe.process.poll() is not None]:
        del _running[number]
    try:
        ends = os.pipe()
        theirs, ours = ends if writes else ends[::-1]
        try:
            # Without env: the environment is that of the process, which C may have changed behind os.environ.
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
    """Close what Lua has opened now for itself; keep its end from commands that start later, as popen(3) does."""
    pipe = _running[int(number)]
    inode = os.fstat(pipe.ends[0]).st_ino
    for end in pipe.ends:
        os.close(end)
    name = f"pipe:[{inode}]"
    for found in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{found}") == name:
                os.set_inheritable(int(found), False)
        except OSError:
            continue


def wait(number: int) -> tuple[bytes, int]:
    """Wait for a command that a script has closed; return how it ended: ``exit`` or ``signal``, and a number."""
    pipe = _running.pop(int(number), None)
    code = 0 if pipe is None else pipe.process.wait()
    return (b"signal", -code) if code < 0 else (b"exit", code)


def temporary() -> bytes:
    """Make a file whose name nobody could have foreseen, as Lua's os.tmpname does with mkstemp(3); return the name."""
    while True:
        path = f"/tmp/lua_{os.urandom(6).hex()}"
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return path.encode()
