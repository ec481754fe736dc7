# SPDX-License-Identifier: GPL-2.0-or-later
"""Two controllers that share StateSaveLocation: the policy holds while one takes over from the other."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import HOOKS_D, TOML, Site
from tests.cluster.standby import LOGS, Standby, standby

STAY = {"test_the_policy_holds"}

SUBMIT = Path(__file__).parents[1] / "bench" / "files" / "submit.c"
SHARED = "/var/lib/slurm/ended"
"""The deliveries of job_end, on a file system that both controllers have."""
CLIENTS = 8
HOOKS = f"""
@hook.job_submit
def limit(job):
    if job.name != "taken":
        raise Reject("only jobs with the name taken")
    job.comment = "seen"

@hook.job_end
def ended(event):
    with open("{SHARED}", "a") as file:
        file.write(event.id + "\\n")
"""
CONFIG = """
[hooks]
paths = ["hooks.d/*.py"]
[jobcomp]
backoff = 0.2
[metrics]
textfiles = "/var/log/slurm"
interval = 1.0
"""
SLOW = 100.0
"""Seconds in which a controller must take over; a primary that returns needs 30 by Slurm's own doing."""


@pytest.fixture(scope="module")
def pair(cluster: Cluster) -> Iterator[tuple[Site, Standby]]:
    """A cluster with two controllers, a policy, and deliveries of job_end."""
    site = Site(cluster)
    site.reset()
    cluster.put(SUBMIT, "/opt/submit.c")
    site.shell(f"gcc -O1 /opt/submit.c -o /opt/submit -lslurm; install -o slurm /dev/null {SHARED}", user="root")
    cluster.put(CONFIG, TOML)
    site.hooks(HOOKS)
    site.conf("JobSubmitPlugins=python\nJobCompType=jobcomp/python\n")
    with standby(cluster) as other:
        other.lend_ssh()
        yield site, other


def counted(site: Site, folder: str = "/var/log/slurm") -> float:
    """Return how many requests the metrics of a controller count."""
    lines = site.run("cat", f"{folder}/slurmhooks_job_submit.prom", user="root").stdout.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("slurmhooks_requests_total{"))


class Load:
    """Users who submit all the time, half of them what the policy forbids; counts accepted jobs of both kinds."""

    def __init__(self, site: Site) -> None:
        self.taken = self.wrong = 0
        self._site = site
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._submit, args=(name,)) for name in ("taken", "refused") * (CLIENTS // 2)
        ]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def more(self, what: str) -> None:
        """Wait until further jobs are accepted."""
        before = self.taken
        self._site.cluster.wait(lambda: self.taken > before + CLIENTS, timeout=SLOW, what=f"jobs after {what}")

    def _submit(self, name: str) -> None:
        while not self._stop.is_set():
            done = self._site.run("/opt/submit", "5", name)
            match = re.fullmatch(r"(\d+) taken, (\d+) refused\n", done.stdout)
            if match and name == "taken":
                self.taken += int(match[1])
            elif match:
                self.wrong += int(match[1])
            time.sleep(0.5)  # or MaxJobCount is soon reached


def takeover(site: Site, other: Standby, load: Load) -> None:
    """An administrator moves control."""
    site.shell("scontrol takeover", user="root")
    site.cluster.wait(other.serves, timeout=SLOW, what="takeover")
    load.more("the takeover")
    job = site.submit("-J", "taken")
    said = site.said("slurmhooks", "why", job, "--from", "ctl2", user="root")
    assert "job_submit of alice (name taken" in said
    site.cluster.wait(lambda: counted(site, LOGS) > 0, what="metrics of the standby")


def killed(site: Site, other: Standby, load: Load) -> None:
    """The primary dies."""
    site.shell("kill -9 $(cat /run/slurmctld.pid)", user="root")
    site.cluster.wait(other.serves, timeout=SLOW, what="takeover")
    load.more("the end of the primary")


