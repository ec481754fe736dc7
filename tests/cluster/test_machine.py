# SPDX-License-Identifier: GPL-2.0-or-later
"""A real slurmctld on a machine with file systems that hang or are full, and whose processes are killed."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import TOML, Site

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.stopped]

MOUNT = Path(__file__).parent / "stuck_mount.py"
SUBMIT = Path(__file__).parents[1] / "bench" / "files" / "submit.c"
DECISIONS = "/var/log/slurm/slurmhooks"
SET = "/etc/slurm/slurmhooks.set"
SETS = "/etc/slurm/slurmhooks.d/sets"
HANDLER = """
@hook.job_submit
def limit(job):
    if job.name != "taken":
        raise Reject("version {}")
    job.comment = "seen"
"""
JOB_END = "@hook.job_end\ndef ended(event): pass\n"
HELD = """
import os

@hook.job_end
def ended(event):
    if os.path.exists("{hold}"):
        raise ConnectionError("held")
    with open("{ended}", "a") as file:
        file.write(event.id + "\\n")
"""
SPOOL = "/var/lib/slurm/tiny"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """The cluster with a policy; users' commands have no hooks."""
    site = Site(cluster)
    cluster.put("", "/etc/slurm/plugstack.conf")
    cluster.put(MOUNT, "/opt/stuck_mount.py")
    site.clear()
    site.conf("JobSubmitPlugins=python\n")
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    return site


@contextlib.contextmanager
def stuck(site: Site, path: str) -> Iterator[None]:
    """Make the file system of a file or folder stop answering."""
    file = f"/root/stuck-{path.rpartition('/')[2]}"
    # The shell opens the file only after it has returned: an earlier process id must not be taken for the new one.
    site.shell(f"rm -f {file}; setsid python3 /opt/stuck_mount.py {path} > {file} 2>&1 &", user="root")

    def output() -> str:
        return site.shell(f"cat {file} 2>/dev/null || true", user="root").strip()

    site.cluster.wait(output, what="file system")
    pid = output()
    if "No such device" in pid:
        pytest.skip(f"NOT TESTED: this kernel has no FUSE: {pid}")
    assert pid.isdecimal(), pid
    try:
        yield
    finally:
        site.shell(f"kill {pid}", user="root")
        site.cluster.wait(lambda: f"stuck {path} " not in site.shell("cat /proc/mounts"), what="end of the file system")


def names(site: Site) -> list[str]:
    """Return the names of all processes of slurmhooks."""
    return site.shell("ps -e -o comm= | grep ^slurmhooks- || true", user="root").split()


def kill_workers(site: Site) -> None:
    """Kill the workers, and wait for their end."""
    killed = site.shell("pgrep -x slurmhooks-work | tee /dev/stderr | xargs kill -9", user="root").split()
    site.cluster.wait(lambda: not set(killed) & set(site.shell("pgrep -x slurmhooks-work || true").split()))


def test_a_file_system_that_does_not_answer(site: Site) -> None:
    """The set in force continues to answer, even if its workers end.

    Another set takes effect once the file system answers.
    """
    with switched_while_stuck(site):
        kill_workers(site)
        assert "version 2" in site.refused()
        assert len(found := names(site)) <= 4, found
    site.cluster.wait(lambda: "version 1" in site.refused(), what="other set")


@contextlib.contextmanager
def switched_while_stuck(site: Site) -> Iterator[None]:
    """Put "version 1" in force instead of "version 2" while the folder of all sets does not answer."""
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    first = site.shell(f"readlink {SET}", user="root").strip()
    site.hooks(HANDLER.format(2))
    assert "version 2" in site.refused()
    with stuck(site, SETS), stuck(site, DECISIONS):
        site.shell(f"ln -s {first} {SET}.new; mv -T {SET}.new {SET}", user="root")
        states = "grep -h ^State /proc/$(pgrep -xo slurmhooks-sup)/task/*/status"
        site.cluster.wait(lambda: "disk sleep" in site.shell(states, user="root"), what="thread that waits")
        yield


