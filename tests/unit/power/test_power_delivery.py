# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls that cannot be read, and turns that end in unusual ways."""

import random
import time
from pathlib import Path

import pytest

from slurmhooks.config.sections import Config
from slurmhooks.handover import process
from slurmhooks.jobcomp.layout import segment
from slurmhooks.power.delivery import PowerDelivery
from slurmhooks.site import sources
from tests.unit.power.sites import Site

pytestmark = pytest.mark.slow


def configured(site: Site, more: str) -> None:
    """Add keys to ``[power]``."""
    path = site.folder / "slurmhooks.toml"
    path.write_text(path.read_text() + more)


@pytest.mark.parametrize(
    "jobs", ['[{"job_id": null}]', '[{"job_id": "x"}]', '[{"job_id": [1]}]', '[{"job_id": 1e400}]']
)
def test_a_call_that_cannot_be_read(site: Site, monkeypatch: pytest.MonkeyPatch, jobs: str) -> None:
    """It is an attempt like any other, and a dead letter in the end; later calls do not wait for it."""
    configured(site, "tries = 3\n")
    (site.folder / "jobs").write_text(f'{{"jobs": {jobs}}}')
    monkeypatch.setenv("SLURM_RESUME_FILE", str(site.folder / "jobs"))
    site.call("resume", "c1")
    monkeypatch.delenv("SLURM_RESUME_FILE")
    site.call("resume", "c2")
    site.wait(site.empty)
    assert [line.split()[1] for line in site.done()] == ["c2"]
    assert (site.spool / "log").read_text().count("it cannot be read") == 3
    assert "Traceback" not in (site.spool / "log").read_text()
    assert len(list((site.spool / "dead").glob("*.spool"))) == 1
    assert "State=DOWN" in (site.folder / "asked").read_text()


@pytest.mark.parametrize("seed", range(6))
def test_damaged_calls(site: Site, seed: int) -> None:
    """Whatever bytes a call has, it is delivered or becomes a dead letter, and the call after it is delivered."""
    draw = random.Random(seed)
    configured(site, "tries = 2\n")
    site.spool.mkdir(parents=True)
    whole = b"\0".join((b"c1", b"", b"7", b'{"jobs": [{"job_id": 7}]}'))
    for number in range(5):
        bad = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            bad[draw.randrange(len(bad))] = draw.choice(b'\0\xff9[]{"x')
        bad = bad[: draw.randint(0, len(bad))] if draw.random() < 0.5 else bad
        digits = draw.choice([b"", b"9" * 5000])
        record = segment("power.resume", time.time_ns(), bytes(bad).replace(b"7", digits or b"7"))
        (site.spool / f"{number:030}.spool").write_bytes(record)
    site.call("resume", "c2")
    site.wait(site.empty)
    assert any(line.startswith("resume c2 ") for line in site.done())
    assert "Traceback" not in (site.spool / "log").read_text()
    letters = len(list((site.spool / "dead").glob("*.spool")))
    assert letters + len([line for line in site.done() if line.startswith("resume ")]) == 6


def test_a_turn_that_ends_is_followed_by_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the process of a turn, the next one does not begin at once."""
    rests: list[float] = []
    left = iter([True, True, False])
    monkeypatch.setattr(process, "waits", lambda spool: next(left))
    monkeypatch.setattr(process, "in_child", lambda *_: process.Turn(failure="its process exited", watch=None))
    monkeypatch.setattr(process, "_rest", lambda seconds, *_: rests.append(seconds))
    monkeypatch.setattr(sources, "read_config", lambda: Config())
    process.deliver(tmp_path / "power", PowerDelivery)
    assert rests == [5.0, 5.0]
