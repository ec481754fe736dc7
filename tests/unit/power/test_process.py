# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls, without its children."""

import pytest

from slurmhooks.power import process
from slurmhooks.processes.deliverer import SEGMENT
from tests.unit.power.sites import Site


def test_no_pause_once_nothing_waits(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as soon as the last turn has removed what was delivered, however long the next turn could wait."""
    site.spool.mkdir(parents=True)
    segment = site.spool / f"1{SEGMENT}"
    segment.touch()
    turns = iter([lambda: None, segment.unlink])
    pauses: list[float] = []

    def in_child(*_: object) -> process.Turn:
        next(turns)()
        return process.Turn(wait=7.0, watch=None)

    monkeypatch.setattr(process, "in_child", in_child)
    monkeypatch.setattr(process, "_rest", lambda seconds, *_: pauses.append(seconds))
    process.deliver(site.spool)
    assert pauses == [7.0]
