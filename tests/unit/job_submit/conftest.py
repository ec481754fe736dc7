# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of job_submit share."""

from pathlib import Path

import pytest

from tests.unit.job_submit.rules import Rule, maker


@pytest.fixture
def rule(tmp_path: Path) -> Rule:
    """A function that makes a handler of hook.job of some lines, and returns one that calls it."""
    return maker(tmp_path)
