# SPDX-License-Identifier: GPL-2.0-or-later
"""When periodic handlers run."""

import pytest

from slurmhooks import hook
from slurmhooks.hooks.schedule import Schedule


@pytest.mark.parametrize(("text", "seconds"), [("10s", 10), ("5m", 300), ("2h", 7200), ("7d", 604800)])
def test_a_period_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    """Each unit is known, and runs begin at multiples of the period."""
    schedule = Schedule(text)
    assert schedule.faults() == []
    assert schedule.period == seconds
    for now in (0.0, seconds - 0.5, float(seconds), 1_700_000_000.25):
        due = schedule.next(now)
        assert now < due <= now + seconds
        assert due % seconds == 0
        assert schedule.slot(due) == schedule.slot(now) + 1


def test_the_clock_may_be_put_back() -> None:
    """A run that seems to be far away is due, a step of a second changes nothing, and no wait exceeds a period."""
    schedule = Schedule("5m")
    due = schedule.next(1_700_000_000.0)
    assert 0 < schedule.wait(due, due - 300) <= 300
    assert 0 < schedule.wait(due, due - 301) <= 300
    assert schedule.wait(due, due) == 0
    assert schedule.wait(due, due + 86400) == 0
    assert schedule.wait(due, due - 86400) == 0


@pytest.mark.parametrize(
    "text", ["", "5", "m", "9s", "8d", "-5m", "5 m", "1.5h", "5M", "\u0665m", 300, 5.0, True, None]
)
def test_other_periods_are_refused(text: object) -> None:
    """A period without unit, out of range, or of another type is a finding that quotes it."""
    (fault,) = Schedule(text).faults()
    assert repr(text) in fault


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "10", None])
def test_at_most_is_a_number(most: object) -> None:
    """Anything but a number from 1 is a finding."""
    (fault,) = Schedule("5m", most).faults()
    assert fault == f"at_most takes a number from 1, not {most!r}"


def test_the_period_is_required() -> None:
    """Without a period the decorator says how it is written."""
    every: object = hook.every
    assert callable(every)
    with pytest.raises(TypeError, match="takes a period"):
        every(lambda: None)