def test_folders_that_cannot_be_written(site: Site) -> None:
    """Requests, new processes and commands need neither /tmp nor /run nor /dev/shm."""
    site.hooks(HANDLER.format(1))
    site.shell("for folder in /tmp /run /dev/shm; do mount --bind -o ro $folder $folder; done", user="root")
    try:
        assert "Read-only" in site.said("touch", "/run/file", user="root")
        site.shell("pgrep -x slurmhooks-sup | xargs kill -9", user="root")
        site.cluster.wait(lambda: "version 1" in site.refused(), what="policy")
        site.hooks(HANDLER.format(2))
        assert "version 2" in site.refused()
        assert site.run("slurmhooks", "info", user="root").returncode == 0
    finally:
        site.shell("for folder in /tmp /run /dev/shm; do umount -l $folder; done", user="root")


def test_nothing_waits_for_a_dead_slurmctld(site: Site) -> None:
    """After kill -9 of slurmctld, processes that wait for a file system that does not answer end as well."""
    with switched_while_stuck(site):
        site.shell("kill -9 $(cat /run/slurmctld.pid)", user="root")
        site.cluster.wait(lambda: not names(site), what="end of all processes")
    site.cluster.restart()
    site.cluster.wait(lambda: "version" in site.refused(), what="policy")


def test_slurmctld_is_killed_while_users_submit(site: Site) -> None:
    """Each new slurmctld has the policy in force from its first request, and nothing is left of the old one."""
    site.hooks(HANDLER.format(1))
    site.cluster.put(SUBMIT, "/opt/submit.c")
    site.shell("gcc -O1 /opt/submit.c -o /opt/submit -lslurm", user="root")
    stop = threading.Event()
    results: list[tuple[str, int]] = []

    def submit(name: str) -> None:
        while not stop.is_set():
            done = site.run("/opt/submit", "20", name)
            match = re.fullmatch(r"(\d+) taken, (\d+) refused\n", done.stdout)
            assert match, done.stdout + done.stderr
            results.append((name, int(match[1])))

    clients = [threading.Thread(target=submit, args=(name,)) for name in ("taken", "refused")]
    for client in clients:
        client.start()
    try:
        for _ in range(2):
            before = len(results)
            site.cluster.wait(lambda: len(results) > before + 2, what="answers")  # noqa: B023 - called here
            site.shell("kill -9 $(cat /run/slurmctld.pid)", user="root")
            site.cluster.wait(lambda: not names(site), what="end of all processes")
            assert "@slurmhooks-" not in site.shell("cat /proc/net/unix", user="root")
            site.cluster.restart()
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert sum(taken for name, taken in results if name == "refused") == 0
    assert sum(taken for name, taken in results if name == "taken") > 0
    jobs = set(site.said("squeue", "-h", "-o", "%j|%k", user="root").splitlines())
    assert jobs == {"taken|seen"}


