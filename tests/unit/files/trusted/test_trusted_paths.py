# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that is read is the one that was checked, whatever links and attackers do to its path."""

import _imp
import ctypes
import importlib.util
import marshal
import multiprocessing
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slurmhooks.config import model
from slurmhooks.errors import LoadError, SlurmhooksError
from slurmhooks.files import trusted
from slurmhooks.handlers import loader
from slurmhooks.lua import runtime
from tests.unit.files.trusted.conftest import (
    EVIL,
    HANDLER,
    NOBODY,
    Write,
    finding,
    give_away,
    load,
    make_world_writable,
    root,
)

ROUNDS = 300
RENAME_EXCHANGE = 2
AT_FDCWD = -100


# Links.


@root
def test_a_link_counts_with_its_folder(path: Path, tmp_path: Path) -> None:
    """A link is refused if others own it or can write to its folder, even if it leads to a file of root."""
    for name, target in (("relative", "site/slurm/hooks.d"), ("absolute", str(path.parent)), ("back", "site/../site")):
        (tmp_path / "links" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "links" / name).symlink_to(target if target.startswith("/") else f"../{target}")
    by_link = tmp_path / "links" / "relative" / "a.py"
    for name, below in (("relative", "a.py"), ("absolute", "a.py"), ("back", "slurm/hooks.d/a.py")):
        assert load(tmp_path / "links" / name / below) == 1
    os.chown(tmp_path / "links" / "relative", NOBODY, -1, follow_symlinks=False)
    assert finding(by_link).endswith(f": chown -h root {tmp_path}/links/relative")
    os.chown(tmp_path / "links" / "relative", 0, -1, follow_symlinks=False)
    make_world_writable(tmp_path / "links")
    for name, below in (("relative", "a.py"), ("absolute", "a.py"), ("back", "slurm/hooks.d/a.py")):
        assert finding(tmp_path / "links" / name / below).endswith(f": chmod o-w {tmp_path}/links")


def test_a_glob_over_a_link_in_an_exposed_folder(path: Path, tmp_path: Path) -> None:
    """A glob over a link in an exposed folder is refused; over a trusted link, it has names without links."""
    (tmp_path / "link.py").symlink_to(path)
    assert [source.path for source in loader.expand(["*.py"], str(tmp_path))] == [str(path)]
    make_world_writable(tmp_path)
    (source,) = loader.expand(["*.py"], str(tmp_path))
    with pytest.raises(LoadError, match=f"chmod o-w {tmp_path}$"):
        loader.load([source])


@pytest.mark.parametrize("name", ["d/a.py", "linked/a.py", "d/../d/a.py", "d//./a.py", "linked/../d/a.py", "up/d/a.py"])
def test_names_without_links_and_detours(write: Write, tmp_path: Path, name: str) -> None:
    """The resolved path and the file that is read are the same as those of the operating system."""
    write("d/a.py", "content")
    (tmp_path / "linked").symlink_to("d/.")
    (tmp_path / "up").symlink_to(f"../../{tmp_path.parent.name}/{tmp_path.name}")
    full = str(tmp_path / name.split("/", 1)[0]) + "/" + name.split("/", 1)[1]
    assert trusted.real(full) == os.path.realpath(full)
    assert trusted.read(full) == b"content"


