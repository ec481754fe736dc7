# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes here ask of the kernel."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import socket
import sys
import traceback
from contextlib import suppress
from select import PIPE_BUF
from typing import TYPE_CHECKING, NoReturn

from slurmhooks.errors import LoadError
from slurmhooks.log import ERROR, INFO, log

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_GET_PDEATHSIG = 2
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, and end now if it has ended already.

    The kernel ties this to the thread that forked, which is the main thread of the parent.

    Args:
        parent: the process id of the parent.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def become(uid: int) -> None:
    """Become another user for good, with the groups of that user, or with none if the user has no name.

    Raises:
        PermissionError: this process does not belong to root.
        OSError: the kernel refuses, or root's rights are not gone.
    """
    try:
        entry = pwd.getpwuid(uid)
        gid, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
    except KeyError:
        gid, groups = uid, []
    death_signal = ctypes.c_int()
    _libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(death_signal), 0, 0, 0)
    parent = os.getppid()
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # The kernel keeps the capabilities of root's processes if it was told to (SECBIT_NO_SETUID_FIXUP).
    with suppress(PermissionError):
        os.setresuid(-1, -1, 0)
        raise OSError(f"user id {uid} can become root again")
    # The change of user has ended both: the parent's death no longer kills, and /proc/self belongs to root.
    _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    if death_signal.value:
        die_with(parent)


def no_new_privileges() -> None:
    """Have setuid programs, and programs with file capabilities, give this process and its children no rights.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents end."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def name(text: str) -> None:
    """Set what ``ps`` and ``top`` call this process; the kernel takes 15 bytes."""
    _libc.prctl(_PR_SET_NAME, text.encode()[:15], 0, 0, 0)


def end_after(body: Callable[[], object]) -> NoReturn:
    """Run the body of a forked child, which ends here and nowhere else: the stack below is its parent's."""
    code = 1
    try:
        body()
        code = 0
    except LoadError:
        pass  # the log has what it says
    except BaseException:  # noqa: BLE001 - nothing may get into the parent's stack
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Neither the parent's exit functions nor the threads of handlers are waited for.
            signal.alarm(0)
            os._exit(code)


def children() -> list[int]:
    """Return the process ids of all children, zombies included."""
    me = str(os.getpid())
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    parent = file.read().rpartition(b")")[2].split()[1]
            except (OSError, IndexError):
                continue
            if parent == me.encode():
                found.append(int(entry))
    return found


def fork(kind: int = socket.SOCK_SEQPACKET) -> tuple[int, socket.socket, socket.socket]:
    """Fork this process; return what os.fork() does, and two connected sockets: for the parent and for the child.

    Raises:
        OSError: the machine or the user has too many processes or descriptors; nothing was started.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    try:
        return os.fork(), ours, theirs
    except OSError:
        ours.close()
        theirs.close()
        raise


def kill(pid: int, *, group: bool = False) -> None:
    """Kill a process, and its process group if it is to lead one, which it may not do yet."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    if group:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def describe(status: int) -> str:
    """Return how a process ended, from its wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


CONTINUED = "... "
"""How a line of the log begins that continues one which is too long for a pipe."""


def log_to_stderr(user: Callable[[str], None] | None = None) -> None:
    """Hand lines of the log to slurmctld: it reads our standard error, where a line may say its level first.

    Args:
        user: takes what handlers say to the user of a request; by default, the log.
    """

    def sink(level: int, text: str) -> None:
        # One write of at most PIPE_BUF bytes is never mixed with one of another worker.
        size = PIPE_BUF - len(f"<{level}>{CONTINUED}\n")
        if not text.isascii():
            size //= 4
        for start in range(0, max(1, len(text)), size):
            part = f"<{level}>{CONTINUED if start else ''}{text[start : start + size]}\n"
            os.write(2, part.encode("utf-8", "surrogateescape"))

    log.attach(sink, user or (lambda text: sink(INFO, text)), lambda text: sink(ERROR, text))
