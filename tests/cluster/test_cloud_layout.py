# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's files in /opt/slurm of the head node, which nodes mount read-only: the commands of docs/shared-folders.md."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.carrying import CHECKOUT, SECONDS
from tests.cluster.conftest import NAME, NODES, ONE_RELEASE, RELEASES, Cluster, running
from tests.cluster.lab import places
from tests.cluster.versions import HOOKS, TOML

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

PAGE = CHECKOUT / "docs" / "shared-folders.md"
COMMANDS = re.search(r"## /opt/slurm in a cloud\n.*?```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
OTHER = 1500
"""A user id of the stack."""
HEAD = """
    mkdir -p /opt/slurm/lib/slurm /opt/slurm/shared
    ln -s /usr/include /opt/slurm/include
    mv /etc/slurm /opt/slurm/etc
    ln -s /opt/slurm/etc /etc/slurm
    sed -i '/^PluginDir/s,:/usr/local/lib/slurm,:/opt/slurm/lib/slurm,' /opt/slurm/etc/slurm.conf
    echo JobSubmitPlugins=python > /opt/slurm/etc/local.conf
    echo required spank_python.so > /opt/slurm/etc/plugstack.conf
    chown {other} /opt/slurm/shared
    mkdir /root/wheels; tar -C /root/wheels -xf /root/wheels.tar
"""
NODE = """
    pid=$(cat /run/slurmd-n2.pid); kill $pid; while kill -0 $pid 2> /dev/null; do sleep 0.1; done
    unshare --mount --propagation private sh -ec '
        mount --bind /opt/slurm /opt/slurm; mount -o remount,bind,ro /opt/slurm
        slurmd -N n2
        echo $$ > /run/n2.pid
        exec sleep infinity
    ' < /dev/null > /dev/null 2>&1 &
    until test -s /run/n2.pid; do sleep 0.1; done
"""
ON_THE_NODE = "exec nsenter --mount --target $(cat /run/n2.pid) "


@pytest.fixture(scope="module", params=[release for release in RELEASES if release == ONE_RELEASE])
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two nodes, where slurmhooks was installed and the first version deployed as the page says."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, str(CHECKOUT)], check=True)
    with running(request.param, NAME, NODES) as cluster:
        kept = Path(places.cache(), "wheels", cluster.release)
        packed = folder / "wheels.tar"
        subprocess.run(
            ["tar", "-cf", str(packed), "-C", str(kept), ".", "-C", str(folder), "--exclude=*.tar", "."], check=True
        )
        cluster.put(packed, "/root/wheels.tar")
        cluster.root("sh", "-ec", HEAD.format(other=OTHER), check=True)
        for version in (1, 2):
            cluster.put(TOML, f"/root/{version}/slurmhooks.toml")
            cluster.put(HOOKS.format(version=version), f"/root/{version}/hooks.d/site.py")
        assert COMMANDS is not None
        *install, deploy = COMMANDS[1].splitlines()
        bundle = "/opt/slurm/slurmhooks/bin/slurmhooks bundle 1 --output policy.tar"
        script = "\n".join(["cd /root", *install, bundle, deploy])
        index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/root/wheels"}
        cluster.root("sh", "-ec", script, check=True, env=index, timeout=SECONDS)
        cluster.restart()
        cluster.root("sh", "-ec", NODE, check=True)
        yield cluster


def versions(stack: Cluster) -> set[str]:
    """Return the versions that slurmctld and a task on each node have."""
    said = stack.user("alice", "sbatch", "--comment=refuse", "--output=/dev/null", "--wrap=true").stderr
    tasks = stack.user("alice", "srun", "-N2", "printenv", "POLICY").stdout.splitlines()
    assert len(tasks) == NODES
    return {*re.findall(r"version \d", said), *tasks}


def check(stack: Cluster, node: str = "") -> subprocess.CompletedProcess[str]:
    """Run `check` on the head node, or on the other one."""
    return stack.root("sh", "-ec", f"{node}/opt/slurm/slurmhooks/bin/slurmhooks check --sysconfdir /opt/slurm/etc")


def test_the_commands_of_the_page(stack: Cluster) -> None:
    """All machines have what was done on the head node, without a command on the node, and find nothing wrong."""
    assert versions(stack) == {"version 1"}
    for node in ("", ON_THE_NODE):
        done = check(stack, node)
        assert (done.returncode, done.stderr) == (0, "")
    command = "cd /root; PATH=/opt/slurm/slurmhooks/bin:$PATH; slurmhooks bundle 2 --output policy.tar; {}"
    assert COMMANDS is not None
    stack.root("sh", "-ec", command.format(COMMANDS[1].splitlines()[-1]), check=True)
    stack.wait(lambda: versions(stack) == {"version 2"}, what="second version on all machines")


def test_folders_of_another_user(stack: Cluster) -> None:
    """One above the hook files is named, with its repair; one beside them does not matter."""
    before = versions(stack)
    stack.root("chown", str(OTHER), "/opt/slurm", check=True)
    done = check(stack, ON_THE_NODE)
    assert done.returncode == 1
    match = re.search(rf"/opt/slurm belongs to user id {OTHER}[^\n]*?: (chown \S+ /opt/slurm)\b", done.stderr)
    assert match is not None, done.stderr
    stack.root(*shlex.split(match[1]), check=True)
    assert check(stack, ON_THE_NODE).returncode == 0
    stack.wait(lambda: versions(stack) == before, what="policy in force")
