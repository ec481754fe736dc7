# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of docs/mounts.md on real clusters: mounts that only the steps of a job have, and containers."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

EXAMPLES = Path(__file__).parents[2] / "contrib" / "examples"
BASE = "/scratch/private"
IMAGE = """
mkdir -p ~/image/usr ~/image/data ~/image/proc ~/image/dev ~/image/sys ~/image/etc
for name in bin lib lib64 sbin; do ln -sfn usr/$name ~/image/$name; done
echo inside the image > ~/image/etc/motd
"""
MOUNTS = "--container-mounts=/usr:/usr:ro,/home/alice:/data"


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster with the example."""
    prepared = site(cluster, PrologFlags="Contain")
    prepared.hooks(**{name: (EXAMPLES / f"{name}.py").read_text() for name in ("private_mounts", "containers")})
    prepared.plugstack("required spank_python.so")
    prepared.shell(IMAGE)
    prepared.root(f"mkdir -p {BASE}; rm -rf /tmp/seen")
    cluster.restart()
    return prepared


def test_private_mounts(lent: Site) -> None:
    """All steps of a job on a node share a /tmp that nobody else sees, and that is gone after the job."""
    settle(lent)
    script = "touch /tmp/seen /var/tmp/seen; srun ls /tmp /var/tmp; grep -c /private/ /proc/self/mountinfo"
    done = lent.shell(
        "salloc -Q -w n1 srun sh -c 'touch /tmp/seen; stat -c %U:%a /tmp' && salloc -Q -w n1 sh -c"
        " 'srun touch /tmp/seen; srun ls /tmp; srun ls /var/tmp'"
    )
    assert done.stdout.split() == ["alice:700", "seen"]
    out = lent.shell(f'cd ~ && sbatch -Q -W -w n1 -o batch.out --wrap "{script}"; cat batch.out').stdout
    assert out.split() == ["/tmp:", "seen", "/var/tmp:", "seen", "2"]
    lent.wait_until_idle()
    lent.cluster.wait(lambda: not lent.root(f"ls {BASE}").strip(), what="removed folders")
    assert lent.root("ls /tmp/seen /var/tmp/seen 2>&1 || true").count("No such file") == 2
    assert lent.root(f"grep -c {BASE} /proc/1/mountinfo || true").strip() == "0"
    assert lent.drained() == []


@pytest.mark.moved
def test_shared_tmp(lent: Site) -> None:
    """With the option a job keeps the /tmp of the node, also in its extern step, which has no options."""
    settle(lent)
    done = lent.shell("srun -Q -w n1 --shared-tmp sh -c 'grep -c /private/ /proc/self/mountinfo; true'")
    assert done.stdout.split() == ["0"]
    lent.wait_until_idle()
    assert lent.drained() == []


PIDS = """
import os
from slurmhooks import hook, log, namespaces

@hook.spank.init(contexts="remote")
@hook.spank.init_post_opt(contexts="remote")
@hook.spank.user_init
@hook.spank.task_post_fork
def refused(spank):
    try:
        namespaces.unshare("pid")
    except RuntimeError as error:
        log.info("pids refused in %s %s: %s", spank.context, spank.callback, error)
    else:
        raise AssertionError

@hook.spank.task_init_privileged
def task(spank):
    namespaces.unshare("pid")
"""


def test_a_namespace_of_processes(lent: Site) -> None:
    """It is refused in slurmstepd, which would end at its next thread, and serves what the program of a task starts."""
    settle(lent)
    lent.root("mkdir -p /etc/slurm/pids")
    lent.cluster.put(PIDS, "/etc/slurm/pids/pids.py")
    toml = lent.root("cat /etc/slurm/slurmhooks.toml")
    lent.cluster.put("[hooks]\npaths = []\n", "/etc/slurm/slurmhooks.toml")
    lent.plugstack("required spank_python.so pids/*.py")
    try:
        done = lent.shell("srun -Q -w n1 -n2 sh -c 'sh -c \"echo \\$\\$; exit 3\"; exit $?'")
        assert (done.returncode, done.stdout.splitlines()[:2]) == (3, ["1", "1"]), done.stdout
        log = lent.cluster.log("n1")
        for callback in ("init", "init_post_opt", "user_init", "task_post_fork"):
            assert f"pids refused in remote {callback}: " in log
        assert lent.drained() == []
    finally:
        lent.plugstack("required spank_python.so")
        lent.cluster.put(toml, "/etc/slurm/slurmhooks.toml")


@pytest.mark.moved
def test_a_container(lent: Site) -> None:
    """Tasks run in the image as their user, with the folders of the node that they ask for; batch scripts do not."""
    settle(lent)
    program = (
        "cat /etc/motd; id -u; pwd; touch /data/from-inside; touch /usr/x 2>&1 | grep -o 'Read-only'; test ! -e /home"
    )
    done = lent.shell(
        f"srun -Q -w n1 --container-image=/home/alice/image {MOUNTS} --container-workdir=/data sh -c '{program}'"
    )
    user = lent.shell("id -u").stdout.strip()
    assert done.stdout.splitlines() == ["inside the image", user, "/data", "Read-only"], done
    assert lent.shell("cat ~/from-inside").returncode == 0
    step = f"srun --container-image=/home/alice/image {MOUNTS} cat /etc/motd"
    out = lent.shell(
        f'cd ~ && sbatch -Q -W -w n1 -o batch.out --wrap "{step}; test -e /data || echo outside"; cat batch.out'
    )
    assert out.stdout.split("\n")[:2] == ["inside the image", "outside"], out
    lent.wait_until_idle()
    assert lent.drained() == []


@pytest.mark.moved
def test_what_a_container_refuses(lent: Site) -> None:
    """What can be told at once is refused before the submission; what a node finds fails the tasks, not the node."""
    settle(lent)
    early = lent.shell("srun -w n1 --container-mounts=/usr:/usr true")
    assert "need --container-image" in early.stdout
    wrong = lent.shell("srun -w n1 --container-image=image true")
    assert "image is no absolute path" in wrong.stdout
    late = lent.shell("srun -w n1 --container-image=/no/such true")
    assert (late.returncode != 0, "no container" in late.stdout, "/no/such" in late.stdout) == (True, True, True), late
    lent.wait_until_idle()
    assert lent.drained() == []
