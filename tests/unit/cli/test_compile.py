# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks compile``: which variant of the plugin it installs, and what it prints about that."""

import errno
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli import manifests
from slurmhooks.cli.findings import Finding
from slurmhooks.files import durable
from tests.unit.cli.conftest import HEAD, INIT

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A PluginDir with three variants, and the plugin as installed."""
    (tmp_path / "slurmhooks").mkdir()
    for name in ("minimal", "job", "task"):
        (tmp_path / "slurmhooks" / f"spank_python-{name}.so").touch()
    (tmp_path / "spank_python.so").touch()
    return tmp_path


def test_variant(folder: Path) -> None:
    """The plugin becomes a link to the variant beside it, and compile prints the callbacks that the variant exports."""
    assert manifests.choose_variant(folder, "task") == "exports user_init, task_post_fork, task_exit"
    assert os.readlink(folder / "spank_python.so") == "slurmhooks/spank_python-task.so"
    assert manifests.choose_variant(folder, "minimal") == "exports no callback that costs extra time"
    assert sorted(path.name for path in folder.iterdir()) == ["slurmhooks", "spank_python.so"]


def test_missing_variant(folder: Path) -> None:
    """A variant that is not installed is a finding, and nothing is changed."""
    with pytest.raises(Finding, match=r"spank_python-full.so is missing: run 'slurmhooks install' again"):
        manifests.choose_variant(folder, "full")
    assert not (folder / "spank_python.so").is_symlink()


def test_restart_of_slurmd(folder: Path) -> None:
    """A prolog that the previous variant lacked is called only after a restart of slurmd; only then compile says so."""
    for name, asked in (("job", False), ("minimal", False), ("job", True), ("job", False), ("task", False)):
        assert (manifests.RESTART in manifests.choose_variant(folder, name)) == asked, name


def read_only(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let no file be replaced in some folders, as if they were mounted read-only."""

    def refuse(name: str) -> None:
        real = getattr(durable, name)

        def refusing(path: Path | str, *arguments: object) -> None:
            if Path(path).parent in folders:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            real(path, *arguments)

        monkeypatch.setattr(durable, name, refusing)

    refuse("write")
    refuse("link")


def test_a_shared_folder_that_is_read_only(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """The variant of this machine is chosen although the manifest cannot be written; an equal one is not written."""
    site.file(INIT)
    site.compile()
    plugin = site.plugins / "spank_python.so"
    plugin.unlink()
    read_only(monkeypatch, site.etc)
    site.compile()
    assert os.readlink(plugin) == "slurmhooks/spank_python-minimal.so"
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    result = site.call("compile")
    assert result.exit_code == 1
    assert os.readlink(plugin) == "slurmhooks/spank_python-job.so"
    words = "slurmhooks.manifest: Read-only file system: the manifest was not written; the hooks work"
    assert words in result.output, result.output


def test_a_folder_that_does_not_exist(site: "Site") -> None:
    """While the folder of hook files is missing, no manifest is written: it would keep Python out of every process."""
    site.hooks.rmdir()
    result = site.call("compile")
    assert result.exit_code == 1
    assert f"{site.hooks}: does not exist; hook files are expected in it" in result.output
    assert not (site.etc / "slurmhooks.manifest").exists()


def test_handlers_are_counted(site: "Site") -> None:
    """The number of handlers is that of ``check``, also if no line of plugstack.conf loads them."""
    site.file("@hook.job_submit\ndef limits(job): pass\n")
    for lines in (1, 0):
        result = site.call("compile")
        assert f"slurmhooks.manifest: handlers: 1, lines of plugstack.conf: {lines}\n" in result.output
        (site.etc / "plugstack.conf").write_text("")


def test_plugins_that_are_read_only(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """If the variant cannot be chosen, a plugin that exports enough stays; otherwise compile says what to do."""
    site.file(INIT)
    read_only(monkeypatch, site.plugins)
    result = site.call("compile")
    assert result.exit_code == 0
    assert "spank_python.so: stays as it is (Read-only file system)" in result.output
    assert (site.etc / "slurmhooks.manifest").exists()
    monkeypatch.undo()
    site.compile()
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    read_only(monkeypatch, site.plugins)
    result = site.call("compile")
    assert result.exit_code == 1
    assert "it must become a link to slurmhooks/spank_python-job.so: run 'slurmhooks compile' where" in result.output


def test_only_the_manifest(site: "Site") -> None:
    """slurmd writes only the manifest: it does not choose a variant, which could leave out what is called next."""
    plugin = site.plugins / "spank_python.so"
    site.file(INIT)
    result = site.call("compile", "--only-manifest")
    assert result.exit_code == 0, result.output
    assert (site.etc / "slurmhooks.manifest").exists()
    assert not plugin.is_symlink()
    site.compile()
    before = (site.etc / "slurmhooks.manifest").read_bytes()
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    result = site.call("compile", "--only-manifest")
    assert result.exit_code == 1
    assert "Slurm would never call handler a:prolog" in result.output
    assert (site.etc / "slurmhooks.manifest").read_bytes() == before
    assert os.readlink(plugin) == "slurmhooks/spank_python-minimal.so"


@pytest.mark.parametrize("change", ["edited", "added", "replaced"])
def test_an_edit_during_the_load(site: "Site", change: str) -> None:
    """If a file changes after it was loaded, no manifest is written: it would describe what was not loaded."""
    other = site.hooks / "b.py"
    new = site.etc / "b.new"
    if change != "added":
        other.write_text(HEAD)
    if change == "replaced":
        new.write_text(HEAD)
    act = {
        "edited": f"open({str(other)!r}, 'a').write('# edited')",
        "added": f"open({str(other)!r}, 'w').close()",
        "replaced": f"import os; os.path.exists({str(new)!r}) and os.replace({str(new)!r}, {str(other)!r})",
    }[change]
    # Loaded last, when the other one has been read; twice, since plugstack.conf also names it.
    (site.hooks / "c.py").write_text(f"{HEAD}import time; time.sleep(0.02); {act}\n{INIT}")
    result = site.call("compile")
    assert result.exit_code == 1
    assert f"{other}: has changed while it was loaded" in result.output
    assert not (site.etc / "slurmhooks.manifest").exists()


def test_a_clock_that_was_set_back(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that have changed in the future are named with what helps, because another run would not."""
    site.file(INIT)
    real = time.time_ns
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: real() - 86400 * 10**9)
        result = site.call("compile")
    assert result.exit_code == 1
    assert re.search(rf"{site.hooks}/a.py: was changed at [-0-9]+ [:0-9]+, which is still to come", result.output)
    assert "has changed while" not in result.output
    assert not (site.etc / "slurmhooks.manifest").exists()