def test_a_full_disk(site: Site) -> None:
    """Requests are answered and slurmctld continues while decision log and spool are full; the log names both."""
    site.shell(f"install -d -o slurm -m 700 {SPOOL} {DECISIONS}", user="root")
    tiny = "mount -t tmpfs -o size=1m,mode=700,uid=$(id -u slurm) none"
    fill = "head -c 2M /dev/zero > {0}/filler || true"
    try:
        site.shell(f"{tiny} {SPOOL}", user="root")
        toml = f'[hooks]\npaths = ["hooks.d/*.py"]\n[jobcomp]\nspool = "{SPOOL}"\n'
        site.cluster.put(toml, TOML)
        site.hooks(HANDLER.format(1) + JOB_END)
        site.conf("JobSubmitPlugins=python\nJobCompType=jobcomp/python\n")
        # Only now: the collector that the restart has ended may still have had lines to write.
        site.shell(f"{tiny} {DECISIONS}; {fill.format(SPOOL)}; {fill.format(DECISIONS)}", user="root")
        for _ in range(5):
            site.shell("scancel " + site.submit("-J", "taken"))
        assert "version 1" in site.refused()
        site.cluster.wait(lambda: "the decision log cannot be written" in site.logged(), what="error")
        shown = site.cluster.root("slurmhooks", "status")
        assert shown.returncode == 1
        assert f"slurmctld, job_submit: {DECISIONS}/job_submit.jsonl: the decision log cannot be" in shown.stderr
        assert re.search(r"records were not kept, the last of them for JobId=\d+: No space left", site.logged())
        site.shell(f"rm {SPOOL}/filler {DECISIONS}/filler", user="root")
        job = site.submit("-J", "taken")
        site.shell(f"scancel {job}")
        assert "version 1" in site.refused()

        def last() -> str:
            lines = site.shell(f"tail -n 1 {DECISIONS}/job_submit.jsonl 2>/dev/null || true", user="root").strip()
            return str(json.loads(lines or "{}").get("verdict"))

        site.cluster.wait(lambda: last() == "refused", what="line of the decision log")
        assert "the decision log cannot be" not in site.cluster.root("slurmhooks", "status").stderr
    finally:
        site.shell(
            f"for folder in {SPOOL} {DECISIONS}; do ! mountpoint -q $folder || umount -l $folder; done", user="root"
        )


@pytest.mark.moved
def test_a_disk_that_the_spool_has_filled(site: Site) -> None:
    """Records that were kept are delivered once, lost.jsonl has a line for each other job, and delivery makes room."""
    hold, ended = "/run/hold_job_end", "/var/log/slurm/ended"
    jobs = 45

    def lines(path: str) -> list[str]:
        return site.shell(f"cat {path} 2>/dev/null || true", user="root").splitlines()

    site.shell("scancel -u alice")  # jobs of other tests
    site.cluster.wait(lambda: not site.said("squeue", "--noheader"), what="the end of all jobs")
    site.shell(f"install -d -o slurm -m 700 {SPOOL}; rm -f {ended}; touch {hold}", user="root")
    try:
        site.shell(f"mount -t tmpfs -o size=64k,nr_inodes=12,mode=700,uid=$(id -u slurm) none {SPOOL}", user="root")
        settings = "backoff = 0.2\nbackoff_limit = 0.5\ntries = 1000"
        site.cluster.put(f'[hooks]\npaths = ["hooks.d/*.py"]\n[jobcomp]\nspool = "{SPOOL}"\n{settings}\n', TOML)
        site.hooks(HANDLER.format(1) + HELD.format(hold=hold, ended=ended))
        site.conf("JobSubmitPlugins=python\nJobCompType=jobcomp/python\n")
        site.cluster.wait(lambda: "version 1" in site.refused(), what="handlers")
        # Small records leave no room on the disk, not even for a line of lost.jsonl.
        submit = "sbatch -H -J taken -o /dev/null --wrap true"
        site.shell(f"for i in $(seq {jobs}); do {submit}; done; scancel -u alice")
        site.cluster.wait(lambda: "records were not kept" in site.logged(), what="full disk")
        site.shell(f"rm {hold}", user="root")
        site.cluster.wait(lambda: len(lines(ended)) + len(lines(f"{SPOOL}/lost.jsonl")) >= jobs, what="deliveries")
        assert len(lines(ended)) > 5
        site.shell("scancel " + site.submit("-J", "taken"))
        site.cluster.wait(lambda: len(lines(ended)) + len(lines(f"{SPOOL}/lost.jsonl")) > jobs, what="delivery")
        delivered = lines(ended)
        assert len(delivered) + len(lines(f"{SPOOL}/lost.jsonl")) == jobs + 1
        assert len(set(delivered)) == len(delivered)
    finally:
        site.shell(f"rm -f {hold}; ! mountpoint -q {SPOOL} || umount -l {SPOOL}", user="root")
