# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by tests of workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.worker.supervisors import Supervisor


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor that ends with the test."""
    instance = Supervisor(tmp_path)
    yield instance
    instance.end()
