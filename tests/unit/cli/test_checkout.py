# SPDX-License-Identifier: GPL-2.0-or-later
"""The revision that ``deploy`` notes of a folder."""

import os
import subprocess
from pathlib import Path

import pytest

from slurmhooks.cli.bundles import checkout

NAMED = ["-c", "user.name=x", "-c", "user.email=x@example.org"]


@pytest.fixture
def repository(open_folder: Path) -> Path:
    """A repository with one commit."""
    folder = open_folder / "policy"
    for words in (["init", "-q"], [*NAMED, "commit", "-q", "--allow-empty", "-m", "first"]):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def test_revision(repository: Path, tmp_path: Path) -> None:
    """A checkout, a folder in it and another working tree of it have a revision; other folders have none."""
    inner, tree = repository / "site", repository.parent / "tree"
    inner.mkdir()
    (inner / "a.py").write_text("")
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(tree)], check=True)
    first = checkout.revision(repository)
    assert first is not None
    assert len(first) == 12
    assert [checkout.revision(each) for each in (inner, tree, tmp_path)] == [first, first, None]
    subprocess.run(["git", "-C", str(repository), "add", "site"], check=True)
    assert checkout.revision(inner) == f"{first}-dirty"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: owners of files need root")
@pytest.mark.parametrize("exposed", [".git/config", ".git", "."])
@pytest.mark.parametrize("tree", [False, True])
def test_a_shared_repository(repository: Path, exposed: str, tree: bool) -> None:
    """git is not run by a configuration that other users could have written: it could name programs."""
    folder = repository
    if tree:
        folder = repository.parent / "tree"
        subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(folder)], check=True)
    place = repository / exposed
    place.chmod(place.stat().st_mode | 0o020)
    assert checkout.revision(folder) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: owners of files need root")
def test_who_calls_sudo(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository of the user who has called sudo counts as root's own, and no other user's does."""
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 65534, 65534)
    for caller, known in (("65534", True), ("1", False), ("", False)):
        monkeypatch.setenv("SUDO_UID", caller)
        assert (checkout.revision(repository) is not None) == known
