# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.files.watch import Watch


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put slurm.conf into this test's folder."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "etc" / "slurm.conf"))
    (tmp_path / "etc").mkdir()


def test_another_set_is_seen(tmp_path: Path) -> None:
    """The first deployment, the next one and a loss of the link are changes; an edit of a file is none."""
    pointer = tmp_path / "etc" / "slurmhooks.set"
    changes: tuple[Callable[[], object], ...] = (
        lambda: pointer.symlink_to("slurmhooks.d/sets/1"),
        lambda: (tmp_path / "link").symlink_to("etc/slurmhooks.d/sets/2"),
        pointer.unlink,
    )
    (tmp_path / "etc" / "slurmhooks.toml").touch()
    for change in changes:
        watch = Watch()
        (tmp_path / "etc" / "slurmhooks.toml").write_text("# edited")
        assert not watch.changed()
        change()
        if (tmp_path / "link").is_symlink() and pointer.is_symlink():
            (tmp_path / "link").rename(pointer)
        assert watch.changed()


def test_a_link_to_a_shared_folder(tmp_path: Path) -> None:
    """A machine's link may lead to that of a shared folder, which is set to another set."""
    (tmp_path / "etc" / "slurmhooks.set").symlink_to(tmp_path / "shared")
    (tmp_path / "shared").symlink_to("1")
    watch = Watch()
    (tmp_path / "shared").unlink()
    (tmp_path / "shared").symlink_to("2")
    assert watch.changed()
