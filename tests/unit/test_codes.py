# SPDX-License-Identifier: GPL-2.0-or-later
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks import codes


@pytest.mark.parametrize(
    "code",
    ["ESLURM_INVALID_ACCOUNT", "ESPANK_JOB_FAILURE", "ESLURM_LUA_FUNC_FAILED_RUNTIME_ERROR", "SLURM_ERROR", 2045, -1],
)
def test_codes(code: str | int) -> None:
    """A name of any release is right, and so is a number that an int of C can hold."""
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
    """Whatever else a handler gives is told, with the names that may be meant."""
    assert str(codes.fault(code)).startswith(wrong)


def test_a_code_of_a_newer_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiled plugin has from its headers is known, too."""
    monkeypatch.setitem(sys.modules, "_slurmhooks_spank", SimpleNamespace(lib=SimpleNamespace(ESPANK_NEWER=1)))
    assert codes.fault("ESPANK_NEWER") is None
    assert codes.fault("ESPANK_NEWEST") is not None


def test_a_long_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler may take the name from a user: only a short part of it is compared with others."""
    compared: list[str] = []

    def close(name: str, *_: object) -> list[str]:
        compared.append(name)
        return []

    monkeypatch.setattr("difflib.get_close_matches", close)
    assert codes.fault("E" * 1_000_000) is not None
    assert [len(name) for name in compared] == [64]
