# SPDX-License-Identifier: GPL-2.0-or-later
"""The spool after a power cut: the data that was forced onto the disk is enough to deliver each kept record.

A process stops after each call that forces, removes or renames something. Then the test creates the folder as it may be
after a power cut: only with data that was forced onto the disk, and with or without the files that were removed since.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmhooks.jobcomp.spool import Spool
from tests.native.building import PLAIN, ROOT, preloaded
from tests.native.conftest import built

EVENTS, GO = 98, 99
READER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from slurmhooks.jobcomp.spool import Spool

def all_of(spool):
    spool.refresh()
    return list(spool.records())

spool = Spool(Path(sys.argv[2]))
for record in all_of(spool):
    spool.bury(record)
spool.refresh()
for letter in spool.letters():
    spool.redeliver(letter["id"])
assert len(all_of(spool)) == 3, all_of(spool)
"""


class Disk:
    """The data below one folder that is certainly on the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: dict[int, dict[str, int]] = {}
        self._files: dict[int, bytes] = {}
        self._kept: list[int] = []
        self._number = root.stat().st_ino

    def forced(self, path: Path) -> None:
        """Record that the kernel has written a file, or the names in a folder."""
        # An open file's number is not given to another file.
        self._kept.append(os.open(path, os.O_RDONLY))
        number = path.stat().st_ino
        if path.is_dir():
            self._folders[number] = {each.name: each.stat().st_ino for each in path.iterdir()}
            self._kept += [os.open(each, os.O_RDONLY) for each in path.iterdir()]
        else:
            self._files[number] = path.read_bytes()

    def after_cut(self, target: Path, removed: bool) -> None:
        """Create the folder as it may be after a power cut; ``removed``: the kernel has written that names are gone."""
        self._copy(self._number, self._root, target, removed)

    def _copy(self, number: int, now: Path, target: Path, removed: bool) -> None:
        target.mkdir()
        for name, child in self._folders.get(number, {}).items():
            path = now / name
            # A rename is one step: the old name is gone if the new one is there.
            if removed and child not in self._present():
                continue
            if child in self._folders or path.is_dir():
                self._copy(child, path, target / name, removed)
            else:
                (target / name).write_bytes(self._files.get(child, b""))

    def _present(self) -> set[int]:
        return {each.stat().st_ino for each in self._root.rglob("*")}

    def close(self) -> None:
        """Close the files."""
        for fd in self._kept:
            os.close(fd)


def deliverable(folder: Path) -> set[int]:
    """Return the jobs whose records are there, as the next process finds them."""
    if not folder.exists():
        return set()
    spool = Spool(folder)
    spool.refresh()
    assert all(record.segment.message(record.frame).startswith(b"record") for record in spool.records())
    return {record.frame.job_id for record in spool.records()} | {letter.get("job_id", 0) for letter in spool.letters()}


class Stopping:
    """A process that stops after each call, until the test lets it continue."""

    def __init__(self, disk: Disk, library: Path, *command: object) -> None:
        self._disk = disk
        events, self._theirs = os.pipe()
        go, self._go = os.pipe()
        theirs = self._theirs

        def become() -> None:
            os.dup2(theirs, EVENTS)
            os.dup2(go, GO)

        self.process = subprocess.Popen(
            list(map(str, command)),
            env=os.environ | {"LD_PRELOAD": str(library)},
            stdin=subprocess.PIPE,
            stdout=self._theirs,
            preexec_fn=become,
            close_fds=False,
        )
        os.close(self._theirs)
        os.close(go)
        self._events = open(events)  # noqa: SIM115 - closed with the process

    def lines(self) -> Iterator[str]:
        """Yield the calls that force, remove and rename, and the lines that it prints; let it continue after each."""
        for line in self._events:
            what, _, path = line.rstrip("\n").partition(" ")
            if what == "forced" and Path(path).exists():
                self._disk.forced(Path(path))
            yield line.rstrip("\n")
            if what in ("forced", "removed", "renamed"):
                os.write(self._go, b".")

    def write(self, text: str) -> None:
        """Write lines to its standard input, and close that."""
        assert self.process.stdin
        self.process.stdin.write(text.encode())
        self.process.stdin.close()

    def end(self) -> None:
        """Close everything."""
        self._events.close()
        os.close(self._go)
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the library that stops a process."""
    return preloaded("stops", tmp_path_factory.mktemp("stops"))


def test_a_power_cut(tmp_path: Path, library: Path) -> None:
    """With fsync = "always", each acknowledged record is delivered, at whatever point slurmctld or a worker was."""
    root, cuts = tmp_path / "state", 0
    root.mkdir()
    disk, folder = Disk(root), root / "slurmhooks"
    kept: set[int] = set()

    def check(after: str) -> None:
        nonlocal cuts
        for removed in (False, True):
            cuts += 1
            target = tmp_path / f"cut-{cuts}"
            disk.after_cut(target, removed)
            assert kept <= deliverable(target / "slurmhooks"), (after, removed)

    spooler = built(PLAIN).host.with_name("spooler")
    writer = Stopping(disk, library, spooler, folder, 1 << 20, "always")
    writer.write("1 100\n2 100\n3 100\n")
    for line in writer.lines():
        job, _, result = line.partition(" ")
        if result == "1":
            kept.add(int(job))
        check(line)
    writer.end()
    assert kept == {1, 2, 3}
    reader = Stopping(disk, library, sys.executable, "-I", "-c", READER, ROOT, folder)
    for line in reader.lines():
        check(line)
    reader.end()
    check("the end")
    assert cuts > 40
    disk.close()
