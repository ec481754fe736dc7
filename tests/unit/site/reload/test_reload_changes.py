# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files go into service, and the previous set stays as long as they do not load."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import log
from tests.unit.site.reload.conftest import HANDLER, Site, Write, labels


def test_nothing_changes_while_nothing_changes(write: Write, sites: Callable[..., Site]) -> None:
    """Without a change nothing is loaded."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    assert labels(site) == ["a:f"]
    before = site.registry
    for _ in range(3):
        site.refresh()
    assert site.registry is before


def test_changed_new_and_renamed_files(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """Changed, new and renamed files are loaded, and the log names the removed handlers."""
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]
    assert said.lines == [
        (1, "slurmhooks: loaded changed hooks: 1 handlers"),
        (1, f"slurmhooks: {path}: no longer in force: job_submit handler a:f"),
    ]
    write("hooks.d/b.py", HANDLER.format(name="h"))
    assert labels(site) == ["a:g", "b:h"]
    path.rename(path.with_name("c.py"))
    assert labels(site) == ["b:h", "c:g"]
    write("hooks.d/c.py.new", HANDLER.format(name="k")).rename(path)
    assert labels(site) == ["a:k", "b:h", "c:g"]
    assert said.records == []


def test_only_hook_files_count(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """Other files in the folder, such as byte code or those of an editor, cause no load."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    before = site.registry
    for name in ("a.py~", ".a.py.swp", "__pycache__/a.cpython-313.pyc", "notes.txt"):
        beside = write(f"hooks.d/{name}", "")
        site.refresh()
        beside.unlink()
        site.refresh()
    assert site.registry is before
    assert said.lines == []
    write("hooks.d/b.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:f", "b:g"]


def test_folders_that_come(write: Write, sites: Callable[..., Site]) -> None:
    """A new folder that a glob matches is noticed."""
    write("of/a/hooks.py", HANDLER.format(name="f"))
    site = sites('[hooks]\npaths = ["of/*/hooks.py"]\n')
    assert labels(site) == ["hooks:f"]
    write("of/b/hooks.py", HANDLER.format(name="g"))
    assert labels(site) == ["hooks:f", "hooks:g"]
    write("of/b/hooks.py", HANDLER.format(name="h"))
    assert labels(site) == ["hooks:f", "hooks:h"]


def test_a_file_that_comes_while_others_load(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """A file that appears while others are loaded is loaded afterwards."""
    late = tmp_path / "hooks.d" / "b.py"
    source = HANDLER.format(name="late")
    write("hooks.d/a.py", f"from pathlib import Path\nPath({str(late)!r}).write_text({source!r})\n")
    site = sites()
    assert labels(site) == ["b:late"]


def test_a_broken_change_leaves_the_last_good_ones(write: Write, sites: Callable[..., Site]) -> None:
    """The previous handlers stay in service until the file loads again."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", "1 / 0\n")
    assert labels(site) == ["a:f"]
    assert "ZeroDivisionError" in site.findings[0]
    assert labels(site) == ["a:f"]
    write("hooks.d/a.py", HANDLER.format(name="repaired"))
    assert labels(site) == ["a:repaired"]
    assert site.findings == []


def test_a_broken_configuration_too(write: Write, sites: Callable[..., Site]) -> None:
    """While the configuration is invalid, the previous handlers stay in service."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("slurmhooks.toml", "[nonsense]\n")
    assert labels(site) == ["a:f"]
    assert "nonsense: unknown key" in site.findings[0]
    write("slurmhooks.toml", '[hooks]\npaths = ["other.py"]\n')
    assert labels(site) == ["a:f"]
    assert "no such hook file" in site.findings[0]
    write("other.py", HANDLER.format(name="g"))
    assert labels(site) == ["other:g"]


def test_the_first_load_must_go_well(write: Write, sites: Callable[..., Site]) -> None:
    """Errors in the first load are raised."""
    write("hooks.d/a.py", "1 / 0\n")
    with pytest.raises(LoadError, match="ZeroDivisionError"):
        sites()
    with pytest.raises(ConfigError, match="unknown key"):
        sites("[nonsense]\n")


def test_what_the_process_cannot_serve_is_a_finding(write: Write, sites: Callable[..., Site]) -> None:
    """Findings of the check function are raised like errors in files."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    with pytest.raises(LoadError, match="not with this build"):
        sites(findings=["not with this build"])


def test_packages_are_imported_anew(write: Write, sites: Callable[..., Site], package: str) -> None:
    """A change anywhere inside a listed package is noticed."""
    write(f"lib/{package}/__init__.py", f"from {package}.inner import *\n")
    write(f"lib/{package}/inner.py", HANDLER.format(name="f"))
    site = sites(f'[hooks]\nmodules = ["{package}"]\n')
    assert labels(site) == [f"{package}:f"]
    write(f"lib/{package}/inner.py", HANDLER.format(name="longer"))
    assert labels(site) == [f"{package}:longer"]


def test_links_are_followed(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """If a hook file is a link into another folder, a change there is noticed."""
    real = write("elsewhere/a.py", HANDLER.format(name="f"))
    (tmp_path / "hooks.d").mkdir()
    (tmp_path / "hooks.d" / "link.py").symlink_to(real)
    site = sites()
    assert labels(site) == ["a:f"]
    write("elsewhere/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]


def test_a_change_while_files_load_is_seen(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """A file that is completed while it is being loaded is loaded again."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    complete = HANDLER.format(name="complete")
    write("hooks.d/a.py", f"from pathlib import Path\nPath(__file__).write_text({complete!r})\n1 / 0\n")
    assert labels(site) == ["a:f"]
    assert labels(site) == ["a:complete"]


def test_the_level_of_the_log(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """A change of the level in the configuration takes effect."""
    write("hooks.d/a.py", "# none")
    site = sites()
    said.lines.clear()
    try:
        write("slurmhooks.toml", '[log]\nlevel = "error"\n')
        site.refresh()
        log.info("dropped")
    finally:
        log.limit("debug3")
    assert said.lines == []


def test_notes_are_logged(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """The log has a note for a file without handlers, and for a pattern that matches no file."""
    path = write("hooks.d/a.py", "def forgotten(job): ...\n")
    sites()
    assert any("note: " in line and "a.py: no handler and no option in it" in line for _, line in said.lines)
    assert not any("no file matches" in line for _, line in said.lines)
    path.unlink()
    sites()
    notes = [line for _, line in said.lines if "no file matches" in line]
    toml = path.parent.with_name("slurmhooks.toml")
    assert notes == [f"slurmhooks: note: {toml}: no file matches {path.with_name('*.py')}"]
