# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are lost, emptied or damaged by accident remove no handler."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import paths
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.site import reload
from tests.unit.site.reload.conftest import HANDLER, Site, Write, labels

GONE = "to remove this on purpose: touch "
EMPTY = "to remove this on purpose: leave a comment in the file, or touch "


def _delete(path: Path) -> str:
    path.unlink()
    return f"{path}: is gone, and with it job_submit handler a:f; {GONE}"


def _empty(path: Path) -> str:
    path.write_text("")
    return f"{path}: is empty, and with it job_submit handler a:f; {EMPTY}"


def _blank(path: Path) -> str:
    path.write_text("\n \n")
    return f"{path}: is empty, and with it job_submit handler a:f; {EMPTY}"


def _half(path: Path) -> str:
    path.write_text(path.read_text()[:-6])
    return f"{path}:4: SyntaxError"


def _zeros(path: Path) -> str:
    path.write_bytes(bytes(path.stat().st_size))
    return f"{path}: "  # a SyntaxError in later releases of Python, a ValueError in 3.11


def _folder(path: Path) -> str:
    path.unlink()
    path.mkdir()
    return f"{path}: a folder, not a file"


def _fifo(path: Path) -> str:
    path.unlink()
    os.mkfifo(path)
    return f"{path}: not a file"


def _dangling(path: Path) -> str:
    path.unlink()
    path.symlink_to("gone")
    return f"{path.with_name('gone')}: no such hook file"


def _loop(path: Path) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return f"{path}: Too many levels of symbolic links"


def _folder_gone(path: Path) -> str:
    path.parent.rename(path.parent.with_name("renamed"))
    return f"{path.parent}: does not exist; hook files are expected in it"


def _folder_empty(path: Path) -> str:
    _folder_gone(path)
    path.parent.mkdir()
    return f"{path}: is gone, and with it job_submit handler a:f; {GONE}"


def _folder_file(path: Path) -> str:
    _folder_gone(path)
    path.parent.write_text("")
    return f"{path.parent}: Not a directory; it may hold hook files"


def _folder_dangling(path: Path) -> str:
    _folder_gone(path)
    path.parent.symlink_to("not_mounted")
    return f"{path.parent}: a symbolic link on the way leads nowhere; it may hold hook files"


def _folder_loop(path: Path) -> str:
    _folder_gone(path)
    path.parent.symlink_to(path.parent.name)
    return f"{path.parent}: Too many levels of symbolic links; it may hold hook files"


