# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording as a fixture, as a site uses it; docs/replay.md shows the second half."""

import os
from pathlib import Path

import pytest

from slurmhooks.workshop.replay.fixture import compare, replay
from tests.unit.workshop.replay.recordings import recording

EXAMPLES = Path(__file__).parents[4] / "contrib" / "examples"
LIMITS = str(EXAMPLES / "partition_time_limits.py")


@pytest.fixture
def month(tmp_path: Path) -> Path:
    """Requests of a site that has the rule."""
    jobs = [{"partition": "debug", "time_limit": minutes, "name": f"job{minutes}"} for minutes in (30, 90)]
    os.close(recording(tmp_path / "month", Path(LIMITS).read_text(), jobs))
    return tmp_path / "month"


# The tests of a site


def test_the_month_is_decided_as_it_was(month: Path) -> None:
    """The rules that we are about to deploy decide all requests of the month as they were decided."""
    assert compare(month, LIMITS).same


def test_long_jobs_are_refused(month: Path) -> None:
    """Only requests for more than half an hour are refused."""
    for request in replay(month):
        refused = request.run(LIMITS).verdict == "refused"
        assert refused == (request.job.time_limit == 90), request
