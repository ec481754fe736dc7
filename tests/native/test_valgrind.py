# SPDX-License-Identifier: GPL-2.0-or-later
"""The main path under valgrind: no invalid access, no use of what was never written, nothing lost."""

import shutil
from pathlib import Path

import pytest

from tests.native import under_valgrind
from tests.native.building import PLAIN
from tests.native.conftest import built


@pytest.mark.sanitized
def test_the_main_path(tmp_path: Path) -> None:
    """Open, submit, refuse, fail, launch, fork, stage: valgrind has nothing to say."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed: apt-get install valgrind")
    run = under_valgrind.run(built(PLAIN), tmp_path)
    assert run.one("balance")["alive"] == 0
    assert run.one("stage_in").rc == 0
    assert len(run.of("job_submit")) == 6
    assert run.one("fork")["status"] == 0  # valgrind watched the child too
    assert [call.rc for call in run.of("call")] == [0] * len(run.of("call"))
    assert len(run.said("each")) == 3
