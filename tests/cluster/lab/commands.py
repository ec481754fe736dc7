# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands inside a cluster, as one of its users."""

import errno
import os
import signal
from collections.abc import Mapping, Sequence

from .errors import NOT_EXECUTABLE, NOT_FOUND, NOT_STARTED, UsageError
from .namespace import PATH, die_with_parent, fork, join


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
) -> int:
    """Start a command as `user`; this process is inside. Return the process id."""
    uid, gid, home, shell, groups = account(user)
    env = environment(user, home, shell, more)

    def body() -> int:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.setgroups(groups)
        os.setgid(gid)
        os.setuid(uid)
        # After setuid, which clears it: a killed `run` takes its command with it.
        die_with_parent()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, but programs expect the default
            signal.signal(number, signal.SIG_DFL)
        try:
            os.chdir(directory or home)
        except OSError as error:
            tell(f"cannot start in {directory or home}: {error.strerror}")
            return NOT_STARTED
        try:
            os.execvpe(command[0], list(command), env)
        except OSError as error:
            tell(f"{command[0]}: {error.strerror}")
            return NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE

    def tell(text: str) -> None:
        os.write(2, f"run: {text}\n".encode(errors="replace"))

    return fork(body, tell)


def exit_code(child: int) -> int:
    """Wait for a command; return its exit code, 128+N if signal N ended it, 126 or 127 if it could not be started."""
    status = os.waitpid(child, 0)[1]
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def execute(
    keeper_pid: int,
    user: str,
    command: Sequence[str],
    more: Mapping[str, str] = {},
    directory: str | None = None,
) -> int:
    """Enter the cluster, run a command as `user`, with this process's own streams, and return its exit code."""
    join(keeper_pid)
    child = start_command(user, command, more, directory)
    # The terminal also sends these to the command, which decides what to do.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    return exit_code(child)
