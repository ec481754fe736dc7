# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

from slurmhooks.files.watch import Watch


def test_a_watch_sees_what_comes_and_goes(tmp_path: Path) -> None:
    """New and removed files, and changed permissions, are changes."""

    def watch() -> Watch:
        made = Watch()
        made.file(str(path))
        assert not made.changed()
        return made

    path = tmp_path / "file"
    one = watch()
    path.write_text("x")
    assert one.changed()
    one = watch()
    path.chmod(0o600)
    assert one.changed()
    one = watch()
    path.unlink()
    assert one.changed()
    path.symlink_to(path.name)
    assert one.changed()


def test_a_second_change_within_a_tick_of_the_clock(tmp_path: Path) -> None:
    """A second write within milliseconds, with the same size, is noticed."""
    path = tmp_path / "file"
    for _ in range(20):
        path.write_text("a")
        watch = Watch()
        watch.file(str(path))
        path.write_text("b")
        assert watch.changed()
