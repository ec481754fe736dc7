# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of all plugin points access no invalid or uninitialized memory, and leak none, under valgrind."""

import shutil
from pathlib import Path

import pytest

from tests.native import under_valgrind
from tests.native.building import PLAIN
from tests.native.conftest import built


@pytest.mark.sanitized
def test_the_main_path(tmp_path: Path) -> None:
    """valgrind reports nothing while requests pass and fail, steps fork, and containers are staged."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed: apt-get install valgrind")
    run = under_valgrind.run(built(PLAIN), tmp_path)
    assert run.one("balance")["alive"] == 0
    assert run.one("stage_in").rc == 0
    assert len(run.of("job_submit")) == 6
    assert run.one("fork")["status"] == 0  # valgrind also checks the child
    assert [call.rc for call in run.of("call")] == [0] * len(run.of("call"))
    assert len(run.said("each")) == 3
