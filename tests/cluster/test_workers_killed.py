# SPDX-License-Identifier: GPL-2.0-or-later
"""A real slurmctld whose workers, generations and supervisor are killed at random while users submit."""

import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster

SOURCE = Path(__file__).parents[1] / "bench" / "files" / "submit.c"
HOOKS = """
from slurmhooks import Reject, hook

@hook.job_submit
def policy(job):
    if job.name == "refused":
        raise Reject("refused by the policy")
    job.comment = "seen by the policy"
"""
CLIENTS = 8
EACH = 1250
"""Submissions of each client."""
KILLED = {"slurmhooks-work": 20, "slurmhooks-gen": 4, "slurmhooks-sup": 1}
"""Names of processes, with their weights: a supervisor that ends repeatedly is restarted after growing pauses."""
PAUSE = 0.3
"""Seconds between two kills, on average."""


@pytest.mark.soak
def test_killed_at_random(cluster: Cluster) -> None:
    """Of 10,000 submissions by 8 clients, none is lost or accepted against the policy, and slurmctld keeps running."""
    cluster.put(SOURCE, "/opt/submit.c")
    cluster.root("gcc", "-O1", "/opt/submit.c", "-o", "/opt/submit", "-lslurm", check=True)
    cluster.put("JobSubmitPlugins=python\nMaxJobCount=50000\nSlurmctldDebug=info\n", "/etc/slurm/local.conf")
    toml = '[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nworkers = 2\n'
    cluster.put(toml, "/etc/slurm/slurmhooks.toml")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/killed.py")
    cluster.restart()
    cluster.wait(lambda: cluster.user("alice", "/opt/submit", "1", "taken").stdout.startswith("1 taken"), what="policy")
    pid = cluster.root("cat", "/run/slurmctld.pid").stdout
    descriptors = count(cluster, pid)

    def submit(name: str) -> tuple[int, int]:
        done = cluster.user("alice", "/opt/submit", str(EACH), name, timeout=600)
        match = re.fullmatch(r"(\d+) taken, (\d+) refused\n", done.stdout)
        assert match, done.stdout + done.stderr
        return int(match[1]), int(match[2])

    kills = 0
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(submit, "refused" if number % 2 else "taken") for number in range(CLIENTS)]
        while not all(each.done() for each in running):
            (name,) = random.choices(list(KILLED), list(KILLED.values()))
            cluster.root("sh", "-c", f"pgrep -x {name} | shuf -n 1 | xargs -r kill -9")
            kills += 1
            time.sleep(random.expovariate(1 / PAUSE))
        results = [each.result() for each in running]
    figures = f"Slurm {cluster.release}: {kills} kills; taken and refused, by client: {results}"
    print(f"\n{figures}")  # noqa: T201 - what make soak is for
    assert all(taken + refused == EACH for taken, refused in results)
    assert [taken for taken, _ in results[1::2]] == [0] * (CLIENTS // 2)
    assert kills > CLIENTS
    jobs = cluster.root("squeue", "-h", "-o", "%j|%k", timeout=120).stdout.split("\n")[:-1]
    assert set(jobs) == {"taken|seen by the policy"}
    assert len(jobs) == 1 + sum(taken for taken, _ in results)
    # Most are accepted: a killed process costs its running requests and a short time.
    assert len(jobs) > CLIENTS // 2 * EACH // 2
    assert cluster.root("cat", "/run/slurmctld.pid").stdout == pid
    cluster.wait(lambda: count(cluster, pid) <= descriptors, 60, "return to as many descriptors as before")


def count(cluster: Cluster, pid: str) -> int:
    """Return the number of slurmctld's descriptors."""
    return len(cluster.root("ls", f"/proc/{pid.strip()}/fd", check=True).stdout.split())
