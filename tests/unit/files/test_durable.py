# SPDX-License-Identifier: GPL-2.0-or-later
import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from slurmhooks.files import durable


def write_often(path: str, letter: str, times: int) -> None:
    """Write one text again and again."""
    for _ in range(times):
        durable.write(path, letter.encode() * (1000 if letter == "a" else 300_000), 0o644)


@pytest.mark.slow
def test_two_write_at_once(tmp_path: Path) -> None:
    """A reader gets either the old or the new content as a whole, and no temporary file is left."""
    path = str(tmp_path / "file")
    durable.write(path, b"a" * 1000, 0o644)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(path, letter, 150)) for letter in "ab"]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        with open(path) as file:
            text = file.read()
        seen.add((text[0], len(text)))
        assert set(text) == {text[0]}
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen <= {("a", 1000), ("b", 300_000)}
    assert os.listdir(tmp_path) == ["file"]


def test_mode(tmp_path: Path) -> None:
    """The file has the mode whatever the umask is; by default only its owner may read it."""
    before = os.umask(0o077)
    try:
        durable.write(tmp_path / "all", b"", 0o644)
        durable.write(tmp_path / "own", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "all").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "own").stat().st_mode & 0o7777 == 0o600


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is unchanged, the error names it, and nothing else is left."""
    path = tmp_path / "file"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=rf"No space left on device: '{path}'$"):
            durable.write(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    durable.write(path, b"new")
    assert path.read_text() == "new"


def test_a_write_that_fails(tmp_path: Path) -> None:
    """The error has the name that cannot be replaced; the old entry stays, and no temporary file is left."""
    path = tmp_path / "file"
    path.mkdir()
    (path / "kept").touch()
    with pytest.raises(OSError, match=f"'{path}'$"):
        durable.write(path, b"text")
    with pytest.raises(OSError, match=str(path)):
        durable.link(path, "target")
    assert os.listdir(tmp_path) == ["file"]
    assert os.listdir(path) == ["kept"]


def test_a_link_is_set(tmp_path: Path) -> None:
    """A link takes the place of a file or of another link; nothing else is left."""
    path = tmp_path / "link"
    path.write_text("a file")
    for target in ("one", "two"):
        durable.link(path, target)
        assert os.readlink(path) == target
    assert os.listdir(tmp_path) == ["link"]
