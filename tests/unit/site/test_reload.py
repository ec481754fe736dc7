# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.config import model as config
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import paths
from slurmhooks.files.watch import Watch
from slurmhooks.processes import descriptors
from slurmhooks.processes.settings import Settings
from slurmhooks.site import reload
from slurmhooks.site import sources as site

Write = Callable[..., Path]
HOOK = "from slurmhooks import hook\n@hook.job_submit\ndef check(job): pass\n"


def load(before: Watch | None = None) -> Watch:
    """Return the data of a generation in the form that the supervisor gets."""
    watch = Watch(before=before)
    try:
        reload.load(site.config_path(), watch, lambda registry: [])
    finally:
        plain = json.loads(json.dumps(watch.plain()))
    return Watch.of(plain)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the configuration into this test's folder."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))


def test_settings(write: Write) -> None:
    """The processes get the values of the configuration, in their own units."""
    text = (
        '[job_submit]\nworkers = 4\ntimeout = 0.5\nmemory_limit = "512MiB"\non_unavailable = "accept"\nreload = false'
    )
    read = config.read(write("slurmhooks.toml", text))
    settings = Settings.read(json.loads(json.dumps(Settings.of(read, "job_submit").document())))
    section = settings.section
    assert (section.workers, section.timeout, section.memory_limit, section.reload) == (4, 0.5, 512 << 20, False)
    assert (settings.accept, Settings.of(config.Config(), "job_submit").section) == (True, Settings().section)
    unlimited = config.read(write("slurmhooks.toml", '[job_submit]\nmemory_limit = "unlimited"'))
    assert Settings.of(unlimited, "job_submit").section.memory_limit is None


def test_watch(write: Write, tmp_path: Path) -> None:
    """Configuration, hook files and globs are watched; the list survives JSON."""
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py", "more.py"]')
    write("hooks.d/a.py", HOOK)
    write("more.py", HOOK)
    for change in (
        lambda: write("hooks.d/b.py", HOOK),
        lambda: (tmp_path / "hooks.d/b.py").unlink(),
        lambda: write("more.py", HOOK + "# changed\n"),
        lambda: os.utime(tmp_path / "slurmhooks.toml", (1, 1)),
    ):
        watch = load()
        assert len(watch.handlers) >= 2
        assert not watch.changed()
        change()
        assert watch.changed()


def test_what_does_not_load_is_watched(write: Write) -> None:
    """Files that do not load are also watched."""
    write("slurmhooks.toml", '[hooks]\npaths = ["a.py", "gone.py"]')
    write("a.py", "import nothing_of_that_name\n")
    for name in ("a.py", "gone.py"):
        watch = Watch()
        with pytest.raises(LoadError):
            reload.load(site.config_path(), watch, lambda registry: [])
        assert not watch.changed()
        write(name, HOOK)
        assert watch.changed()
        write("a.py", "import nothing_of_that_name\n")


def test_accidents_do_not_load(write: Write) -> None:
    """A missing or empty file does not remove a handler of a serving generation."""
    settings = write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]')
    one, two = write("hooks.d/a.py", HOOK), write("hooks.d/b.py", HOOK)
    serving = load()
    for file, text in ((one, None), (two, ""), (settings, None), (settings, "")):
        content = file.read_text()
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        with pytest.raises((LoadError, ConfigError), match=file.name):
            load(serving)
        load()
        file.write_text(content)
        serving = load(serving)
        assert len(serving.handlers) == 2


def test_handlers_that_are_removed_on_purpose(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that is removed from its file is dropped when the file has not changed for a while."""
    write("slurmhooks.toml", '[hooks]\npaths = ["a.py"]')
    write("a.py", HOOK + "@hook.job_submit\ndef other(job): pass\n")
    serving = load()
    write("a.py", HOOK)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if seconds == 1000:
            monkeypatch.setattr(reload, "SETTLED", 0)

    monkeypatch.setattr(reload, "SETTLED", 1000)
    monkeypatch.setattr(time, "sleep", sleep)
    ((_, handlers),) = load(serving).handlers.items()
    assert [handler.label for handler in handlers] == ["a:check"]
    assert waits.count(1000) == 1


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreadable folder is watched like any other: becoming readable again is a change; so is a new folder."""
    pattern = str(tmp_path / "hooks.d" / "*.py")
    watch = Watch()
    watch.glob(pattern)
    assert not watch.changed()
    (tmp_path / "hooks.d").mkdir()
    assert watch.changed()
    watch = Watch()
    watch.glob(pattern)
    assert not watch.changed()

    def matches(pattern: str) -> list[str]:
        raise LoadError([f"{pattern}: Permission denied"])

    with monkeypatch.context() as patched:
        patched.setattr(paths, "matches", matches)
        assert watch.changed()
        watch = Watch()
        watch.glob(pattern)
        assert not watch.changed()
    assert watch.changed()


def test_documents() -> None:
    """A document of any size is passed through a descriptor, and names that are not UTF-8 survive."""
    content = {"findings": ["x" * 1_000_000], "watch": {"files": {"/caf\udce9.py": [1, 2, 3, 4]}}}
    assert descriptors.values(descriptors.document(content)) == content
