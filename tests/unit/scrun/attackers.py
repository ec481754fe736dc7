# SPDX-License-Identifier: GPL-2.0-or-later
"""An ordinary user who renames entries and creates links while root works on a tree."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from slurmhooks.scrun.trees import remove_tree

NOBODY = 65534
AT_FDCWD = -100
RENAME_EXCHANGE = 2
SECRET = b"for root only"

libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: Path, other: Path) -> None:
    """Exchange two entries atomically."""
    libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)


@contextlib.contextmanager
def attacker(attack: Callable[[Path, Path], None], tree: Path, aside: Path) -> Iterator[None]:
    """Run an attack as an ordinary user in a second process."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(told, b"x")
            attack(tree, aside)
        finally:
            os._exit(1)
    os.read(ready, 1)
    os.close(ready)
    os.close(told)
    try:
        yield
    finally:
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the attacker ended early"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextlib.contextmanager
def reachable_place() -> Iterator[Path]:
    """Make a folder that the attacker can reach, with a folder ``outside`` of root in it."""
    top = Path(f"/tmp/slurmhooks-races-{os.getpid()}")
    top.mkdir()
    top.chmod(0o711)
    outside = top / "outside"
    outside.mkdir(0o700)
    for name in ("precious", "file"):
        (outside / name).write_bytes(SECRET)
        (outside / name).chmod(0o600)
    (outside / "sub").mkdir()
    (outside / "sub" / "file").write_bytes(SECRET)
    try:
        yield top
    finally:
        remove_tree(top)


def outside_is_whole(place: Path) -> None:
    """Fail if anything outside the tree was removed, made or written."""
    outside = place / "outside"
    assert sorted(os.listdir(outside)) == ["file", "precious", "sub"]
    assert os.listdir(outside / "sub") == ["file"]
    for path in (outside / "precious", outside / "file", outside / "sub" / "file"):
        assert path.read_bytes() == SECRET
        assert path.stat().st_uid == 0
    assert outside.stat().st_mode & 0o7777 == 0o700
    assert outside.stat().st_uid == 0
