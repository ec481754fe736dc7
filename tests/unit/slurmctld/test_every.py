# SPDX-License-Identifier: GPL-2.0-or-later
"""When the process of periodic rules runs them."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.hooks.schedule import Schedule
from slurmhooks.slurmctld import every

START = 1_700_000_000.0


class Turns:
    """Waits by moving a clock, and does something to it after a number of waits."""

    def __init__(self, clock: SimpleNamespace, steps: dict[int, Callable[[], None]], most: int) -> None:
        """Store what to do before which wait."""
        self.state: Any = self
        self._clock, self._steps, self._left = clock, steps, most
        self._count = 0
        self._value: dict[str, Any] = {}

    def wait(self, seconds: float) -> bool:
        """Move the clock."""
        if seconds <= 0:
            return False
        self._count += 1
        self._steps.get(self._count, lambda: None)()
        self._clock.now += seconds
        return self._count > self._left

    def lock(self) -> bool:
        """Succeed."""
        return True

    def read(self) -> dict[str, Any]:
        """Return what was written."""
        return self._value

    def write(self, value: dict[str, Any]) -> None:
        """Keep it."""
        self._value = value

    def begin(self, *_: object) -> None:
        """Do nothing."""

    end = unlock = begin


@pytest.mark.parametrize("jump", [86400.0 * 365, 0.0, -86400.0 * 365])
def test_the_clock_may_be_wrong_for_a_while(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule runs about once a period, also after the clock was wrong and has been put right."""
    clock = SimpleNamespace(now=START)
    runs: list[float] = []
    handler = Handler(lambda: None, (), HOOKS["every"], 50, False, (), "site:rule", __file__, 1)
    handler.schedule = Schedule("10s")
    monkeypatch.setattr(time, "time", lambda: clock.now)
    monkeypatch.setattr(every, "Slurm", lambda _: None)
    monkeypatch.setattr(every, "Acting", lambda *_: SimpleNamespace(number=lambda *_: 1))
    rules: Any = object.__new__(every.Rules)
    rules._handlers, rules._tables, rules._version = (handler,), None, {}
    rules._one = lambda *_: runs.append(clock.now)

    def put(seconds: float) -> Callable[[], None]:
        return lambda: setattr(clock, "now", clock.now + seconds)

    rules.run(None, Turns(clock, {5: put(jump), 10: put(-jump)}, 20))
    assert 17 <= len(runs) <= 21
    assert sum(START + 150 < each < START + 250 for each in runs) >= 4
