# SPDX-License-Identifier: GPL-2.0-or-later
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.files import locks

FORMER = {
    "flock": "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "lockf": "fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "present": "print(locks.take(file)) or sys.stdout.flush()",
}
"""How releases have locked the same file."""
HOLD = """
import fcntl, sys
from slurmhooks.files import locks
file = os.open(sys.argv[1], os.O_RDWR)
try:
    {how}
    print("held")
except BlockingIOError:
    print("free")
sys.stdout.flush()
sys.stdin.read()
"""


def holder(path: Path, release: str) -> tuple["subprocess.Popen[str]", bool]:
    """Start a process of a release that wants the lock, and keeps it until its input ends; tell whether it has it."""
    code = "import os" + HOLD.format(how=FORMER[release])
    process = subprocess.Popen(
        (sys.executable, "-c", code, str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = process.stdout.readline().strip()
    return process, first in ("held", "True")


@pytest.mark.parametrize("release", FORMER)
def test_processes_of_all_releases_exclude_each_other(tmp_path: Path, release: str) -> None:
    """Whoever comes second does not get the lock, and gets it once the first one has given it up, or has ended."""
    path = tmp_path / "lock"
    path.touch()
    process, has_it = holder(path, release)
    assert has_it
    with path.open("a") as file:
        assert not locks.take(file.fileno())
        process.communicate()
        assert locks.take(file.fileno())
        process, has_it = holder(path, release)
        assert not has_it
        process.communicate()
        locks.release(file.fileno())
        process, has_it = holder(path, release)
        assert has_it
        assert not locks.take(file.fileno())
        process.communicate()


@pytest.mark.parametrize("release", FORMER)
def test_who_does_not_get_it_keeps_nothing(tmp_path: Path, release: str) -> None:
    """A process that has failed to get the lock, and goes on, keeps no other process from it."""
    path = tmp_path / "lock"
    path.touch()
    process, _ = holder(path, release)
    with path.open("a") as file:
        assert not locks.take(file.fileno())
        process.communicate()
        for each in FORMER:
            process, has_it = holder(path, each)
            assert has_it
            process.communicate()


def test_a_child_that_has_closed_it_keeps_nothing(tmp_path: Path) -> None:
    """The lock ends with its process, although a forked child lives on, if that has closed the file."""
    path = tmp_path / "lock"
    closed, says = os.pipe()
    goes, ends = os.pipe()
    if not (parent := os.fork()):
        with path.open("a") as file:
            os.register_at_fork(after_in_child=file.close)
            if locks.take(file.fileno()) and not os.fork():
                os.close(ends)
                os.write(says, b".")
                os.read(goes, 1)  # until the test closes its end
            os._exit(0)
    os.waitpid(parent, 0)
    try:
        assert os.read(closed, 1) == b"."
        with path.open("a") as file:
            assert locks.take(file.fileno())
    finally:
        for each in (closed, says, goes, ends):
            os.close(each)