def _toml_gone(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    return f"{toml}: is gone; to remove all hooks on purpose, leave nothing but a comment in it"


def _toml_empty(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.write_text("\n")
    return f"{toml}: is empty; to remove all hooks on purpose, leave nothing but a comment in it"


def _toml_half(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.write_text(toml.read_text()[:-4])
    return f"{toml}: not TOML"


def _toml_fifo(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    os.mkfifo(toml)
    return f"{toml}: not a file"


def _toml_dangling(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    toml.symlink_to("gone")
    return f"{toml}: a symbolic link on the way leads nowhere"


def _all_gone(path: Path) -> str:
    folder = path.parent.parent
    folder.rename(folder.with_name("renamed"))
    return f"{folder / 'slurmhooks.toml'}: is gone"


ACCIDENTS = [
    _delete, _empty, _blank, _half, _zeros, _folder, _fifo, _dangling, _loop,
    _folder_gone, _folder_empty, _folder_file, _folder_dangling, _folder_loop,
    _toml_gone, _toml_empty, _toml_half, _toml_fifo, _toml_dangling, _all_gone,
]  # fmt: skip


@pytest.mark.parametrize("accident", ACCIDENTS)
@pytest.mark.parametrize("others", [True, False])
def test_handlers_are_never_lost_by_accident(tmp_path: Path, accident: Callable[[Path], str], others: bool) -> None:
    """After each accident the previous set stays in service, with a finding; a repair takes effect at once."""
    base = tmp_path / "slurm"
    path = base / "hooks.d" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(HANDLER.format(name="f"))
    before = ["a:f"]
    if others:
        (path.parent / "b.py").write_text(HANDLER.format(name="g"))
        before.append("b:g")
    toml = base / "slurmhooks.toml"
    toml.write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
    site = Site(toml)
    site.start()
    registry = site.registry
    expected = accident(path)
    for _ in range(3):
        assert labels(site) == before
    assert site.registry is registry
    assert site.findings[0].startswith(expected)

    if not base.exists():
        base.with_name("renamed").rename(base)
    for left in (path, path.parent, toml):
        if left.is_symlink() or left.is_fifo():
            left.unlink()
        elif left == path and left.is_dir():
            left.rmdir()
        elif left == path.parent and left.is_file():
            left.unlink()
    path.parent.mkdir(exist_ok=True)
    path.write_text(HANDLER.format(name="repaired"))
    (path.parent / "b.py").write_text(HANDLER.format(name="g"))
    toml.write_text('[hooks]\npaths = ["hooks.d/*.py"]  # repaired\n')
    assert labels(site) == ["a:repaired", "b:g"]
    assert site.findings == []


def test_a_folder_without_handlers_in_force(sites: Callable[..., Site], write: Write, tmp_path: Path) -> None:
    """A missing folder and a dangling link are errors even if no handlers are in service; an empty folder is not."""
    with pytest.raises(LoadError, match=r"hooks\.d: does not exist; hook files are expected in it"):
        sites()
    (tmp_path / "hooks.d").mkdir()
    assert labels(sites()) == []
    (tmp_path / "hooks.d").rmdir()
    (tmp_path / "hooks.d").symlink_to("not_mounted")
    with pytest.raises(LoadError, match="leads nowhere"):
        sites()
    (tmp_path / "slurmhooks.toml").rename(tmp_path / "hooks.toml")
    (tmp_path / "slurmhooks.toml").symlink_to("gone.toml")
    with pytest.raises(ConfigError, match="leads nowhere"):
        Site(tmp_path / "slurmhooks.toml").start()
    (tmp_path / "not_mounted").mkdir()
    (tmp_path / "slurmhooks.toml").unlink()
    Site(tmp_path / "slurmhooks.toml").start()


def test_a_deleted_copy_is_not_taken_for_its_namesake(write: Write, sites: Callable[..., Site]) -> None:
    """If two files have handlers with one name, the loss of one file is noticed."""
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    write("hooks.d/b.py", HANDLER.format(name="f"))
    site = sites()
    path.unlink()
    assert labels(site) == ["a:f", "b:f"]
    assert f"{path}: is gone, and with it job_submit handler a:f" in site.findings[0]


def test_a_file_that_has_lost_handlers_without_an_edit(
    write: Write, sites: Callable[..., Site], tmp_path: Path
) -> None:
    """If a file defines fewer handlers without an edit, because other data are missing, nothing is removed."""
    needed = write("needed", "")
    source = f"import os\nfrom slurmhooks import hook\nif os.path.exists({str(needed)!r}):\n"
    source += "    @hook.job_submit\n    def f(job): ...\n"
    path = write("hooks.d/a.py", source)
    site = sites()
    needed.unlink()
    write("hooks.d/b.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:f"]
    assert site.findings[0].startswith(f"{path}: has not changed, but now lacks job_submit handler a:f; {GONE}")
    write("hooks.d/a.py", "# not any more\n")
    assert labels(site) == ["b:g"]


def test_a_fifo_that_comes_at_the_wrong_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO that replaces a file after its state was read does not block."""
    path = tmp_path / "a.py"
    path.write_text("")
    before = paths.state(str(path))
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(paths, "state", lambda path: before)

    def give_up(number: int, frame: object) -> None:
        raise AssertionError("it waits for the FIFO")

    old = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    try:
        assert not reload._is_blank(str(path))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def test_a_script_that_is_gone_or_empty(write: Write, tmp_path: Path) -> None:
    """The same applies to a script in another language that is missing or empty."""

    def scripts(config: object, path: Path) -> list[loader.Source]:
        def read(name: str) -> list[Handler]:
            return [replace(function)] if "function" in Path(name).read_text() else []

        return [loader.Source(path=str(script), read=read)]

    def replace(function: Callable[..., None]) -> Handler:
        return Handler(function, (), HOOKS["job_submit"], 50, False, (), "script:f", str(script), 1)

    def function() -> None: ...

    script = write("script.lua", "function")
    write("slurmhooks.toml", "# names the script")
    site = Site(tmp_path / "slurmhooks.toml", lambda registry: [], scripts)
    site.start()
    for spoil in (lambda: script.write_text(""), script.unlink):
        spoil()
        assert labels(site) == ["script:f"]
        assert str(script) in site.findings[0]


def test_a_package_whose_files_vanish(write: Write, sites: Callable[..., Site], package: str) -> None:
    """A package whose files are missing does not remove handlers, and its repair is noticed."""
    init = write(f"lib/{package}/__init__.py", HANDLER.format(name="f"))
    site = sites(f'[hooks]\nmodules = ["{package}"]\n')
    for spoil in (init.unlink, init.touch, lambda: init.write_text("1 / 0")):
        spoil()
        assert labels(site) == [f"{package}:f"]
        assert site.findings
    init.write_text("# nothing\n")
    assert labels(site) == []
