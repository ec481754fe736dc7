# SPDX-License-Identifier: GPL-2.0-or-later
"""When a worker is replaced because of its memory."""

import pytest

from slurmhooks.processes.settings import Settings
from slurmhooks.worker import worker


def test_it_looks_at_its_memory_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first answer, and then at most every CHECK seconds; a look that finds too much memory replaces it."""
    clock, looks = [7.0], []

    def is_bloated(settings: Settings) -> bool:
        looks.append(settings)
        return len(looks) > 1

    monkeypatch.setattr("slurmhooks.worker.worker.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(worker, "is_bloated", is_bloated)
    retires = worker.retirement(Settings())
    assert [retires(), retires(), len(looks)] == [False, False, 1]
    clock[0] += worker.CHECK * 1.01
    assert [retires(), retires(), len(looks)] == [True, False, 2]
