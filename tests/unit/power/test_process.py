# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls, without its children."""

import os
import sys
import time
from collections.abc import Callable

import pytest

from slurmhooks import identity
from slurmhooks.handover import process
from slurmhooks.power.delivery import PowerDelivery
from slurmhooks.processes import renewal
from slurmhooks.processes.deliverer import SEGMENT
from tests.forks import become_a_daemon
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
    process.deliver(site.spool, PowerDelivery)
    assert pauses == [7.0]


def test_a_handler_that_becomes_a_daemon(site: Site) -> None:
    """The end of its process is seen at once, and not taken for a handler that did not end."""

    def load(tell: Callable[[bytes], object]) -> float:
        tell(process.LOADED)
        become_a_daemon()
        return 0.0

    began = time.monotonic()
    done = process.in_child(load, "power", 8.0, lambda: None)
    assert done.failure == "its process ended with exit code 0"
    assert time.monotonic() - began < 8


def test_a_release_that_was_replaced_delivers_nothing_more(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the next turn, the process becomes the same program of the new release, once that has been unpacked."""
    site.spool.mkdir(parents=True)
    segment = site.spool / f"1{SEGMENT}"
    segment.touch()
    found = iter(["old", "old", "half", "more", OSError(), OSError(), "new", "new"])
    turns: list[None] = []
    started: list[object] = []

    def here() -> str:
        if isinstance(each := next(found), OSError):
            raise each
        assert isinstance(each, str)
        return each

    def in_child(*_: object) -> process.Turn:
        turns.append(None)
        return process.Turn(watch=None)

    def execv(*arguments: object) -> None:
        started.append(arguments)
        raise SystemExit

    monkeypatch.setattr(identity, "here", here)
    monkeypatch.setattr(process, "in_child", in_child)
    monkeypatch.setattr(process, "_rest", lambda *_: None)
    monkeypatch.setattr(renewal, "SETTLED", 0.0)
    monkeypatch.setattr(os, "execv", execv)
    with pytest.raises(SystemExit):
        process.deliver(site.spool, PowerDelivery)
    segment.unlink()
    assert len(turns) == 1
    assert next(found, None) is None
    assert started == [(sys.executable, sys.orig_argv)]