def test_relative_names_start_from_the_current_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is resolved from the current folder, and checked as a whole."""
    monkeypatch.chdir(path.parent)
    assert trusted.real("../hooks.d/a.py") == trusted.real("/proc/self/cwd/a.py") == str(path)
    make_world_writable(path.parents[1])
    for name in ("a.py", "/proc/self/cwd/a.py", "/proc/thread-self/cwd/a.py"):
        with pytest.raises(LoadError, match=f"chmod o-w {path.parents[1]}$"):
            trusted.read(name)


def test_links_without_end(tmp_path: Path) -> None:
    """The same number of links as in the kernel is followed."""
    for number in range(41):
        (tmp_path / f"{number}").symlink_to(f"{number + 1}")
    (tmp_path / "41").write_text("end")
    assert trusted.read(str(tmp_path / "1")) == b"end"
    assert finding(tmp_path / "0") == f"{tmp_path / '0'}: Too many levels of symbolic links"


def test_folders_are_asked_for_as_folders(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are opened in a way that makes an automounter mount them."""
    real = os.open
    asked: dict[str, int] = {}

    def ask(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        asked.setdefault(name, flags)
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr("posix.open", ask)
    trusted.read(str(path))
    assert {name for name, flags in asked.items() if flags & os.O_DIRECTORY} >= set(path.parent.parts) - {"/"}


# Files.


READERS = {
    "hook file": lambda path: loader.read(str(path)),
    "Lua script": lambda path: runtime.read_script(str(path)),
    "configuration": model.read,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_file_that_is_too_large(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A sparse file of terabytes, and a file that never ends, are refused before they use up the memory."""
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises((SlurmhooksError, OSError), match="larger than 64 MiB"):
        read(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    """Folders, FIFOs and devices are refused without waiting; a large file is read completely."""
    os.mkfifo(tmp_path / "fifo.py")
    assert finding(tmp_path / "fifo.py") == f"{tmp_path / 'fifo.py'}: not a file"
    assert finding("/dev/null").startswith("/dev/null: it is writable by everybody")
    assert finding(tmp_path / "gone" / "a.py") == f"{tmp_path / 'gone' / 'a.py'}: no such hook file"
    (tmp_path / "file").write_bytes(b"x" * (5 << 20))
    assert len(trusted.read(str(tmp_path / "file"))) == 5 << 20
    assert finding(tmp_path / "file" / "a.py").endswith(": Not a directory")
    assert finding(f"{tmp_path}/a\0.py").endswith(": Invalid argument")


@root
def test_the_descriptor_that_is_read_is_judged(path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a file is replaced between check and open, the new one is also checked."""
    evil = write("evil.py", EVIL)
    os.chown(evil, NOBODY, -1)
    real = os.open

    def swap(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        if flags == trusted.TO_READ:
            evil.rename(path)
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr("posix.open", swap)
    with pytest.raises(LoadError, match=f": chown root {path}$"):
        trusted.read(str(path))


@root
def test_a_hard_link_to_a_file_of_root(path: Path, tmp_path: Path) -> None:
    """A hard link to a file of root, in a folder of another user, is refused."""
    folder = tmp_path / "of the user"
    folder.mkdir()
    give_away(folder)
    os.link(path, folder / "a.py")
    assert f"{folder} belongs to " in finding(folder / "a.py")
    assert load(path) == 1


@root
def test_names_that_others_have_chosen(tmp_path: Path) -> None:
    """File names are escaped in messages, and quoted in the command."""
    for name in ("$(touch pwned)", "a; touch pwned #", "'`touch pwned`", "line\nslurmhooks: forged"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.py").write_text(HANDLER)
        give_away(folder)
        text = finding(folder / "a.py")
        assert "\n" not in text
        command = text.rpartition(": chown root ")[2]
        done = subprocess.run(["sh", "-c", f"printf %s {command}"], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == str(folder).replace("\n", "\\n")
    assert not (tmp_path / "pwned").exists()
    os.symlink("loop", tmp_path / "line\nloop")
    os.symlink("line\nloop", tmp_path / "loop")
    assert finding(tmp_path / "line\nloop") == f"{tmp_path}/line\\nloop: Too many levels of symbolic links"
    for pattern in ("line\nloop/*.py", "line?loop/*.py"):
        with pytest.raises(LoadError) as caught:
            loader.expand([pattern], str(tmp_path))
        (text,) = caught.value.findings
        assert text.startswith(f"{tmp_path}/line\\nloop: Too many levels of symbolic links")


@pytest.mark.parametrize("kind", [0b00, 0b01, 0b11], ids=["by time", "unchecked hash", "checked hash"])
def test_byte_code_beside_a_hook_file_does_not_run(path: Path, kind: int) -> None:
    """Byte code beside a hook file is never used: the code is compiled from the content that was read."""
    os.utime(path, (1000, 1000))
    status = path.stat()
    cached = Path(importlib.util.cache_from_source(str(path)))
    cached.parent.mkdir()
    header = importlib.util.MAGIC_NUMBER + struct.pack("<I", kind)
    source_hash = _imp.source_hash(importlib._bootstrap_external._RAW_MAGIC_NUMBER, path.read_bytes())  # type: ignore[attr-defined]
    rest = source_hash if kind else struct.pack("<II", int(status.st_mtime), status.st_size)
    cached.write_bytes(header + rest + marshal.dumps(compile(EVIL, str(path), "exec")))
    assert load(path) == 1


# Attackers.


@contextmanager
def attacker(attack: Callable[[], object]) -> Iterator[None]:
    """Repeat an attack in another process, as an ordinary user."""

    def run() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        while True:
            attack()

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    try:
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


def exchange(one: Path, other: Path) -> None:
    """Exchange two names atomically."""
    result = ctypes.CDLL(None, use_errno=True).renameat2(
        AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE
    )
    if result:
        raise OSError(ctypes.get_errno(), "renameat2")


@pytest.mark.slow
@root
@pytest.mark.parametrize("attack", ["exchange", "link"])
def test_folders_that_are_swapped(reachable: Path, attack: str) -> None:
    """A user who can write to a folder above, and constantly exchanges folders, cannot make root run other code."""
    theirs = reachable / "theirs"
    good, evil = theirs / "hooks.d", theirs / "evil.d"
    for folder, source in ((good, HANDLER), (evil, EVIL)):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(source)
    os.chown(theirs, NOBODY, NOBODY)
    os.chown(evil, NOBODY, NOBODY)
    os.chown(evil / "a.py", NOBODY, NOBODY)
    path = good / "a.py"
    if attack == "link":
        (theirs / "one").symlink_to("hooks.d")
        (theirs / "two").symlink_to("evil.d")
        good, evil, path = theirs / "one", theirs / "two", theirs / "one" / "a.py"
    with attacker(lambda: exchange(good, evil)):
        for _ in range(ROUNDS):
            assert finding(path).endswith(f": chown root {theirs}")


@root
def test_a_file_that_is_swapped_in_a_sticky_folder(reachable: Path) -> None:
    """The same in a sticky folder, where users can only add and remove their own files."""
    (reachable / "a.py").write_text(EVIL)
    reachable.chmod(0o1777)

    def attack() -> None:
        (reachable / "a.py").unlink(missing_ok=True)
        (reachable / "a.py").symlink_to("/etc/hostname")

    os.chown(reachable / "a.py", NOBODY, NOBODY)
    with attacker(attack):
        for _ in range(ROUNDS):
            assert "move " in finding(reachable / "a.py")
