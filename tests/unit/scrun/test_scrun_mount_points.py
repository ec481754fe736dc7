# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths in a container, and mount points there."""

import os
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import scrun
from slurmhooks.scrun.errors import StagingError
from tests.unit.scrun.test_scrun_binds import config


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b", "a/b"),
        ("a//./b/", "a/b"),
        ("/../../etc/passwd", "etc/passwd"),
        ("/out/passwd", "etc/passwd"),
        ("/up/x", "x"),
        ("/deep/out2/x", "etc/x"),
        ("/nothing/../y", "y"),
    ],
)
def test_inside_never_leaves(tmp_path: Path, path: str, expected: str) -> None:
    """Links are followed as in the container; none leads out of the root file system."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "up").symlink_to("../../../..")
    (tmp_path / "deep" / "out2").symlink_to("../../out")
    assert scrun.inside(str(tmp_path), path) == os.path.join(tmp_path, expected)


def test_inside_in_circles(tmp_path: Path) -> None:
    """A loop of links is an error and ends."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StagingError, match="symbolic links"):
        scrun.inside(str(tmp_path), "/a/x")


@pytest.mark.parametrize("made", [True, False])
def test_mount_points_are_made(tmp_path: Path, made: bool) -> None:
    """Missing mount points are in the image, also through its links, but not those on an earlier mount."""
    rootfs, outside, file = tmp_path / "rootfs", tmp_path / "outside", tmp_path / "file"
    for folder in (rootfs, outside):
        folder.mkdir()
    file.write_text("x")
    (rootfs / "out").symlink_to(outside)
    (rootfs / "loop").symlink_to("loop")
    wanted = {"run": True, "data/a": True, "etc/hosts": False, "etc/none": True, "only": True, f"{outside}/b"[1:]: True}
    if made:
        for name, is_folder in wanted.items():
            (rootfs / name).parent.mkdir(parents=True, exist_ok=True)
            if is_folder:
                (rootfs / name).mkdir()
            else:
                (rootfs / name).write_text("of the image")
    mounts = [
        {"destination": "/run", "type": "tmpfs"},
        {"destination": "/run/sub/file", "type": "bind", "source": str(file)},
        {"destination": "/data/a", "type": "bind", "source": str(outside)},
        {"destination": "/data/a/b", "type": "bind", "source": str(outside)},
        {"destination": "/data/a", "type": "tmpfs"},
        {"destination": "/etc/hosts", "type": "bind", "source": str(file)},
        {"destination": "/etc/hosts/b", "type": "tmpfs"},
        {"destination": "/etc/none", "type": "bind", "source": "/sys"},
        {"destination": "/out/b", "type": "tmpfs"},
        {"destination": "/loop/b", "type": "tmpfs"},
        {"destination": "only", "type": "tmpfs", "options": ["mode=750"]},
    ]
    scrun.copy_binds(config(mounts=mounts), str(rootfs))
    paths = [path for path in rootfs.rglob("*") if not path.is_symlink()]
    leaves = [path for path in paths if path.is_file() or not any(path.iterdir())]
    assert {str(path.relative_to(rootfs)): path.is_dir() for path in leaves} == wanted
    assert os.listdir(outside) == []
    if not made:
        modes = {name: (rootfs / name).stat().st_mode & 0o7777 for name in ("run", "only")}
        assert modes == {"run": 0o1777, "only": 0o750}, "those that a new tmpfs has"
    assert (rootfs / "etc" / "hosts").read_text() == ("of the image" if made else "")


@pytest.mark.parametrize(
    "mount",
    [
        {"destination": "/"},
        {"destination": ".."},
        {"destination": "/a", "type": "tmpfs", "options": [f"mode={'7' * 30}"]},
    ],
)
def test_odd_mounts_are_left_to_the_runtime(tmp_path: Path, mount: dict[str, Any]) -> None:
    """What no runtime can mount does not keep others from their mount points."""
    scrun.copy_binds(config(mounts=[{"destination": "/b", "type": "proc"}, mount]), str(tmp_path))
    assert (tmp_path / "b").is_dir()
