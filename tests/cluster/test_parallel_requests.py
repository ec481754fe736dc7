# SPDX-License-Identifier: GPL-2.0-or-later
"""How many requests slurmctld of each release gives to its plugins at once: `workers` cannot give more."""

import pytest

from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

WORKERS = 8
NOTES = "/var/log/slurm/turns"
HOOKS = f"""
import os, time
from slurmhooks import hook

def note(word):
    fd = os.open("{NOTES}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, word)
    os.close(fd)

@hook.job_submit
def slow(job):
    note(b"+")
    time.sleep(1)
    note(b"-")
"""
TOML = f'[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nworkers = {WORKERS}\ntimeout = 9\n'
SUBMIT = f"for i in $(seq {WORKERS}); do sbatch --hold --wrap=true & done; wait"


def at_once(cluster: Cluster, parameters: str) -> int:
    """Return how many requests of as many users' commands handlers have had at the same time."""
    more = f"SlurmctldParameters={parameters}\n" if parameters else ""
    cluster.put(f"JobSubmitPlugins=python\nMessageTimeout=60\n{more}", "/etc/slurm/local.conf")
    cluster.restart()
    cluster.wait(lambda: "Submitted" in cluster.user("alice", "sbatch", "--hold", "--wrap=true").stdout, what="hooks")
    cluster.root("rm", NOTES, check=True)
    done = cluster.user("alice", "sh", "-c", SUBMIT, check=True)
    assert done.stdout.count("Submitted") == WORKERS, done.stderr
    turns = cluster.root("cat", NOTES, check=True).stdout
    assert turns.count("+") == turns.count("-") == WORKERS
    running = most = 0
    for turn in turns:
        running += 1 if turn == "+" else -1
        most = max(most, running)
    print(f"SLURMHOOKS: {cluster.release} {parameters}: {most} at once")  # noqa: T201 - for docs/operating.md
    return most


def test_requests_at_once(cluster: Cluster) -> None:
    """22.05 asks for one request after the other, later releases for several, as many as they have threads."""
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    if cluster.version < (24, 11):
        assert at_once(cluster, "") == 1
        return
    assert 1 < at_once(cluster, "") <= WORKERS
    assert at_once(cluster, "conmgr_threads=3") <= 3
    assert at_once(cluster, "conmgr_threads=32") > 4
