# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands inside a cluster, as one of its users."""

import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from .errors import NOT_EXECUTABLE, NOT_FOUND, NOT_STARTED, UsageError
from .namespace import PATH, die_with_parent, join


def account(user: str) -> tuple[int, int, str, str, list[int]]:
    """Return uid, gid, home, shell and groups of `user` from the files in /etc.

    The `pwd` module would ask the host's name service with the cluster's libraries.

    Raises:
        UsageError: there is no such user.
    """
    with open("/etc/passwd", encoding="utf-8") as file:
        for line in file:
            name, _, uid, gid, _, home, shell = line.rstrip("\n").split(":")
            if name == user:
                break
        else:
            raise UsageError(f"no user {user!r} in the cluster: there are root, alice and bob")
    groups = [int(gid)]
    with open("/etc/group", encoding="utf-8") as file:
        for line in file:
            _, _, number, members = line.rstrip("\n").split(":")
            if user in members.split(",") and int(number) not in groups:
                groups.append(int(number))
    return int(uid), int(gid), home, shell, groups


def environment(user: str, home: str, shell: str, more: Mapping[str, str]) -> dict[str, str]:
    """Return the clean environment of a command in the cluster."""
    return {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": shell,
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "TERM": os.environ.get("TERM", "dumb"),
        **more,
    }


def start_command(
    user: str,
    command: Sequence[str],
    more: Mapping[str, str] = {},
    directory: str | None = None,
    streams: Sequence[int] = (0, 1, 2),
    *,
    attached: bool = False,
) -> subprocess.Popen[bytes] | int:
    """Start a command as `user`; this process is inside.

    Tests start tens of thousands, so unless it is attached no Python runs in the child, which would copy the pages that
    Python writes to.

    Returns the process, or the exit code if it could not be started. Without a ``directory`` it starts in the user's
    home. ``attached``: a killed `run` takes the command with it.
    """
    uid, gid, home, shell, groups = account(user)
    other = uid != os.getuid()
    place = directory or home
    try:
        return subprocess.Popen(
            command,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            cwd=place,
            env=environment(user, home, shell, more),
            user=uid if other else None,
            group=gid if other else None,
            extra_groups=groups if other else None,
            # Called after setuid, which clears what it sets.
            preexec_fn=die_with_parent if attached else None,
        )
    except OSError as error:
        in_place = error.filename == place
        what = f"cannot start in {place}" if in_place else command[0]
        os.write(streams[2], f"run: {what}: {error.strerror}\n".encode(errors="replace"))
        if in_place:
            return NOT_STARTED
        return NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE


def exit_code(started: subprocess.Popen[bytes] | int) -> int:
    """Wait for a command; return its exit code, 128+N if signal N ended it, 126 or 127 if it could not be started."""
    code = started if isinstance(started, int) else started.wait()
    return 128 - code if code < 0 else code


def execute(
    keeper_pid: int, user: str, command: Sequence[str], more: Mapping[str, str] = {}, directory: str | None = None
) -> int:
    """Enter the cluster, run a command as `user`, with this process's own streams, and return its exit code."""
    join(keeper_pid)
    os.setgroups(account("root")[4])
    child = start_command(user, command, more, directory, attached=True)
    if isinstance(child, int):
        return child
    # The terminal also sends these to the command, which decides what to do.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    return exit_code(child)
