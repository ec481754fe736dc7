# SPDX-License-Identifier: GPL-2.0-or-later
"""Power calls on a full disk; test_power_machine.py runs this in a mount namespace.

Usage: full_disk.py SCENARIO FOLDER. SCENARIO is one of the functions.
"""

import json
import sys
from pathlib import Path

import pytest

from slurmhooks import namespaces
from slurmhooks.handover import program
from tests.sets import put_in_force
from tests.unit.power.sites import Site

BLOCK = 4096
SAID = "no power call is delivered: [Errno 28] No space left on device"


def fill(site: Site) -> Path:
    """Fill the disk of the spool, on which only existing files have room until their blocks end."""
    filler = site.folder / "state/filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(BLOCK))
        except OSError:
            return filler


def state_that_cannot_be_written(site: Site, nodes: str = "c1", runs: int = 1) -> None:
    """No handler runs, the log says why, and the process goes on; it delivers when there is room."""
    program.keep(str(site.spool), "power.resume", nodes)
    (site.spool / "log").write_text("\n")
    filler = fill(site)
    site.start()
    site.wait(lambda: SAID in (site.spool / "log").read_text())
    assert site.processes()
    assert site.notes() == []
    filler.unlink()
    site.wait(site.empty)
    assert len([line for line in site.notes() if line.startswith("begin")]) == runs


def handler_that_ends_its_process(site: Site) -> None:
    """Its attempts are counted, as on any disk."""
    state_that_cannot_be_written(site, "gone", 3)


def end_that_cannot_be_written(site: Site) -> None:
    """A call whose handler has passed is not delivered again, although the disk has become full meanwhile."""
    program.keep(str(site.spool), "power.resume", "c1")
    (segment,) = site.spool.glob("*.spool")
    begun, passed = (len(json.dumps([24, what, "hooks:resume"], separators=(",", ":"))) for what in ("begun", "passed"))
    segment.with_suffix(".state").write_bytes(b"\n" * (BLOCK - begun - passed - 2))
    (site.spool / "log").write_text("\n")
    fill(site)
    site.start()
    site.wait(site.empty)
    assert [line.split()[0] for line in site.notes()] == ["begin", "resume"]


def log_that_cannot_be_written(site: Site) -> None:
    """The process goes on, and delivers when there is room."""
    program.keep(str(site.spool), "power.resume", "c1")
    (site.spool / "log").write_bytes(b"x" * BLOCK)
    other, following = site.folder / "other", site.folder / "following"
    other.mkdir()
    (other / "slurmhooks.toml").symlink_to("../slurmhooks.toml")
    following.symlink_to("other")
    filler, loads = fill(site), site.folder / "loads"
    for number in (1, 2):  # the second load shows that the process goes on after it could not log the first error
        (site.folder / "hooks.py").write_text(f"open('{loads}', 'a').write('x')\nraise OSError('no cloud {number}')\n")
        if number == 1:
            site.start()
        else:
            following.rename(site.folder / "slurmhooks.set")  # another set is in force
        site.wait(lambda number=number: loads.exists() and len(loads.read_text()) == number)  # type: ignore[misc]
    filler.unlink()
    site.hooks()
    (site.folder / "slurmhooks.set").unlink()
    put_in_force(site.folder)
    site.wait(site.empty)


def call_that_cannot_be_kept(site: Site) -> None:
    """The program fails with one line."""
    filler = fill(site)
    site.call("resume", "c1", code=1)
    filler.unlink()


def main(scenario: str, folder: str) -> None:
    """Run a scenario."""
    with pytest.MonkeyPatch.context() as patch:
        site = Site(Path(folder), patch)
        config = site.folder / "slurmhooks.toml"
        config.write_text(f"{config.read_text()}tries = 3\n")
        namespaces.tmpfs(site.folder / "state", size="64k")
        try:
            globals()[scenario](site)
        finally:
            site.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
