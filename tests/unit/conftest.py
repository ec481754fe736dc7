# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by tests of the core: hook files on disk, and the log as a list."""

import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from slurmhooks.files import trusted
from slurmhooks.log import log
from slurmhooks.slurmctld import asking
from slurmhooks.workshop.cli import file_copies


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file below tmp_path, as its owner would: ``write("a.py", "source")``."""

    def write(name: str, source: str, mode: int = 0o644) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        path.chmod(mode)
        return path

    return write


@pytest.fixture(autouse=True)
def on_a_laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo trusted.guard() after each test."""
    monkeypatch.setattr(trusted, "_owners", None)


@pytest.fixture(autouse=True)
def no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the request that a test gave a service: Lua scripts of later tests would ask its slurmctld."""
    monkeypatch.setattr(asking, "current", None)


@pytest.fixture(autouse=True)
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run handlers of `try` in this process, also as root; test_file_copies.py starts processes that copy the files."""
    monkeypatch.setattr(file_copies, "run", lambda function: function())


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Undo what commands set in the environment, such as SLURM_CONF: later tests start processes."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(autouse=True)
def whole_log() -> None:
    """Undo what a configuration that an earlier test has loaded says about the log."""
    log.limit("debug3")


@pytest.fixture
def said() -> Iterator[SimpleNamespace]:
    """Collect the log: ``lines`` with their levels, messages to the ``user``, ``records`` for administrators."""
    said = SimpleNamespace(lines=[], user=[], records=[])
    before = log.attach(lambda level, text: said.lines.append((level, text)), said.user.append, said.records.append)
    yield said
    log.attach(*before)
