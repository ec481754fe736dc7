# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder of slurm.conf as Kubernetes shows a ConfigMap: flat, writable by its mode, on a read-only mount."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.one_release("26.05"), pytest.mark.deploys, pytest.mark.moved]

TOML = 'hooks = { paths = ["*.py"] }\n'
HANDLERS = """
from slurmhooks import Reject, hook

@hook.job_submit
def limit(job):
    if job.script is not None:
        raise Reject("version {}")

@hook.spank.task_init
def mark(spank):
    spank.env["FROM_VOLUME"] = "version {}"
"""

VOLUME = """
    mkdir -p /mnt/kubelet
    mount -t tmpfs -o mode=1777 none /mnt/kubelet
    mkdir -m 755 /mnt/kubelet/..1
    find /etc/slurm -maxdepth 1 -type f -exec cp -p {} /mnt/kubelet/..1 \\;
    ln -s ..1 /mnt/kubelet/..data
    cd /mnt/kubelet/..1
    cat > site.py
    printf '%s' "$TOML" > slurmhooks.toml
    for name in *; do ln -s "..data/$name" "../$name"; done
    cd /
    unshare --mount --propagation private sh -c 'echo $$ > /run/kubelet.pid; exec sleep 100000' > /dev/null 2>&1 &
    until test -s /run/kubelet.pid; do sleep 0.1; done
    mount --bind -o ro /mnt/kubelet /etc/slurm
    umount /mnt/kubelet
"""
"""What only the kubelet can write is a mount of another mount namespace."""

SWAP = """
    nsenter --mount --target "$(cat /run/kubelet.pid)" sh -ec '
        cd /mnt/kubelet
        cp -rp ..data/ "..$NEXT"
        cat > "..$NEXT/site.py"
        ln -sn "..$NEXT" ..data_tmp
        mv -T ..data_tmp ..data
    '
"""

HOME = """
    mkdir /var/lib/slurmhooks
    ln -s /etc/slurm/slurmhooks.toml /var/lib/slurmhooks
    nsenter --mount --target "$(cat /run/kubelet.pid)" sh -ec '
        cd /mnt/kubelet
        echo /var/lib/slurmhooks > ..data/slurmhooks.home
        ln -s ..data/slurmhooks.home slurmhooks.home
    '
"""
"""The policy of the volume, with a home that can be written."""

BUNDLE = """
    mkdir /root/policy
    cp -L /etc/slurm/*.py /etc/slurm/slurmhooks.toml /root/policy
    slurmhooks bundle /root/policy --output /root/b.tar
"""


@pytest.fixture(scope="module")
def pod(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster whose /etc/slurm is a volume."""
    cluster.root("sh", "-ec", VOLUME, input=handlers(1), env={"TOML": TOML}, check=True)
    cluster.restart()
    yield cluster
    cluster.root("sh", "-c", "umount /etc/slurm; kill $(cat /run/kubelet.pid)")


def handlers(version: int) -> str:
    """Return a hook file for slurmctld and for tasks."""
    return HANDLERS.format(version, version)


def refusal(pod: Cluster) -> str:
    """Return what a user reads whose submission is refused."""
    return pod.user("alice", "sbatch", "--output=/dev/null", "--wrap", "true").stderr


def test_commands_say_what_to_do(pod: Cluster) -> None:
    """A bundle can be made; commands that would write into the volume name it, and change nothing."""
    pod.root("sh", "-ec", BUNDLE, check=True)
    for source in ((), ("/root/b.tar",)):
        done = pod.root("slurmhooks", "deploy", *source)
        assert done.returncode == 1
        assert "/etc/slurm" in done.stderr
        assert "Read-only file system" in done.stderr


def test_a_home_that_can_be_written(pod: Cluster) -> None:
    """With slurmhooks.home in the volume, sets are in the home; a new version is in force once deployed."""
    pod.root("sh", "-ec", HOME, check=True)
    pod.deploy()
    pod.restart()
    for version in (1, 2):
        assert f"version {version}" in refusal(pod)
        assert pod.user("alice", "srun", "printenv", "FROM_VOLUME").stdout == f"version {version}\n"
        checked = pod.root("slurmhooks", "check", check=True).stdout
        assert "/var/lib/slurmhooks/slurmhooks.set/.manifest: up to date" in checked
        # The user of all processes in a pod of slurmctld.
        as_slurm = ("setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups")
        status = json.loads(pod.root(*as_slurm, "slurmhooks", "status", "--json", check=True).stdout)
        assert {row["state"] for row in status["rows"]} == {"current"}
        if version == 1:
            pod.root("sh", "-ec", SWAP, input=handlers(2), env={"NEXT": "2"}, check=True)
            assert "version 1" in refusal(pod)
            pod.deploy()


@pytest.mark.moved
def test_a_volume_that_is_followed(pod: Cluster) -> None:
    """`deploy --watch` puts each version of the volume in force that is right, and says what is wrong."""
    start = "slurmhooks deploy --watch > /var/log/slurm/watch 2>&1 & echo $!"
    pid = pod.root("sh", "-c", start, check=True).stdout.strip()
    try:
        pod.root("sh", "-ec", SWAP, input="def (", env={"NEXT": "3"}, check=True)
        pod.wait(lambda: "SyntaxError" in pod.root("cat", "/var/log/slurm/watch").stdout, what="refusal of a version")
        assert "version 2" in refusal(pod)
        pod.root("sh", "-ec", SWAP, input=handlers(4), env={"NEXT": "4"}, check=True)
        pod.wait(lambda: "version 4" in refusal(pod), what="the next version")
        assert pod.user("alice", "srun", "printenv", "FROM_VOLUME").stdout == "version 4\n"
    finally:
        pod.root("kill", pid)
