# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests of real daemons a run has: `make test` leaves some to others, which run where time is left."""

import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest

ParameterSet = type(pytest.param())
TURN = os.environ.get("SLURMHOOKS_TEST_TURN", "")
"""A number of `make test` that grows by one with each commit. Without it all releases have their turn."""
UNTIL = float(os.environ.get("SLURMHOOKS_TEST_UNTIL", "inf"))
"""When the run has to end, in seconds since 1970: no group begins that would not end before."""
CHANGED = os.environ.get("SLURMHOOKS_TEST_CHANGED", "")
"""The paths of the files that a change has touched; tests that have a word of their names in common come first."""
IS_LIMITED = math.isfinite(UNTIL)
USUAL = 30.0
"""Seconds that a group is expected to take which this machine has not run yet."""
COMMON = {"", "cluster", "docs", "md", "native", "py", "slurmhooks", "test", "tests", "unit"}

_begun: dict[str, bool] = {}


def releases_of(file: str, releases: Sequence[str], turn: str = TURN) -> Sequence[str]:
    """Return the releases on which the tests of a file run, if one of `releases` is enough for them.

    As many successive turns as there are releases use each of them. Files differ, so that each turn has all releases.
    """
    return (releases[(int(turn) + crc32(file.encode())) % len(releases)],) if turn else releases


def moved(*cases: object) -> list[object]:
    """Return cases of a test that only `make rest` has; `make test` finds the same kind of fault by others."""
    return [
        pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.moved])
        if isinstance(case, ParameterSet)
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.moved)
        for case in cases
    ]


def moved_from(number: int, cases: Iterable[object]) -> list[object]:
    """Return cases of which `make test` has the first ones, as many as `number`."""
    found = list(cases)
    return [*found[:number], *moved(*found[number:])]


def has_time(group: str, expected: float, now: float | None = None) -> bool:
    """Whether a group may run; one that has begun goes on."""
    if group not in _begun:
        _begun[group] = (time.time() if now is None else now) + expected <= UNTIL
    return _begun[group]


@cache
def is_named(file: str, changed: str = CHANGED) -> bool:
    """Whether a change touches a test file, or something of which the name of the file says that it tests it."""
    return not (_words(Path(file).stem) - COMMON).isdisjoint(_words(changed))


def _words(text: str) -> set[str]:
    return set(re.split(r"[\W_]+", text))
