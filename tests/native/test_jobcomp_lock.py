# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock of jobcomp/python, by which only one slurmctld delivers, in a stand-in for slurmctld."""

import fcntl
import os

import pytest

from tests.native.hosting import Host
from tests.native.test_jobcomp import ONE, Site

pytestmark = pytest.mark.slow


@pytest.fixture
def site(host: Host) -> Site:
    """A site on the stand-in host."""
    return Site(host)


def test_another_slurmctld_that_delivers(site: Site) -> None:
    """While another slurmctld has the lock nothing is delivered, and the log names it; its end lets records through."""
    site.hooks(ONE)
    site.spool.mkdir(0o700)
    name = site.spool / "lock"
    with name.open("w") as lock:
        lock.write("ctl1, process 7")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        def is_delivered() -> bool:
            if f"job_end waits for the lock {name} of ctl1, process 7" in (site.folder / "log").read_text():
                lock.close()
            assert lock.closed or not site.delivered
            return bool(site.delivered)

        run = site.run("job_end js", is_delivered)
    assert "this slurmctld delivers job_end" in run
    assert name.read_text().startswith(f"{os.uname().nodename}, process ")


def test_a_lock_that_cannot_be_had(site: Site) -> None:
    """The log says why nothing is delivered; records stay in the spool."""
    site.hooks(ONE)
    (site.spool / "lock").mkdir(0o700, parents=True)
    site.spool.chmod(0o700)
    line = f"job_end is not delivered: {site.spool}/lock: Is a directory"
    run = site.run("job_end js", lambda: line in (site.folder / "log").read_text())
    assert sum(line in text for _, text in run.log) == 1
    assert len(site.left()) == 1
    assert not site.delivered
