# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.config import model as config
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.rules import source

Rules = Callable[[str], Registry]


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    """A function that loads the rules of a slurmhooks.toml as a worker does."""

    def load(text: str) -> Registry:
        path = tmp_path / "slurmhooks.toml"
        path.write_text(text)
        return loader.load(source.sources(config.read(path), path))

    return load
