# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders and trees on disk."""

import os
import stat
from pathlib import Path

import pytest

NAMES = [
    b"plain",
    b"two words",
    b"-rf",
    b"--",
    b"'\"`$(id)",
    b"new\nline",
    b"\xff\xfe bytes",
    b"*",
    b".hidden",
    b"a" * 255,
]


def snapshot(top: Path) -> dict[bytes, tuple[object, ...]]:
    """Return everything below a folder: kind, mode, time, content."""
    found: dict[bytes, tuple[object, ...]] = {}
    root = os.fsencode(top)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content: object = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, root)] = (status.st_mode, status.st_mtime_ns, content)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tree with files, folders and links."""
    top = tmp_path / "source"
    top.mkdir()
    for name in NAMES:
        folder = os.path.join(os.fsencode(top), name)
        os.mkdir(folder)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(name * 3)
    (top / "empty").mkdir()
    (top / "link").symlink_to("two words/nowhere")
    (top / "absolute").symlink_to("/etc/passwd")
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "fifo")
    program = top / "program"
    program.write_bytes(b"#!")
    program.chmod(0o4755)
    (top / "read only").mkdir()
    (top / "read only" / "file").write_bytes(b"x")
    (top / "read only" / "file").chmod(0o400)
    os.utime(top / "program", ns=(1, 1_000_000_007))
    os.utime(top / "link", ns=(1, 2_000_000_009), follow_symlinks=False)
    (top / "read only").chmod(0o555)
    os.utime(top / "read only", ns=(1, 3_000_000_001))
    return top


@pytest.fixture
def public_path(tmp_path: Path) -> Path:
    """Make a folder that every user can enter; only the owner can enter those of pytest."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(os.environ["PYTEST_DEBUG_TEMPROOT"]):
            break
        folder.chmod(folder.stat().st_mode | 0o005)
    return tmp_path


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Folders and files of the host, and a root file system beside them."""
    host = tmp_path / "host"
    for name in ("old/file", "swapped/file", "data/file", "edited", "removed", "both"):
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(f"{name} of the host")
    (host / "link").symlink_to("old")
    return host
