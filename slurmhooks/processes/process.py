# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of this package need of the kernel."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from slurmhooks.errors import LoadError
from slurmhooks.handlers import trace
from slurmhooks.log import log

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
    """Have the kernel kill this process when its parent ends, and exit now if the parent has ended already.

    The kernel ties this to the thread that forked, which is the main thread of the parent.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def become(uid: int) -> None:
    """Become another user for good, with the groups of that user, or with none if the user has no name.

    Other processes of that user cannot trace this one.

    Raises:
        PermissionError: this process does not belong to root.
        OSError: the kernel refuses, or the process could become root again.
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
    # With SECBIT_NO_SETUID_FIXUP the kernel lets a process of root keep its capabilities.
    with suppress(PermissionError):
        os.setresuid(-1, -1, 0)
        raise OSError(f"user id {uid} can become root again")
    # No other process of that user may get this one's memory or descriptors. /proc/self then belongs to root.
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # The change of user has reset this.
    if death_signal.value:
        die_with(parent)


def no_new_privileges() -> None:
    """Let this process and its children gain no privileges from setuid programs or file capabilities.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents end."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reset_signals() -> None:
    """Block and ignore no signal: slurmctld's processes block some, and a supervisor ignores others.

    Programs of handlers would inherit that.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def name(text: str) -> None:
    """Set the name of this process in ``ps`` and ``top``; the kernel accepts 15 bytes."""
    _libc.prctl(_PR_SET_NAME, text.encode()[:15], 0, 0, 0)


def end_after(body: Callable[[], object]) -> NoReturn:
    """Run the body of a forked child, then end the process: the stack frames below belong to its parent."""
    code = 1
    try:
        body()
        code = 0
    except LoadError:
        pass  # its findings have been logged
    except BaseException as error:  # noqa: BLE001 - nothing may get into the parent's stack
        log.record("\n".join(trace.lines(error)))
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Neither run the parent's exit functions nor wait for threads of handlers.
            signal.alarm(0)
            os._exit(code)


def parent(pid: int) -> int | None:
    """Return the process id of the parent of a process; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def children() -> list[int]:
    """Return the process ids of all children, zombies included."""
    me = os.getpid()
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and parent(int(entry)) == me]


def pair(kind: int) -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets without a timeout, even if a hook file has called ``setdefaulttimeout()``."""
    ends = socket.socketpair(socket.AF_UNIX, kind)
    for end in ends:
        end.settimeout(None)
    return ends


def fork(kind: int = socket.SOCK_SEQPACKET) -> tuple[int, socket.socket, socket.socket]:
    """Fork this process; return the result of os.fork(), and two connected sockets: for the parent and for the child.

    The kernel tells the parent which user has sent each message that it receives.

    Raises:
        OSError: the machine or the user has too many processes or descriptors; nothing was started.
    """
    ours, theirs = pair(kind)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        return os.fork(), ours, theirs
    except OSError:
        ours.close()
        theirs.close()
        raise


def kill(pid: int, *, group: bool = False) -> None:
    """Kill a process and, if it should lead a process group, the group, which may not exist yet."""
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
