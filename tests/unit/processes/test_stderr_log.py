# SPDX-License-Identifier: GPL-2.0-or-later
import os
from select import PIPE_BUF

import pytest

from slurmhooks.log import log
from slurmhooks.processes import stderr_log
from slurmhooks.processes.stderr_log import MORE


@pytest.mark.parametrize("letter", ["x", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("length", [0, 1, 1000, 4092, 5000, 20000])
def test_lines_of_workers_are_not_mixed(letter: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long log line is split into writes that a pipe keeps whole, in order, each with its level."""
    written: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda _, raw: written.append(raw))
    before = log.attach(None, None)
    try:
        stderr_log.attach()
    finally:
        sink, *_ = log.attach(*before)
    assert sink is not None
    sink(2, letter * length)
    assert all(len(raw) <= PIPE_BUF for raw in written)
    lines = [raw.decode().removeprefix("\0002").removesuffix("\n") for raw in written]
    assert all(raw.startswith(b"\x002") and raw.count(b"\n") == 1 for raw in written)
    assert lines[0] + "".join(line.removeprefix(MORE) for line in lines[1:]) == letter * length
    assert all(line.startswith(MORE) for line in lines[1:])
