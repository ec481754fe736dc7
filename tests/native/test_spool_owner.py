# SPDX-License-Identifier: GPL-2.0-or-later
"""A spool into which users other than root and SlurmUser could put files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.spooling import Writer


@pytest.mark.parametrize(
    ("expose", "reason"),
    [
        pytest.param(
            lambda folder: os.chown(folder, 65534, -1),
            "another user owns it: chown it to SlurmUser",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away"),
        ),
        (lambda folder: folder.chmod(0o770), "other users can write to it: chmod go-w"),
        (lambda folder: folder.chmod(0o707), "other users can write to it: chmod go-w"),
    ],
    ids=["owner", "group", "everybody"],
)
def test_a_spool_of_others_is_not_used(tmp_path: Path, expose: Callable[[Path], None], reason: str) -> None:
    """A folder into which others could put links is not used, and the log says what to do; nothing in it changes."""
    folder, victim = tmp_path / "spool", tmp_path / "victim"
    folder.mkdir(mode=0o700)
    victim.write_text("")
    (folder / "lost.jsonl").symlink_to(victim)
    expose(folder)
    output, _ = Writer(folder).process.communicate(timeout=60)
    assert output.decode() == f"{folder}: {reason}\n"
    assert [path.name for path in folder.iterdir()] == ["lost.jsonl"]
    folder.chmod(0o700)
    os.chown(folder, os.geteuid(), -1)
    writer = Writer(folder)
    assert writer.append(1)
    writer.end()
    assert victim.stat().st_blocks == 0  # no space was reserved behind the link
