# SPDX-License-Identifier: GPL-2.0-or-later
"""A site whose changed files are loaded in this process, and a clock that tests set."""

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.handlers.registry import Registry
from slurmhooks.site import reload

Write = Callable[..., Path]
HANDLER = "from slurmhooks import hook\n\n@hook.job_submit\ndef {name}(job): ...\n"
_numbers = itertools.count()


class Clock:
    """Replaces the module time: files appear old, and sleeping takes no time.

    Attributes:
        age: seconds that are added to the age of files.
        waits: the seconds that were slept.
        while_waiting: a function that is called in the next sleep.
    """

    def __init__(self) -> None:
        self.age = 100.0
        self.waits: list[float] = []
        self.while_waiting: Callable[[], object] = list

    def time_ns(self) -> int:
        """Return the modification time of files, in nanoseconds."""
        return time.time_ns() + int(self.age * 1e9)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.waits.append(seconds)
        self.while_waiting()
        self.while_waiting = list
        self.age += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock; all files appear old unless a test changes their age."""
    made = Clock()
    monkeypatch.setattr(reload, "time", made)
    return made


class Site:
    """Does in this process what the supervisor and its generations do: loads changed files.

    Attributes:
        registry: what is in service.
        findings: why the files as they are now are not in service.
    """

    def __init__(self, path: Path, *arguments: Any, **keywords: Any) -> None:
        """Store the path of the configuration, and further arguments for slurmhooks.site.reload.load()."""
        self.registry = Registry((), ())
        self.findings: list[str] = []
        self._path = path
        self._arguments = arguments or (lambda registry: [],)
        self._keywords = keywords
        self._watch: Watch | None = None
        self._good: Watch | None = None

    def start(self) -> None:
        """Load the first set of handlers, as the first generation does."""
        self._load()

    def refresh(self) -> None:
        """Load a set of handlers if files have changed; if it does not load, the previous set stays in service."""
        assert self._watch is not None
        if not self._watch.changed():
            return
        before = self._good
        try:
            self._load()
        except (ConfigError, LoadError) as error:
            self.findings = error.findings
            return
        self.findings = []
        assert before is not None
        assert self._good is not None
        reload.report_change(before.handlers, self._good.handlers)

    def _load(self) -> None:
        watch = Watch(before=self._good)
        kept = dict(sys.modules)
        try:
            _, self.registry = reload.load(self._path, watch, *self._arguments, **self._keywords)
        finally:
            # Each generation is a separate process, and writes this to the supervisor.
            for name in set(sys.modules) - set(kept):
                del sys.modules[name]
            self._watch = Watch.of(json.loads(json.dumps(watch.plain())))
        self._good = self._watch


@pytest.fixture
def sites(tmp_path: Path) -> Callable[..., Site]:
    """Return a function that writes a configuration and loads it."""

    def start(config: str = '[hooks]\npaths = ["hooks.d/*.py"]\n', findings: list[str] | None = None) -> Site:
        (tmp_path / "slurmhooks.toml").write_text(config)
        site = Site(tmp_path / "slurmhooks.toml", lambda registry: list(findings or []))
        site.start()
        return site

    return start


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package in the folder lib, which Python can import, and which no test has imported."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    return f"reloaded_package_{next(_numbers)}"


def labels(site: Site) -> list[str]:
    """Return the handlers in service, after changed files have been loaded."""
    site.refresh()
    return [handler.label for handler in site.registry.handlers("job_submit")]
