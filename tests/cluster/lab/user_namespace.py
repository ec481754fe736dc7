# SPDX-License-Identifier: GPL-2.0-or-later
"""Let an ordinary user make clusters, as root of a user namespace with the user's subordinate ids.

All clusters of a user are in one user namespace, because no process may enter one from another. A sleeping process
keeps it.
"""

import os
import pwd
import shutil
import signal
import subprocess

from . import namespace, places
from .errors import NotUpError

IDS = 65535
"""Debian's users, of which Slurm's is 64030 and nobody is 65534, without root."""
TITLE = "slurmhooks user namespace"


def become_root() -> None:
    """Enter the user namespace if this process is not root's.

    Raises:
        NotUpError: the user has no subordinate ids, or the machine allows no user namespaces.
    """
    if os.geteuid() == 0:
        return
    directory = os.path.join(places.cache(), "user-namespace")
    with places.locked(directory, "user namespace"):
        keeper = places.read_keeper(directory) or _start(directory)
    namespace.enter_users(keeper.pid)


def _start(directory: str) -> namespace.Keeper:
    maps = [("newuidmap", os.getuid(), _first("/etc/subuid")), ("newgidmap", os.getgid(), _first("/etc/subgid"))]
    reader, writer = os.pipe()

    def body() -> int:
        namespace.unshare(namespace.NEWUSER)
        os.setsid()
        os.write(writer, b"\n")
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        os.execv("/bin/sleep", [TITLE, "infinity"])

    child = namespace.fork(body, lambda text: os.write(writer, text.encode(errors="replace")))
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
        problem = pipe.read().strip()
    for command, own, first in maps if not problem else ():
        done = subprocess.run([command, *map(str, (child, 0, own, 1, 1, first, IDS))], capture_output=True, text=True)
        problem = problem or done.stderr.strip()
    if problem:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise NotUpError(f"no clusters without root: {problem}")
    keeper = namespace.Keeper(child, namespace.identity(child))
    places.write_keeper(directory, keeper)
    return keeper


def _first(path: str) -> int:
    """Return the first of the user's subordinate ids that a file grants."""
    user = pwd.getpwuid(os.getuid()).pw_name
    try:
        with open(path, encoding="utf-8") as file:
            ranges = [line.strip().split(":") for line in file]
    except FileNotFoundError:
        ranges = []
    for owner, first, count in (each for each in ranges if len(each) == 3):
        if owner in (user, str(os.getuid())) and int(count) >= IDS and shutil.which("newuidmap"):
            return int(first)
    raise NotUpError(
        f"needs root, or the Debian package uidmap and {IDS} subordinate ids for {user} in {path}: run it with sudo"
    )
