# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads hook files and installed modules, and forgets them after each test."""

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.handlers import definitions, loader
from slurmhooks.handlers.loader import Source
from slurmhooks.handlers.registry import Registry

Write = Callable[..., Path]
SUBMIT = "from slurmhooks import hook\n\n@hook.job_submit\ndef {name}(job): ...\n"
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    """Remove the modules of a test from sys.modules."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(definitions.PACKAGE):
            del sys.modules[name]


@pytest.fixture
def package(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that installs a module or a package under a unique name."""

    def install(source: str, **submodules: str) -> str:
        name = f"site_package_{next(_numbers)}"
        write(f"lib/{name}/__init__.py", source.replace("NAME", name))
        for submodule, text in submodules.items():
            write(f"lib/{name}/{submodule}.py", text.replace("NAME", name))
        monkeypatch.syspath_prepend(tmp_path / "lib")
        return name

    return install


def load(*paths: Path) -> Registry:
    """Load hook files."""
    return loader.load([Source(path=str(path)) for path in paths])


def load_module(*names: str) -> Registry:
    """Load installed modules."""
    return loader.load([Source(module=name) for name in names])


def findings(*paths: Path) -> list[str]:
    """Return the findings for hook files."""
    with pytest.raises(LoadError) as caught:
        load(*paths)
    return caught.value.findings


def labels(registry: Registry, hook: str = "job_submit") -> list[str]:
    """Return the handlers of a hook."""
    return [handler.label for handler in registry.handlers(hook)]
