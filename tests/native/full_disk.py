# SPDX-License-Identifier: GPL-2.0-or-later
"""Fills a small disk with a spool, and delivers its records; test_spool_full.py runs this in a mount namespace.

Usage: full_disk.py SCENARIO FOLDER OPTIONS. OPTIONS are those of the tmpfs that is mounted on FOLDER.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from slurmhooks.config.sections import JobEnd
from slurmhooks.errors import Reject
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.hooks.points import HOOKS
from slurmhooks.jobcomp.delivery import Delivery
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.log import log
from slurmhooks.testing import FakeRecord
from slurmhooks.testing.tables import tables_of
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from tests.native.spooling import Writer

LANES = 8
SPOOL = 256 << 20


class Site:
    """A spool on a small disk, and a handler.

    Attributes:
        delivered: the jobs whose records the handler has got, in order.
        failing: jobs for which the handler fails.
        refused: jobs that the handler refuses.
    """

    def __init__(self, folder: Path) -> None:
        """Start a writer."""
        self.folder = folder / "spool"
        self.message = folder.with_name("message")
        self.tables = tables_of("24.11")
        self.delivered: list[int] = []
        self.failing: set[int] = set()
        self.refused: set[int] = set()
        self.lines: list[str] = []
        log.attach(lambda level, text: self.lines.append(text), lambda text: None)
        self.writer = Writer(self.folder, SPOOL)
        self.new_worker()

    def new_worker(self) -> None:
        """Begin to deliver as a worker that has just started does."""
        handler = Handler(self.handle, ("record",), HOOKS["job_end"], 50, False, (), "site:handle", __file__, 1)
        section = JobEnd(tries=3, backoff=0.01, backoff_limit=0.02)
        spool = Spool(self.folder)
        spool._tables[self.tables.identity] = self.tables
        self.delivery = Delivery(spool, Registry([handler], [], {}, [], {}), section)

    def handle(self, record: FakeRecord) -> None:
        """Take a record."""
        if record.job_id in self.refused:
            raise Reject("never")
        if record.job_id in self.failing:
            raise ConnectionError("no service")
        assert record.job_id is not None
        self.delivered.append(record.job_id)

    def append(self, job_id: int) -> bool:
        """Let slurmctld report the end of a job; tell whether its record was kept."""
        record = FakeRecord(release="24.11", job_id=job_id, name="x" * 500)._struct
        message = Message(Type.REQUEST, items=((self.tables.place("record"), record.data),)).encode(self.tables)
        self.message.write_bytes(message)
        return self.writer.append(job_id, f"@{self.message}")

    def fill(self, first: int) -> tuple[list[int], list[int]]:
        """Append records until the disk is full, and some more; return the jobs that were kept, and the others."""
        kept: list[int] = []
        lost: list[int] = []
        for job_id in range(first, first + 400):
            (kept if self.append(job_id) else lost).append(job_id)
            if len(lost) == 20:
                return kept, lost
        raise AssertionError("the disk is not small")

    def deliver(self, turns: int = 100) -> None:
        """Let each lane take some turns, with pauses in which failed records become due; until nothing is left."""
        for turn in range(turns):
            for lane in range(LANES):
                while self.delivery.turn(lane, LANES, None) == 0:
                    pass
            if turn > 2 and not list(self.delivery._spool.records()):
                return
            time.sleep(0.01)

    def lost(self) -> list[int]:
        """Return the jobs in lost.jsonl."""
        return [each["job_id"] for each in Spool(self.folder).lost()]


def all_records(site: Site) -> None:
    """All records that were kept are delivered once, all others are in lost.jsonl, and delivery alone makes room."""
    delivered: list[int] = []
    lost: list[int] = []
    for first in (1, 1001, 2001):
        kept, gone = site.fill(first)
        assert len(kept) > 5, kept
        delivered += kept
        lost += gone
        assert site.lost() == lost
        site.deliver()
        assert sorted(site.delivered) == delivered, (site.delivered, delivered, site.lines)
    assert site.append(3001)
    site.deliver()
    assert site.delivered[-1] == 3001
    assert not [line for line in site.lines if "no complete records" in line]


def many_losses(site: Site) -> None:
    """If even lost.jsonl is full, its lines stay complete; a slurmctld that starts with room lists losses again."""
    site.fill(1)
    before, count = -1, 0
    while before < len(site.lost()):
        before = len(site.lost())
        for _ in range(100):
            count += 1
            assert not site.append(5000 + count)
    assert before < count
    site.deliver()
    site.writer.end()
    site.writer = Writer(site.folder, SPOOL)
    _, lost = site.fill(9001)
    assert site.lost()[before:] == lost
    for line in (site.folder / "lost.jsonl").read_text().splitlines():
        json.loads(line)


def state_in_memory(site: Site) -> None:
    """What became of a record while the disk was full is written once there is room, without another delivery."""
    kept, _ = site.fill(1)
    site.delivery.turn(kept[0] % LANES, LANES, None)
    assert site.delivered == kept[:1]
    states = sum(path.stat().st_size for path in site.folder.glob("*.state"))
    (site.folder / "lost.jsonl").unlink()
    site.delivery._spool.refresh()
    assert sum(path.stat().st_size for path in site.folder.glob("*.state")) > states
    site.new_worker()
    site.deliver()
    assert sorted(site.delivered) == kept


def after_a_restart(site: Site) -> None:
    """A slurmctld that starts on a full disk delivers what is there, and keeps new records once there is room."""
    kept, _ = site.fill(1)
    site.writer.kill()
    site.writer = Writer(site.folder, SPOOL)
    assert not site.append(900)
    assert site.lost()[-1] == 900
    site.new_worker()
    site.deliver()
    assert sorted(site.delivered) == kept
    assert site.append(901)
    site.deliver()
    assert site.delivered[-1] == 901


def failures(site: Site) -> None:
    """Records that fail wait, or become dead letters if there is room; all others are delivered.

    There is room for new ones then, unless dead letters have taken it, and again without these.
    """
    site.failing = {1, 2, 3}
    site.refused = {4}
    kept, _ = site.fill(1)
    site.deliver()
    assert sorted(site.delivered) == kept[4:], (site.delivered, site.lines[-5:])
    if site.append(901):
        kept.append(901)
    else:  # on a slow machine, the dead letters have taken the room first
        assert site.lost()[-1] == 901, site.lines[-5:]
        assert list(site.delivery._spool.letters())
    site.failing = set()
    site.deliver()
    letters = [int(letter["job_id"]) for letter in site.delivery._spool.letters()]
    left = [record.frame.job_id for record in site.delivery._spool.records()]
    assert sorted(site.delivered + letters + left) == kept, (site.delivered, letters, left)
    assert set(left) <= {1, 2, 3, 4}  # the disk has no inode for the dead letter
    for path in (site.folder / "dead").glob("*"):
        path.unlink()
    assert site.append(902)
    site.deliver()
    assert site.delivered[-1] == 902
    assert sorted(site.delivered) == sorted({*site.delivered})


if __name__ == "__main__":
    scenario, path, options = sys.argv[1:]
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
    site = Site(Path(path))
    try:
        globals()[scenario](site)
    finally:
        site.writer.process.kill()
        site.writer.process.communicate()
