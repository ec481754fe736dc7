# SPDX-License-Identifier: GPL-2.0-or-later
import os
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.log import DEBUG, ERROR
from slurmhooks.slurmctld.libslurm import Slurm


@pytest.mark.parametrize(("answer", "level"), [(1, ERROR), (0, DEBUG), (-1, ERROR)])
def test_a_script_that_has_not_begun_is_no_error(
    answer: int, level: int, said: SimpleNamespace, capfd: pytest.CaptureFixture[str]
) -> None:
    """What libslurm prints about a script that has not begun has level debug; other lines are errors; none is lost."""

    def has_begun(job_id: Any, node: bytes) -> int:
        os.write(2, b"error: no such job\nerror: \xff\n")
        return answer

    slurm = Slurm.__new__(Slurm)
    slurm._library = SimpleNamespace(slurmhooks_has_begun=has_begun)  # type: ignore[assignment]
    assert slurm.has_begun(7, "n1") is {1: True, 0: False, -1: None}[answer]
    assert said.lines == [(level, f"slurmhooks: job 7, n1: error: {text}") for text in ("no such job", "\ufffd")]
    os.write(2, b"later")
    assert capfd.readouterr().err == "later"
