# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks import reload
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import log
from slurmhooks.reload import LiveSite, Watch

Write = Callable[..., Path]
HANDLER = "from slurmhooks import hook\n\n@hook.job_submit\ndef {name}(job): ...\n"
_numbers = itertools.count()


@pytest.fixture(autouse=True, params=["inotify", "stat"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the kernel, or as on a file system that other machines write to."""
    monkeypatch.setattr(reload, "_is_local", lambda folder: request.param == "inotify")


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[Callable[..., LiveSite]]:
    """Return a function that starts with a configuration."""
    made = []

    def start(config: str = '[hooks]\npaths = ["hooks.d/*.py"]\n', findings: list[str] | None = None) -> LiveSite:
        (tmp_path / "slurmhooks.toml").write_text(config)
        site = LiveSite(lambda registry: findings or [], tmp_path / "slurmhooks.toml")
        made.append(site)
        site.start()
        return site

    yield start
    for site in made:
        site._watch.close()


def labels(site: LiveSite) -> list[str]:
    """Return the handlers in force."""
    site.refresh()
    return [handler.label for handler in site.registry.handlers("job_submit")]


def test_nothing_changes_while_nothing_changes(write: Write, sites: Callable[..., LiveSite]) -> None:
    """Without a change the very same handlers stay, and nothing is loaded."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    assert labels(site) == ["a:f"]
    before = site.registry
    for _ in range(3):
        site.refresh()
    assert site.registry is before


def test_changed_new_and_deleted_files(write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace) -> None:
    """The next call has the handlers of the files as they are then, and the log says so."""
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]
    assert said.lines == [(1, "slurmhooks: took up changed hooks: 1 handlers")]
    write("hooks.d/b.py", HANDLER.format(name="h"))
    assert labels(site) == ["a:g", "b:h"]
    path.unlink()
    assert labels(site) == ["b:h"]
    write("hooks.d/c.py.new", HANDLER.format(name="k")).rename(path)
    assert labels(site) == ["a:k", "b:h"]


def test_only_hook_files_count(write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace) -> None:
    """What else comes and goes beside hook files (byte code, an editor's files) loads nothing again."""
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


def test_folders_that_come(write: Write, sites: Callable[..., LiveSite]) -> None:
    """A glob may stand for folders, too: a new one is seen."""
    write("of/a/hooks.py", HANDLER.format(name="f"))
    site = sites('[hooks]\npaths = ["of/*/hooks.py"]\n')
    assert labels(site) == ["hooks:f"]
    write("of/b/hooks.py", HANDLER.format(name="g"))
    assert labels(site) == ["hooks:f", "hooks:g"]
    write("of/b/hooks.py", HANDLER.format(name="h"))
    assert labels(site) == ["hooks:f", "hooks:h"]


def test_a_file_that_comes_while_others_load(write: Write, sites: Callable[..., LiveSite], tmp_path: Path) -> None:
    """It was not among those that were loaded, so the next call takes it up."""
    late = tmp_path / "hooks.d" / "b.py"
    source = HANDLER.format(name="late")
    write("hooks.d/a.py", f"from pathlib import Path\nPath({str(late)!r}).write_text({source!r})\n")
    site = sites()
    assert labels(site) == ["b:late"]


def test_a_broken_change_leaves_the_last_good_ones(
    write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace
) -> None:
    """What does not load is logged once, in full, and the handlers from before stay in force until it is mended."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", "1 / 0\n")
    assert labels(site) == ["a:f"]
    once = len(said.records)
    assert "ZeroDivisionError" in "\n".join(said.records)
    assert "the hooks that were loaded before stay in force" in said.records[-1]
    assert labels(site) == ["a:f"]
    assert len(said.records) == once
    write("hooks.d/a.py", HANDLER.format(name="mended"))
    assert labels(site) == ["a:mended"]


def test_a_broken_configuration_too(write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace) -> None:
    """A configuration that cannot be read changes nothing, until it can."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("slurmhooks.toml", "[nonsense]\n")
    assert labels(site) == ["a:f"]
    assert "nonsense: unknown key" in "\n".join(said.records)
    write("slurmhooks.toml", '[hooks]\npaths = ["other.py"]\n')
    assert labels(site) == ["a:f"]
    assert "no such hook file" in "\n".join(said.records)
    write("other.py", HANDLER.format(name="g"))
    assert labels(site) == ["other:g"]


def test_the_first_load_must_go_well(write: Write, sites: Callable[..., LiveSite]) -> None:
    """There are no handlers to keep: whoever starts hears of it."""
    write("hooks.d/a.py", "1 / 0\n")
    with pytest.raises(LoadError, match="ZeroDivisionError"):
        sites()
    with pytest.raises(ConfigError, match="unknown key"):
        sites("[nonsense]\n")


def test_what_the_process_cannot_serve_is_a_finding(write: Write, sites: Callable[..., LiveSite]) -> None:
    """The check of the process counts as an error of the files."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    with pytest.raises(LoadError, match="not with this build"):
        sites(findings=["not with this build"])


def test_reloading_can_be_switched_off(write: Write, sites: Callable[..., LiveSite]) -> None:
    """A site may want a restart for every change."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites('[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nreload = false\n')
    write("hooks.d/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:f"]


def test_packages_are_imported_anew(
    write: Write, sites: Callable[..., LiveSite], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change anywhere inside a listed package is taken up; modules that are not listed are left alone."""
    name = f"reloaded_package_{next(_numbers)}"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    write(f"lib/{name}/__init__.py", f"from {name}.inner import *\n")
    write(f"lib/{name}/inner.py", HANDLER.format(name="f"))
    site = sites(f'[hooks]\nmodules = ["{name}"]\n')
    assert labels(site) == [f"{name}:f"]
    kept = sys.modules["json"]
    write(f"lib/{name}/inner.py", HANDLER.format(name="longer"))
    assert labels(site) == [f"{name}:longer"]
    assert sys.modules["json"] is kept


def test_links_are_followed(write: Write, sites: Callable[..., LiveSite], tmp_path: Path) -> None:
    """A hook file may be a link into another folder; a change there is seen."""
    real = write("elsewhere/a.py", HANDLER.format(name="f"))
    (tmp_path / "hooks.d").mkdir()
    (tmp_path / "hooks.d" / "link.py").symlink_to(real)
    site = sites()
    assert labels(site) == ["a:f"]
    write("elsewhere/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]


def test_a_watch_sees_what_comes_and_goes(tmp_path: Path) -> None:
    """A watch knows of files that are not there yet, and of those that are gone."""
    path = tmp_path / "file"
    watch = Watch([str(path)])
    assert not watch.changed()
    path.write_text("x")
    assert watch.changed()
    watch.close()
    watch = Watch([str(path)])
    assert not watch.changed()
    path.unlink()
    assert watch.changed()
    watch.close()
    assert watch.paths == [str(path)]


def test_a_change_while_files_load_is_seen(write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace) -> None:
    """A file that was read half written, and is complete a moment later, is taken up at the next call."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    complete = HANDLER.format(name="complete")
    write("hooks.d/a.py", f"from pathlib import Path\nPath(__file__).write_text({complete!r})\n1 / 0\n")
    assert labels(site) == ["a:f"]
    assert labels(site) == ["a:complete"]


def test_the_level_of_the_log(write: Write, sites: Callable[..., LiveSite], said: SimpleNamespace) -> None:
    """It changes with the configuration, while slurmctld runs."""
    write("slurmhooks.toml", "")
    live = sites()
    live.start()
    try:
        write("slurmhooks.toml", '[log]\nlevel = "error"\n')
        live.refresh()
        log.info("dropped")
    finally:
        log.limit("debug3")
    assert said.lines == []
