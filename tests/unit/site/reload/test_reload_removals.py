# SPDX-License-Identifier: GPL-2.0-or-later
"""Complete edits, and links that are set to other files, remove handlers; required handlers stay."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.site import reload
from tests.unit.site.reload.conftest import HANDLER, Clock, Site, Write, labels


@pytest.mark.parametrize("way", ["comment", "handler", "deleted", "paths", "everything"])
def test_handlers_that_are_removed_on_purpose(
    write: Write, sites: Callable[..., Site], said: SimpleNamespace, clock: Clock, tmp_path: Path, way: str
) -> None:
    """An edit of a hook file or the configuration removes handlers once it is complete; the log names them."""
    path = write("hooks.d/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    write("other.py", HANDLER.format(name="h"))
    toml = tmp_path / "slurmhooks.toml"
    site = sites('[hooks]\npaths = ["hooks.d/*.py", "other.py"]\n')
    after = ["other:h"]
    if way == "comment":
        path.write_text("# nothing is limited any more\n")
    elif way == "handler":
        path.write_text(HANDLER.format(name="f"))
        after.insert(0, "a:f")
    elif way == "deleted":
        path.unlink()
        assert len(labels(site)) == 3
        toml.chmod(0o640)  # no edit
        assert len(labels(site)) == 3
        assert "is gone" in site.findings[0]
        toml.touch()
    elif way == "paths":
        toml.write_text('[hooks]\npaths = ["other.py"]\n')
    else:
        toml.write_text("# no hooks any more\n")
        after = []
    clock.age = 1
    assert labels(site) == after
    assert clock.waits == [reload.SETTLED]
    gone = "a:g" if way == "handler" else "job_submit handler a:f, job_submit handler a:g"
    assert any("no longer in force" in line and gone in line for _, line in said.lines)
    assert site.findings == []


def test_a_file_that_is_half_written_and_loads(write: Write, sites: Callable[..., Site], clock: Clock) -> None:
    """A file that is being written, and is valid without its second half, does not remove handlers."""
    whole = HANDLER.format(name="f") + HANDLER.format(name="g")
    path = write("hooks.d/a.py", whole)
    site = sites()
    clock.age = 0
    clock.while_waiting = lambda: path.write_text(whole + HANDLER.format(name="h"))
    path.write_text(HANDLER.format(name="f"))
    assert labels(site) == ["a:f", "a:g", "a:h"]
    assert clock.waits == [reload.SETTLED]


def test_a_file_from_the_future(write: Write, sites: Callable[..., Site], clock: Clock) -> None:
    """If the clock of a file server is ahead, handlers are removed after one wait."""
    path = write("hooks.d/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    site = sites()
    path.write_text(HANDLER.format(name="f"))
    os.utime(path, (time.time() + 1e6,) * 2)
    assert labels(site) == ["a:f"]
    assert clock.waits == [reload.SETTLED]


def test_a_link_that_is_set_to_another_release(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """Setting a link to another version of a folder or file counts as an edit, whatever the names of the files are."""
    write("v1/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    write("v2/a.py", HANDLER.format(name="f"))
    write("v2/c.py", HANDLER.format(name="h"))
    link = tmp_path / "hooks.d"
    link.symlink_to("v1")
    (tmp_path / "one.py").symlink_to("v2/c.py")
    site = sites('[hooks]\npaths = ["hooks.d/*.py", "one.py"]\n')
    assert labels(site) == ["a:f", "a:g", "c:h"]
    (tmp_path / "next").symlink_to("v2")
    (tmp_path / "next").rename(link)
    assert labels(site) == ["a:f", "c:h"]
    write("v3/d.py", HANDLER.format(name="h"))
    (tmp_path / "next").symlink_to("v3/d.py")
    (tmp_path / "next").rename(tmp_path / "one.py")
    assert labels(site) == ["a:f", "c:h", "d:h"]


def test_a_link_that_is_set_while_handlers_are_removed(
    write: Write, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loaded files and packages come from one folder, even if the link was changed during the load."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for name in ("one", "two", "three"):
        write(f"{name}/slurmhooks.toml", '[hooks]\npaths = ["*.py"]\npackages = ["packages"]\n')
        write(f"{name}/packages/shared_of_link/__init__.py", f"NAME = {name!r}\n")
        more = HANDLER.format(name="g") if name == "one" else ""
        write(
            f"{name}/a.py",
            f"from shared_of_link import NAME\nassert NAME == {name!r}\n{HANDLER.format(name='f')}{more}",
        )
    write("one/packages/only_in_one.py", "")

    def point_to(name: str) -> None:
        (tmp_path / "new").symlink_to(f"{name}/slurmhooks.toml")
        (tmp_path / "new").rename(tmp_path / "slurmhooks.toml")

    point_to("one")
    before = Watch()
    reload.load(tmp_path / "slurmhooks.toml", before, lambda registry: [])
    for name in [name for name in sys.modules if name == "shared_of_link"]:
        del sys.modules[name]
    sys.path[:] = [name for name in sys.path if not name.startswith(str(tmp_path))]
    point_to("two")
    clock.age = 0
    clock.while_waiting = lambda: point_to("three")
    reload.load(tmp_path / "slurmhooks.toml", Watch(before=before), lambda registry: [])
    assert clock.waits
    assert [name for name in sys.path if name.startswith(str(tmp_path))] == [str(tmp_path / "three" / "packages")]
    assert sys.modules["shared_of_link"].__file__ == str(tmp_path / "three/packages/shared_of_link/__init__.py")


def test_handlers_of_other_processes(write: Write, tmp_path: Path) -> None:
    """Handlers of hooks that this process does not call can be removed in any way."""
    write("slurmhooks.toml", '[hooks]\npaths = ["*.py"]\n')
    path = write("a.py", HANDLER.format(name="f").replace("job_submit", "spank.exit").replace("job", ""))
    site = Site(tmp_path / "slurmhooks.toml", hooks=("job_submit",))
    site.start()
    assert len(site.registry.all_handlers()) == 1
    path.unlink()
    site.refresh()
    assert site.registry.all_handlers() == []


def test_required_handlers(write: Write, sites: Callable[..., Site], clock: Clock, tmp_path: Path) -> None:
    """A required handler must exist in the first load, and not even an edit of its file removes it later."""
    config = '[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:f"]\n'
    (tmp_path / "hooks.d").mkdir()
    with pytest.raises(LoadError, match=r"a:f: .hooks. require of slurmhooks.toml names this handler"):
        sites(config)
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites(config)
    path.write_text("# nothing\n")
    assert labels(site) == ["a:f"]
    assert "require" in site.findings[0]
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    assert labels(site) == []
