# SPDX-License-Identifier: GPL-2.0-or-later
"""What read-only mounts hide in copies of writable ones."""

from pathlib import Path

import pytest

from slurmhooks import scrun
from tests.unit.scrun.test_scrun_binds import config


@pytest.mark.parametrize(
    ("mounts", "kept"),
    [
        ([("", "/a", "rw"), ("data", "/a/data", "ro")], ["data/file"]),
        ([("", "/a", "rw"), ("data/file", "/a/./data/file/", "rro")], ["data/file"]),
        ([("", "//a/", "rw"), ("data", "a/data", "ro"), ("edited", "/a/edited", "ro")], ["data/file", "edited"]),
        ([("", "/a", "rw"), ("", "/a", "ro")], ["data/file", "edited", "both"]),
        ([("old", "/x", "rw"), ("", "/a", "rw"), ("data", "/a/data", "ro")], ["data/file"]),
        # Here the container can write to it.
        ([("", "/a", "rw"), ("data", "/b", "ro")], []),
        ([("data", "/a/data", "ro"), ("", "/a", "rw")], []),
        ([("", "/a", "rw"), ("data", "/a/data", "ro"), ("", "/c", "rw")], []),
        ([("", "/a", "rw"), ("data", "/a/data", "ro"), ("data", "/a/data", "rw")], []),
        ([("", "/a", "rw"), ("data", "/a/data", "ro"), ("data/file", "/a/data/file", "rw")], []),
        ([("", "/a", "rw"), ("data", "/a/both", "ro")], []),
    ],
)
def test_a_read_only_mount_in_a_writable_one(
    host: Path, tmp_path: Path, mounts: list[tuple[str, str, str]], kept: list[str]
) -> None:
    """What it hides is not returned although times are unknown; what the container can write at another mount is."""
    made = config(
        mounts=[
            {"destination": where, "type": "bind", "source": str(host / source), "options": ["bind", option]}
            for source, where, option in mounts
        ]
    )
    (tmp_path / "rootfs").mkdir()
    binds = scrun.copy_binds(made, str(tmp_path / "rootfs"))
    names = ["data/file", "edited", "both"]
    for name in names:
        (host / name).write_text("written by the host later")
    for bind in binds:
        bind.copied_at = 0
    scrun.return_binds(binds, str(tmp_path / "rootfs"))
    assert [name for name in names if (host / name).read_text() == "written by the host later"] == kept
