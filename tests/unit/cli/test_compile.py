# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks compile``: when it writes a manifest, and what it prints about that."""

import errno
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.files import durable
from tests.unit.cli.conftest import HEAD, INIT

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site


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


def test_a_folder_that_is_read_only(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest that cannot be written is a finding, unless an equal one is there."""
    site.file(INIT)
    site.compile()
    read_only(monkeypatch, site.etc)
    site.compile()
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    result = site.call("compile")
    assert result.exit_code == 1
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


def test_a_handler_that_is_never_called(site: "Site") -> None:
    """With the lean plugin no manifest is written for a handler that Slurm does not call."""
    site.file(INIT)
    site.lean()
    site.compile()
    before = (site.etc / "slurmhooks.manifest").read_bytes()
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    result = site.call("compile")
    assert result.exit_code == 1
    assert "Slurm would never call handler a:prolog" in result.output
    assert "run 'slurmhooks install' without --lean" in result.output
    assert (site.etc / "slurmhooks.manifest").read_bytes() == before


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
