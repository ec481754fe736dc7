# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile handlers and killed processes in a real slurmctld with workers."""

import pytest

from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HOOKS = """
import ctypes, os, signal, sys, time
from slurmhooks import Reject, hook

@hook.job_submit
def policy(job):
    if job.comment == "refused":
        raise Reject("refused by the policy")
    if job.comment is not None:
        exec(job.comment)
"""
HOOKS_FILE = "/etc/slurm/hooks.d/workers.py"
UNANSWERED = "the job_submit hooks did not answer (error "
FAILED = "job_submit handler workers:policy failed (error "
HOSTILE = {
    "time.sleep(1000)": UNANSWERED,
    "ctypes.PyDLL(None).sleep(1000)": UNANSWERED,
    "os.kill(os.getpid(), signal.SIGSTOP)": UNANSWERED,
    "exec('while True: os.fork()')": UNANSWERED,
    "ctypes.string_at(0)": UNANSWERED,
    "os._exit(3)": UNANSWERED,
    "os.closerange(0, 65536)": UNANSWERED,
    "sys.exit(4)": FAILED,
    "bytearray(1 << 40)": FAILED,
    "os.write(2, b'x' * (10 << 20))": "Submitted",
}
# slurmctld is called slurmctld-wlm after 'scontrol reconfigure'; the supervisor's parent is slurmctld.
SLURMCTLD = "slurmctld=$(awk '{print $4}' /proc/$(pgrep -xo slurmhooks-sup)/stat)"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """The cluster with a policy and a short deadline."""
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\ntimeout = 2\n', "/etc/slurm/slurmhooks.toml")
    cluster.put(HOOKS, HOOKS_FILE)
    cluster.restart()
    serves(cluster)
    return cluster


def submit(cluster: Cluster, *options: str) -> str:
    """Return the output of sbatch for alice."""
    done = cluster.user("alice", "sbatch", "--hold", *options, "--wrap=true")
    return f"{done.stdout}{done.stderr}"


def serves(cluster: Cluster) -> None:
    """Wait until the policy is in force."""
    cluster.wait(lambda: "refused by the policy" in submit(cluster, "--comment=refused"), what="the policy")


def test_components_share_the_time_of_a_job(site: Cluster) -> None:
    """sbatch waits once for all components, so they share one time limit; other jobs have their own."""
    slow = "--comment=time.sleep(0.9)"

    def submitted(components: int) -> str:
        more = [word for _ in range(components - 1) for word in (":", slow, "-n1")]
        done = site.user("alice", "sbatch", "--hold", "--wrap=true", slow, "-n1", *more)
        return f"{done.stdout}{done.stderr}"

    assert UNANSWERED in submitted(4)
    assert "Submitted" in submitted(1)
    assert "Submitted" in submitted(2)


def facts(cluster: Cluster) -> str:
    """Return the number of slurmctld's descriptors."""
    return cluster.shell(f"{SLURMCTLD}; ls /proc/$slurmctld/fd | wc -l")


def test_rights(site: Cluster) -> None:
    """Workers belong to SlurmUser, and setuid programs give them no rights; the supervisor keeps those of slurmctld."""
    status = "cat /proc/$(pgrep -xn {})/status"
    slurm = site.shell("id -u slurm")
    for name, nnp in (("slurmhooks-work", "1"), ("slurmhooks-gen", "1"), ("slurmhooks-sup", "0")):
        lines = dict(line.split(":\t", 1) for line in site.shell(status.format(name)).splitlines() if ":\t" in line)
        assert (lines["NoNewPrivs"], set(lines["Uid"].split())) == (nnp, {slurm}), name


