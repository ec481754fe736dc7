# SPDX-License-Identifier: GPL-2.0-or-later
"""A spool that cannot be used is in the log once, not with each attempt."""

import time
from pathlib import Path

import pytest

from slurmhooks.config.sections import JobComp
from slurmhooks.handlers.registry import Registry
from slurmhooks.jobcomp.service import Service
from slurmhooks.jobcomp.trouble import REPEAT, Trouble
from slurmhooks.log import log
from slurmhooks.processes.settings import Settings
from slurmhooks.wire.message import Message, number_value
from slurmhooks.wire.protocol import DeliveryItem, Type
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.jobcomp.spools import SpoolFolder


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of the log."""
    made: list[str] = []
    monkeypatch.setattr(log, "_sink", lambda _, text: made.append(text.removeprefix("slurmhooks: ")))
    return made


def test_once_and_again_when_it_changes(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error is logged once, again after it has changed or an hour later, and its end is logged once."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    trouble = Trouble("well again")
    for text in ("full", "full", "denied", "full", None, None, "full"):
        trouble.note(text)
    assert lines == ["full", "denied", "full", "well again", "full"]
    now[0] += REPEAT
    trouble.note("full")
    trouble.note("full")
    assert lines[5:] == ["full"]


def test_lanes_share_an_error(lines: list[str]) -> None:
    """An error that all lanes meet is one line, and it is over when none of them meets it any more."""
    trouble = Trouble("well again")
    for lane in range(4):
        trouble.note("full", lane)
    trouble.note(None, 0)
    trouble.note("full", 1)
    assert lines == ["full"]
    for lane in range(4):
        trouble.note(None, lane)
    assert lines == ["full", "well again"]


def test_a_broken_spool(lines: list[str], tmp_path: Path) -> None:
    """Workers that find the spool broken say so once, ask again later, and say when they can deliver again."""
    tables = tables_of("24.11")
    service = Service(tables, Registry((), ()), Settings(JobComp()))
    folder = SpoolFolder(tmp_path / "spool")
    away = tmp_path / "away"

    def turns() -> None:
        for lane in range(4):
            items = (
                (DeliveryItem.FOLDER, f"{folder.path}\0".encode()),
                (DeliveryItem.LANE, number_value(lane)),
                (DeliveryItem.LANES, number_value(4)),
            )
            request = Message(Type.REQUEST, items=items).encode(tables)
            service.handle(request, lambda _: b"")

    folder.path.rename(away)
    turns()
    turns()
    assert [line for line in lines if "cannot be used" in line] == lines
    assert len(lines) == 1
    away.rename(folder.path)
    turns()
    assert lines[1:] == ["the spool can be used again: job_end is delivered"]
