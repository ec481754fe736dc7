# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller with nodes and clients of an earlier release of Slurm, as in the middle of an upgrade.

The node n2 is a machine of its own: the file system and processes of a cluster of the earlier release, in the network
of the controller. Each has its own build of slurmhooks, Python, and hook files.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import NAME, NODES, Cluster, running
from tests.cluster.lab import places

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can combine namespaces of two clusters"),
]

NEW, OLD = "26.05", "24.11"
CONF = "JobSubmitPlugins=python\nCliFilterPlugins=python\nPrologFlags=Alloc\n"
HOOKS = """
import sys
from slurmhooks import Reject, hook, log

colour = hook.spank.option("colour", "NAME", usage="a colour")

@hook.job
def limits(job):
    if job.leaves_out("comment"):
        raise Reject("please give a comment")
    if job.leaves_out("time_limit"):
        job.time_limit = 7

@hook.cli_filter.pre_submit
def asked(options, offset):
    log.user("client with Python 3.%d", sys.version_info[1])

@hook.spank.job_prolog
def begins(spank):
    with open("/tmp/prologs", "a") as file:
        file.write(f"{spank.job_id} {colour.value}\\n")

@hook.spank.task_init
def seen(spank):
    spank.env["SEEN"] = f"{colour.value} 3.{sys.version_info[1]}"
"""


class Pair:
    """A controller with the node n1 in the new cluster, and the earlier release with the node n2."""

    def __init__(self, new: Cluster, old: Cluster) -> None:
        """Take two clusters; the daemons of the earlier release have not been started."""
        self.new = new
        mine, theirs = (
            places.read_keeper(os.path.join(places.clusters(), each.name, each.release)) for each in (new, old)
        )
        assert mine is not None
        assert theirs is not None
        own = (f"--{kind}=/proc/{theirs.pid}/ns/{kind}" for kind in ("pid", "ipc", "cgroup"))
        self._enter = [
            "nsenter",
            f"--mount=/proc/{theirs.pid}/ns/mnt",
            *own,
            *(f"--{kind}=/proc/{mine.pid}/ns/{kind}" for kind in ("net", "uts")),
        ]

    def old(self, script: str, user: str = "root") -> str:
        """Run a script on the machine of the earlier release, as a user; return its output and errors."""
        become = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        words = [*self._enter, *become, "env", "-i", f"PATH=/opt/slurmhooks/bin:{os.defpath}:/usr/sbin:/sbin"]
        done = subprocess.run([*words, "sh", "-c", f"cd /tmp; {script}"], capture_output=True, text=True, check=False)
        assert "nsenter" not in done.stderr, done.stderr
        return f"{done.stdout}{done.stderr}"

    def alice(self, release: str, script: str) -> str:
        """Run a script of alice on one of the machines."""
        if release == OLD:
            return self.old(script, "alice")
        done = self.new.user("alice", "sh", "-c", f"cd /tmp; {script}")
        return f"{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Give a controller, and a node of the earlier release."""
    folder: Path = tmp_path_factory.mktemp("conf")
    with (
        running(NEW, f"{NAME}-adjacent", NODES, "--install") as new,
        running(OLD, f"{NAME}-adjacent", 1, "--install", "--stopped") as old,
    ):
        new.put(CONF, "/etc/slurm/local.conf")
        for each in (new, old):
            each.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
        made = Pair(new, old)
        for name in ("slurm.conf", "slurm.key", "local.conf", "plugstack.conf"):
            new.tool("get", f"/etc/slurm/{name}", str(folder / name))
            old.put(folder / name, f"/etc/slurm/{name}")
        old.deploy()
        new.deploy()
        new.restart()
        new.root("sh", "-c", "kill $(cat /run/slurmd-n2.pid); while pgrep -f '[s]lurmd -N n2'; do sleep 0.1; done")
        made.old(
            "chown slurm: /etc/slurm/slurm.key; chmod 600 /etc/slurm/slurm.key; mkdir -p /var/spool/slurm/n2;"
            " slurmd -N n2"
        )
        new.wait(lambda: f"Version={OLD}" in new.root("scontrol", "show", "node", "n2").stdout, what="the old node")
        new.wait(lambda: "idle" in new.root("sinfo", "-h", "-n", "n2", "-o", "%t").stdout, what="idle node")
        yield made


@pytest.mark.parametrize("client", [NEW, OLD], ids=["new", "old"])
def test_hooks_of_both_releases(pair: Pair, client: str) -> None:
    """Rules, options, prologs and updates work for clients and nodes of both, each with its own Python."""
    python = {"n1": "3.14", "n2": "3.13"}
    mine = f"client with Python {python['n1' if client == NEW else 'n2']}"
    refused = pair.alice(client, "srun -w n2 true")
    assert mine in refused
    assert "please give a comment" in refused
    for node, minor in python.items():
        assert f"red {minor}\n" in pair.alice(client, f"srun --comment=x --colour=red -w {node} printenv SEEN")
        wrap = shlex.quote("printenv SEEN; srun printenv SEEN; scontrol show job $SLURM_JOB_ID | grep TimeLimit")
        pair.alice(client, f"sbatch -W --comment=x --colour=blue -w {node} -o /tmp/{client} --wrap={wrap}")
        shown = pair.alice(NEW if node == "n1" else OLD, f"cat /tmp/{client}; cat /tmp/prologs")
        assert shown.count(f"blue {minor}\n") == 2, shown
        assert "TimeLimit=00:07:00" in shown
        assert shown.rstrip().endswith(" blue")
    both = pair.alice(client, "srun --comment=x --colour=green -N2 printenv SEEN")
    assert {f"green {minor}" for minor in python.values()} < set(both.splitlines()), both
    hold = "J=$(sbatch --parsable --hold --comment=x --wrap=true); scontrol update jobid=$J"
    assert "please give a comment" in pair.alice(client, f"{hold} comment=; scancel $J")
    changed = pair.alice(client, f"{hold} timelimit=99; scontrol show job $J; scancel $J")
    assert "TimeLimit=01:39:00" in changed
