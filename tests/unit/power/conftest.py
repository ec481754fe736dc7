# SPDX-License-Identifier: GPL-2.0-or-later
"""A site with power handlers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.power.sites import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site, whose processes end with the test."""
    made = Site(tmp_path, monkeypatch)
    yield made
    made.wait(lambda: made.empty() and not made.processes())
