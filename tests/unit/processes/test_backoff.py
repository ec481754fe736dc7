# SPDX-License-Identifier: GPL-2.0-or-later
import time

import pytest

from slurmhooks.processes.backoff import MOST, Backoff


def test_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses double up to a limit, also after any number of failures, and begin again after a success."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    backoff = Backoff(0.5)
    assert backoff.is_over
    for _ in range(2):
        assert [backoff.failed() for _ in range(9)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, MOST, MOST]
        backoff.failures = 10_000
        assert backoff.failed() == MOST
        now[0] += MOST - 0.001
        assert not backoff.is_over
        now[0] += 0.001
        assert backoff.is_over
        backoff.succeeded()
