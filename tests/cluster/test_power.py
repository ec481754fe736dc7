# SPDX-License-Identifier: GPL-2.0-or-later
"""Power hooks with a real slurmctld and cloud nodes, which handlers start and stop as real slurmd processes."""

import pytest

from tests.cluster.conftest import Cluster

NOTES = "/var/lib/slurm/power-notes"
ORDERS = "/var/lib/slurm/power-orders"
HOOKS = f"""
import os
from slurmhooks import Reject, hook

def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, (text + "\\n").encode())
    os.close(fd)

@hook.power.resume
def resume(nodes, jobs, event):
    write("{NOTES}", f"resume {{','.join(nodes)}} {{[job.job_id for job in jobs]}}")
    for node in nodes.values():
        if "never" in node.features:
            node.down("the cloud has no room")
            raise Reject("the cloud has no room")
        write("{ORDERS}", f"start {{node.name}}")

@hook.power.suspend
def suspend(nodes):
    write("{NOTES}", f"suspend {{','.join(nodes)}}")
    for name in nodes:
        write("{ORDERS}", f"stop {{name}}")
"""
PROGRAM = """#!/bin/sh
exec {python} -m slurmhooks.power.handover {hook} "$1"
"""
CLOUD = f"""#!/bin/sh
# The cloud: it takes orders from SlurmUser, and starts and stops machines as root.
tail -n +1 -f {ORDERS} | while read -r verb node; do
    if [ "$verb" = start ]; then slurmd -N "$node" -b; else kill "$(cat /run/slurmd-"$node".pid)"; fi
done
"""
CONF = """
NodeName=c1 NodeHostname=ctl NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=100 State=CLOUD Feature=soon
NodeName=c2 NodeHostname=ctl NodeAddr=127.0.0.1 Port={other} CPUs=4 RealMemory=100 State=CLOUD Feature=never
PartitionName=cloud Nodes=c1,c2 MaxTime=60 State=UP
ResumeProgram=/etc/slurm/power-resume
SuspendProgram=/etc/slurm/power-suspend
SuspendTime=2
SuspendExcNodes=n[1-2]
SuspendTimeout=5
ResumeTimeout=60
ResumeRate=0
SuspendRate=0
TreeWidth=65533
"""


def shell(cluster: Cluster, script: str) -> str:
    """Return the output of a script of root."""
    return str(cluster.root("sh", "-c", script, check=True).stdout).strip()


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with two nodes of a cloud."""
    cluster.without_spank()
    python = "/opt/slurmhooks/bin/python3"
    for hook in ("resume", "suspend"):
        cluster.put(PROGRAM.format(python=python, hook=hook), f"/etc/slurm/power-{hook}", 0o755)
    cluster.put(CLOUD, "/etc/slurm/cloud", 0o755)
    shell(cluster, f"touch {ORDERS} {NOTES}; chown slurm {ORDERS} {NOTES}")
    shell(cluster, "setsid /etc/slurm/cloud > /var/log/slurm/cloud 2>&1 < /dev/null &")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/power.py")
    cluster.put(CONF.format(port=17101, other=17102), "/etc/slurm/local.conf")
    cluster.restart()
    return cluster


def notes(cluster: Cluster) -> list[str]:
    """Return what the handlers noted."""
    return shell(cluster, f"cat {NOTES}").splitlines()


def test_a_handler_starts_and_stops_the_node_of_a_job(site: Cluster) -> None:
    """A job runs on a node that its handler started; when the node is idle, the other handler stops it."""
    done = site.user("alice", "sbatch", "--parsable", "-p", "cloud", "-C", "soon", "-o", "/dev/null", "--wrap=true")
    number = done.stdout.strip()
    site.wait(lambda: "JobState=COMPLETED" in shell(site, f"scontrol show job {number}"), 60, "the job on the cloud")
    assert f"resume c1 [{number}]" in notes(site)
    site.wait(lambda: "suspend c1" in notes(site), 60, "the end of the node")


def test_a_handler_that_gives_up_sets_the_node_down(site: Cluster) -> None:
    """A node that the cloud cannot start is DOWN with the handler's reason long before ResumeTimeout."""
    site.user("alice", "sbatch", "-p", "cloud", "-C", "never", "-o", "/dev/null", "--wrap=true", check=True)
    site.wait(lambda: "Reason=the cloud has no room" in shell(site, "scontrol show node c2"), 50, "the reason")
    assert "DOWN" in shell(site, "scontrol show node c2")