def test_hostile_handlers(site: Cluster) -> None:
    """Each request gets one line, the log names the handler, the next request is served; slurmctld has no Python."""
    assert site.shell(f"{SLURMCTLD}; grep -c libpython /proc/$slurmctld/maps || true") == "0"
    before = facts(site)
    for code, line in HOSTILE.items():
        assert line in submit(site, f"--comment={code}"), code
        assert "Submitted" in submit(site), code
        assert "refused by the policy" in submit(site, "--comment=refused"), code
    for line in ("missed the deadline in workers:policy; it was killed", "was killed by signal 11"):
        site.wait(lambda line=line: line in site.log(), what=line)  # type: ignore[misc]
    site.wait(lambda: facts(site) == before, what="that slurmctld has as many descriptors as before")


def test_killed_processes(site: Cluster) -> None:
    """After kill -9 of a worker, a generation or the supervisor, the policy is in force again by itself."""
    before = facts(site)
    for name in ("work", "gen", "sup"):
        victim = site.shell(f"pgrep -xo slurmhooks-{name}")
        site.shell(f"kill -9 {victim}")
        site.wait(lambda: victim not in site.shell("pgrep slurmhooks- || true").split(), what="its end")  # noqa: B023
        serves(site)
    site.wait(lambda: facts(site) == before, what="that slurmctld has as many descriptors as before")


def test_deployments(site: Cluster) -> None:
    """When `slurmhooks deploy` has returned, the new file is in force; a file that does not load changes nothing."""
    for number in range(3):
        site.put(HOOKS.replace("by the policy", f"by policy {number}"), HOOKS_FILE)
        assert f"refused by policy {number}" in submit(site, "--comment=refused")
    site.put("def broken(", HOOKS_FILE)
    assert "'(' was never closed" in site.refusal()
    assert "refused by policy 2" in submit(site, "--comment=refused")
    site.put(HOOKS, HOOKS_FILE)
    serves(site)
    asked = site.user("alice", "slurmhooks", "info")
    assert "only root and SlurmUser may do this" in asked.stdout + asked.stderr


LEFT = """
import io, signal, socket, sys, threading, time

socket.setdefaulttimeout(0.1)
sys.stdout = io.StringIO()
signal.setitimer(signal.ITIMER_REAL, 20)
threading.Thread(target=time.sleep, args=(1000,)).start()
"""


@pytest.mark.moved
def test_what_a_hook_file_leaves(site: Cluster) -> None:
    """Neither a timer nor what a hook file changes in its process ends a worker; a file that ends it is named."""
    processes = "pgrep 'slurmhooks-(gen|work)'"
    site.put(HOOKS + LEFT, HOOKS_FILE)
    site.deploy()
    site.wait(lambda: len(site.shell(processes).split()) == 2, what="the end of the previous generation")
    before = site.shell(processes)
    site.wait(lambda: "a hook file has left a timer" in site.log(), what="line")
    for _ in range(3):
        site.shell("sleep 0.5")
        serves(site)
    assert site.shell(processes) == before
    site.put("import os\nos.kill(os.getpid(), 9)", "/etc/slurm/hooks.d/killed.py")
    assert "killed by SIGKILL; the last file that was begun is /etc/slurm/hooks.d/killed.py" in site.refusal()
    site.put(HOOKS, HOOKS_FILE)
    site.shell("rm /etc/slurm/hooks.d/killed.py")
    serves(site)


def test_ends_of_slurmctld(site: Cluster) -> None:
    """After scontrol reconfigure one set of processes remains, and after kill -9 of slurmctld none."""
    old = site.shell("pgrep -x slurmhooks-sup")
    site.shell("scontrol reconfigure")
    # Supervisor, generation, worker, collector.
    site.wait(lambda: len(site.shell("pgrep slurmhooks- || true").split()) == 4, what="one set of processes")
    serves(site)
    # Before 23.11 slurmctld stays the same process.
    assert len(site.shell("pgrep -x slurmhooks-sup").split()) == 1, old
    site.shell(f"{SLURMCTLD}; kill -9 $slurmctld")
    site.wait(lambda: not site.shell("pgrep slurmhooks- || true"), what="the end of all processes")
    site.restart()
    serves(site)