def stopped(site: Site, other: Standby, load: Load) -> None:
    """The primary hangs, so that the standby takes over; then it goes on, and both are in control."""
    site.shell("kill -STOP $(cat /run/slurmctld.pid)", user="root")
    # Commands go on asking the primary, whose kernel takes their connections.
    site.cluster.wait(other.serves, timeout=SLOW, what="takeover")
    holder = re.compile(r"job_end waits for the lock /\S+/slurmhooks/lock of ctl, process \d+")
    site.cluster.wait(lambda: holder.search(other.log()), timeout=SLOW, what="line about the lock")
    site.shell("kill -CONT $(cat /run/slurmctld.pid)", user="root")
    load.more("the awakening of the primary")
    site.shell("kill -9 $(cat /run/slurmctld.pid)", user="root")


def may_hang(site: Site) -> bool:
    """Tell whether a standby that gives up control may hang.

    One of 26.05.5 may wait for ever in conmgr_quiesce() while users submit, also without plugins of slurmhooks.
    """
    return site.release >= (26, 5)


def bring_back(site: Site, other: Standby) -> None:
    """Start the primary again; it takes back control."""
    if may_hang(site):
        other.run("kill -9 $(cat /run/slurmctld.pid)")
    site.shell("slurmctld", user="root")
    if may_hang(site):
        other.start()
    site.cluster.wait(lambda: not other.serves(), timeout=SLOW, what="return of the primary")


@pytest.mark.one_release("24.11")
@pytest.mark.parametrize(
    "handover",
    [takeover, *(pytest.param(each, marks=pytest.mark.soak) for each in (killed, stopped))],
    ids=lambda handover: handover.__name__,
)
def test_the_policy_holds(pair: tuple[Site, Standby], handover: Callable[[Site, Standby, Load], None]) -> None:
    """No request passes without the policy, and each end of a job is delivered once, whoever is in control."""
    site, other = pair
    site.shell(f": > {SHARED}", user="root")
    with Load(site) as load:
        load.more("the start")
        handover(site, other, load)
        bring_back(site, other)
        load.more("the return of the primary")
    assert load.wrong == 0
    jobs = set(site.said("squeue", "-h", "-o", "%A %j|%k", user="root").splitlines())
    assert {line.split()[1] for line in jobs} == {"taken|seen"}
    if handover is takeover and not may_hang(site):
        assert len(jobs) >= load.taken  # only a killed slurmctld may lose one
    site.shell("scancel -u alice")

    def delivered() -> list[str]:
        return site.shell(f"cat {SHARED}", user="root").splitlines()

    def is_delivered() -> bool:
        # Without Slurm's sources, ids of records do not name the job.
        ended = {line.split(".")[0] for line in delivered()}
        return (
            {line.split()[0] for line in jobs} <= ended if site.cluster.has_sources else len(delivered()) >= len(jobs)
        )

    site.cluster.wait(is_delivered, timeout=SLOW, what="deliveries")
    found = delivered()
    assert len(found) == len(set(found))


@pytest.mark.one_release("24.11")
def test_metrics_of_each_controller(pair: tuple[Site, Standby]) -> None:
    """The controller that decides about a request counts it, and only that one, so that both add up."""
    site, _ = pair
    here, there = counted(site), counted(site, LOGS)
    site.submit("-J", "taken")
    site.cluster.wait(lambda: counted(site) > here, what="metrics")
    assert counted(site, LOGS) == there
    site.shell("scancel -u alice")


@pytest.mark.one_release("24.11")
def test_other_files_on_the_standby(pair: tuple[Site, Standby]) -> None:
    """Status names the other controller, and finds that it would enforce another policy, before it takes over."""
    site, other = pair
    assert "ctl2: another controller of this cluster, not asked" in site.said("slurmhooks", "status", user="root")
    same = site.run("slurmhooks", "status", "--from", "ctl2", user="root")
    assert same.returncode == 0, same.stdout + same.stderr
    assert re.search(r"^ctl2: slurmctld, job_submit .* current ", same.stdout, re.MULTILINE)
    other.run("cp -a /etc/slurm /run/other && mount --bind /run/other /etc/slurm")
    try:
        other.run(f"echo '# edited' >> {HOOKS_D}/life.py; slurmhooks deploy")
        differs = site.run("slurmhooks", "status", "--from", "ctl2", user="root")
        assert differs.returncode == 1
        assert re.search(r"error: ctl2: has [0-9a-f]{16} instead", differs.stderr), differs.stderr
    finally:
        other.run("umount -l /etc/slurm")
