# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by tests of which hook files a process loads."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from slurmhooks.config.model import Config
from slurmhooks.handlers.loader import Source
from slurmhooks.site import loading
from slurmhooks.site import sources as site
from tests.sets import put_in_force

Write = Callable[..., Path]


@pytest.fixture
def place_slurm_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SLURM_CONF point into tmp_path, whose files are in force."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    put_in_force(tmp_path)


def names(sources: Iterable[Source]) -> list[str | None]:
    """Return the names of files and modules."""
    return [Path(source.path).name if source.path else source.module for source in sources]


def of_config(link: Path | None = None) -> tuple[Config, list[Source]]:
    """Return a configuration and the sources that it names, in a process that may import the model."""
    named = loading.of_config(link or site.config_path())
    return named.config, named.sources


def of_line(line: str) -> tuple[list[str | None], list[str]]:
    """Return the sources of a line of plugstack.conf, and the arguments for handlers."""
    named = loading.of_line(line.split())
    return names(named.all_sources), named.rest


def launched() -> loading.Named:
    """Return what a launch without a manifest reads of the set in force."""
    return loading.of_point("cli_filter", known=None)
