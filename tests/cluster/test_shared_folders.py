# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files in a folder that machines share: a server with root squash, files of administrators and of their group.

The server is a stand-in, a file system in user space, and in ``make soak`` that of Linux (NFS) in a virtual machine.
"""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import reporting
from tests.cluster.conftest import Cluster
from tests.cluster.turns import moved_from
from tests.cluster.versions import HOOKS, TOML
from tests.cluster.virtual import PATIENT, virtual

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.deploys]

SERVER, CLIENT = "/srv/shared", "/opt/shared"
SET = f"{SERVER}/site/slurmhooks.set"
ADMIN, NOBODY = 1500, 65534
CONFIGURE = f"""
    mkdir -p {SERVER}/site/hooks.d {CLIENT}
    echo MessageTimeout=120 >> /etc/slurm/local.conf
    cp /etc/slurm/*.conf {SERVER}/site
    rm -rf /etc/slurm/hooks.d
    ln -sf {CLIENT}/site/slurmhooks.toml /etc/slurm/slurmhooks.toml
"""
STAND_IN = f"""
    test -e /dev/fuse || mknod -m 600 /dev/fuse c 10 229
    /opt/slurmhooks/bin/python /root/squash.py {SERVER} {CLIENT}
"""
PACKAGES = ("nfs-kernel-server",)
NFS = f"""
    modprobe nfsd
    mount -t nfsd none /proc/fs/nfsd
    for name in leasetime gracetime; do echo 10 > /proc/fs/nfsd/nfsv4$name; done
    mkdir -p /var/lib/nfs; touch /var/lib/nfs/etab
    rpc.mountd --no-nfs-version 3
    exportfs -o rw,root_squash,no_subtree_check,fsid=0 127.0.0.1:{SERVER}
    rpc.nfsd --no-nfs-version 3 2
    mount -t nfs4 -o actimeo=1 127.0.0.1:/ {CLIENT}
"""
FAULTS = {
    "an administrator": (f"chown {ADMIN} {SET}/hooks.d/site.py", f"belongs to user id {ADMIN}"),
    "what root of a client wrote": (f"chown {NOBODY} {SET}/hooks.d/site.py", "belongs to nobody"),
    "a folder of an administrator": (f"chown {ADMIN} {SET}/hooks.d", f"belongs to user id {ADMIN}"),
    "a folder of a group": (f"chgrp {ADMIN} {SERVER}/site && chmod 2775 {SERVER}/site", "is writable by group id"),
}
"""What is done on the server, and what clients say about it."""


@pytest.fixture(scope="module", params=["stand-in", pytest.param("NFS", marks=pytest.mark.soak)])
def shared(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster whose policy is in a folder that a file server shares."""
    with contextlib.ExitStack() as stack:
        if request.param == "NFS":
            folder = tmp_path_factory.mktemp("machine")
            cluster = stack.enter_context(virtual(cluster, folder, PACKAGES))
        cluster.put(Path(__file__).with_name("squash.py"), "/root/squash.py")
        cluster.put(TOML + PATIENT, f"{SERVER}/site/slurmhooks.toml")
        cluster.put(HOOKS.format(version=1), f"{SERVER}/site/hooks.d/site.py")
        cluster.root("sh", "-ec", CONFIGURE, check=True)
        done = cluster.root("sh", "-ec", NFS if request.param == "NFS" else STAND_IN)
        if done.returncode and request.param != "NFS":
            pytest.skip(f"{reporting.SKIPPED} ROOT SQUASH WAS TESTED: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        stack.callback(cluster.root, "umount", "--lazy", CLIENT)
        cluster.root("slurmhooks", "deploy", "--sysconfdir", f"{SERVER}/site", check=True)
        cluster.root("ln", "-sfn", f"{CLIENT}/site/slurmhooks.set", "/etc/slurm/slurmhooks.set", check=True)
        cluster.restart()
        yield cluster


def versions(shared: Cluster) -> set[str]:
    """Return the versions that slurmctld and a task have."""
    said = shared.user("alice", "sbatch", "--comment=refuse", "--output=/dev/null", "--wrap=true").stderr
    return {*re.findall(r"version \d", said), shared.user("alice", "srun", "printenv", "POLICY").stdout.strip()}


def test_root_is_nobody(shared: Cluster) -> None:
    """Root of a client may write nothing, and files of root run in slurmctld, in steps and in commands of users."""
    assert shared.root("touch", f"{CLIENT}/site/file").returncode == 1
    shared.root("slurmhooks", "check", check=True)
    assert versions(shared) == {"version 1"}


@pytest.mark.parametrize("fault", moved_from(1, FAULTS))
def test_files_of_others(shared: Cluster, fault: str) -> None:
    """They do not run, what was in force in slurmctld stays so, and the printed command repairs it on the server."""
    spoil, finding = FAULTS[fault]
    assert versions(shared) == {"version 1"}
    # A job that has not ended would fail, and drain its node.
    shared.wait(lambda: not shared.root("squeue", "-h").stdout, what="end of all jobs")
    shared.root("sh", "-ec", spoil, check=True)
    done = shared.root("slurmhooks", "check")
    match = re.search(rf"error: /\S+: [^\n]*{finding}[^\n]*: (ch\w+ .*?), as root of the server", done.stderr)
    assert done.returncode == 1, done.stdout
    assert match is not None, done.stderr
    assert ("root of a client" in done.stderr) == (finding == "belongs to nobody")
    assert "version 1" in shared.user("alice", "sbatch", "--comment=refuse", "--wrap=true").stderr
    shared.root(*shlex.split(match[1].replace(CLIENT, SERVER)), check=True)
    shared.wait(lambda: shared.root("slurmhooks", "check").returncode == 0, what="repaired files in force")
    assert versions(shared) == {"version 1"}


@pytest.mark.moved
def test_files_that_only_root_may_read(shared: Cluster) -> None:
    """Root of a client cannot read them: `check` says so."""
    shared.root("chmod", "600", f"{SET}/hooks.d/site.py", check=True)
    done = shared.root("slurmhooks", "check")
    shared.root("chmod", "444", f"{SET}/hooks.d/site.py", check=True)
    assert done.returncode == 1
    assert "hooks.d/site.py" in done.stderr, done.stderr


def test_deploy_on_the_server(shared: Cluster) -> None:
    """On a client, `deploy` changes nothing and says where to do it; once on the server is enough."""
    work = "/srv/admins"
    shared.put(TOML + PATIENT, f"{work}/policy/slurmhooks.toml")
    shared.put(HOOKS.format(version=2), f"{work}/policy/hooks.d/site.py")
    shared.root("sh", "-ec", f"chown -R {ADMIN}:{ADMIN} {work}; chmod -R g+w {work}; chmod 2775 {work}", check=True)
    shared.root("slurmhooks", "bundle", f"{work}/policy", "--output", f"{work}/policy.tar", check=True)
    shared.root("cp", f"{work}/policy.tar", "/root/policy.tar", check=True)
    done = shared.root("slurmhooks", "deploy", "/root/policy.tar", "--sysconfdir", f"{CLIENT}/site")
    assert done.returncode == 1, done.stdout
    assert f"{CLIENT}/site" in done.stderr
    assert "Permission denied" in done.stderr, done.stderr
    assert versions(shared) == {"version 1"}
    done = shared.root("slurmhooks", "deploy", f"{work}/policy.tar", "--sysconfdir", f"{SERVER}/site")
    assert done.returncode == 1
    assert f"{work} is writable by" in done.stderr
    shared.root("slurmhooks", "deploy", "/root/policy.tar", "--sysconfdir", f"{SERVER}/site", check=True)
    shared.wait(lambda: versions(shared) == {"version 2"}, what="bundle in force")
    shared.root("slurmhooks", "rollback", "--sysconfdir", f"{SERVER}/site", check=True)
    shared.wait(lambda: versions(shared) == {"version 1"}, what="former bundle in force")
