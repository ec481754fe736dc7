# SPDX-License-Identifier: GPL-2.0-or-later
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.handlers import codes


@pytest.mark.parametrize(
    "code",
    ["ESLURM_INVALID_ACCOUNT", "ESPANK_JOB_FAILURE", "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR", "SLURM_ERROR", 2045, -1],
)
def test_codes(code: str | int) -> None:
    """Names of any release are valid, and so are numbers that fit into a C int."""
    assert codes.fault(code) is None


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("ESLURM_INVALID_ACOUNT", "Slurm has no such code; nearest: ESLURM_INVALID_ACCOUNT"),
        ("", "Slurm has no such code"),
        (1 << 31, "no code of Slurm is that large"),
        (3.5, "a code of Slurm is a name or a number"),
        ([1], "a code of Slurm is a name or a number"),
    ],
)
def test_no_codes(code: Any, wrong: str) -> None:
    """Any other code is reported, with similar names."""
    assert str(codes.fault(code)).startswith(wrong)


def test_a_code_of_a_newer_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that only the headers of the compiled plugin have is also valid."""
    monkeypatch.setitem(sys.modules, "_slurmhooks_spank", SimpleNamespace(lib=SimpleNamespace(ESPANK_NEWER=1)))
    assert codes.fault("ESPANK_NEWER") is None
    assert codes.fault("ESPANK_NEWEST") is not None
