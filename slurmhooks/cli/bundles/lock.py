# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock of a machine's bundles, which ends with the process that holds it."""

import fcntl
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slurmhooks.cli.progress import note


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock; if another process has it, say which one, and wait.

    It is a record lock, because forked processes do not inherit such a lock: a process that a killed command has left
    behind would otherwise keep it for ever. This process must not open the file a second time, because closing it
    would give up the lock. Only the owner can open it: whoever may read a file can lock it against writers.

    Raises:
        OSError: the file cannot be written, or its file system has no locks.
    """
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", errors="replace") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:  # an earlier release made it
            os.fchmod(file.fileno(), 0o600)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            note(f"{path}: waiting for {file.read().strip() or 'another process'}")
            fcntl.lockf(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(f"{_me()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _me() -> str:
    """Describe this process for those who wait for it."""
    command = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
    since = datetime.now().astimezone()
    return f"process {os.getpid()} on {socket.gethostname()} ({command}), since {since:%Y-%m-%d %H:%M:%S}"
