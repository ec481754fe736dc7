# SPDX-License-Identifier: GPL-2.0-or-later
"""Power hooks with a real slurmctld and cloud nodes, which handlers start and stop as real slurmd processes."""

import pytest

from tests.cluster.conftest import Cluster

NOTES = "/var/lib/slurm/power-notes"
ORDERS = "/var/lib/slurm/power-orders"
HOLD = "/var/lib/slurm/power-hold"
PROGRAMS = "/usr/local/lib/slurm/slurmhooks_power_"
HOOKS = f"""
import os, time
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
            raise Reject("the cloud has no room")
        while "late" in node.features and os.path.exists("{HOLD}"):
            time.sleep(0.1)
        write("{ORDERS}", f"start {{node.name}}")

@hook.power.suspend
def suspend(nodes):
    write("{NOTES}", f"suspend {{','.join(nodes)}}")
    for name in nodes:
        write("{ORDERS}", f"stop {{name}}")
"""
CLOUD = f"""#!/bin/sh
# The cloud: it takes orders from SlurmUser, and starts and stops machines as root.
tail -n +1 -f {ORDERS} | while read -r verb node; do
    if [ "$verb" = start ]; then slurmd -N "$node" -b; else kill "$(cat /run/slurmd-"$node".pid)"; fi
done
"""
CONF = """
JobSubmitPlugins=python
NodeName=c1 NodeHostname=ctl NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=100 State=CLOUD Feature=soon
NodeName=c2 NodeHostname=ctl NodeAddr=127.0.0.1 Port={other} CPUs=4 RealMemory=100 State=CLOUD Feature=never
NodeName=c3 NodeHostname=ctl NodeAddr=127.0.0.1 Port={third} CPUs=4 RealMemory=100 State=CLOUD Feature=late
PartitionName=cloud Nodes=c[1-3] MaxTime=60 State=UP
ResumeProgram={programs}resume
SuspendProgram={programs}suspend
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
    cluster.put(CLOUD, "/etc/slurm/cloud", 0o755)
    shell(cluster, f"touch {ORDERS} {NOTES}; chown slurm {ORDERS} {NOTES}")
    shell(cluster, "setsid /etc/slurm/cloud > /var/log/slurm/cloud 2>&1 < /dev/null &")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/power.py")
    cluster.put(CONF.format(port=17101, other=17102, third=17103, programs=PROGRAMS), "/etc/slurm/local.conf")
    cluster.restart()
    return cluster


def notes(cluster: Cluster) -> list[str]:
    """Return what the handlers noted."""
    return shell(cluster, f"cat {NOTES}").splitlines()


def shown(cluster: Cluster, node: str) -> str:
    """Return what slurmctld says about a node; 22.05 hides those of a cloud that are off."""
    return str(cluster.root("scontrol", "show", "node", node).stdout)


def test_a_handler_starts_and_stops_the_node_of_a_job(site: Cluster) -> None:
    """A job runs on a node that its handler started; when the node is idle, the other handler stops it."""
    done = site.user("alice", "srun", "-p", "cloud", "-C", "soon", "sh", "-c", "echo $SLURM_JOB_ID", timeout=120)
    assert done.returncode == 0, done.stderr + site.log()
    assert f"resume c1 [{done.stdout.strip()}]" in notes(site)
    site.wait(lambda: "suspend c1" in notes(site), 60, "the end of the node")


def test_a_handler_that_gives_up_sets_the_node_down(site: Cluster) -> None:
    """A node that the cloud cannot start is DOWN with the handler's reason long before ResumeTimeout."""
    site.user("alice", "sbatch", "-p", "cloud", "-C", "never", "-o", "/dev/null", "--wrap=true", check=True)
    site.wait(lambda: "Reason=the cloud has no room" in shown(site, "c2"), 50, "the reason")
    assert "DOWN" in shown(site, "c2")


def test_a_kill_of_every_process_loses_no_call(site: Cluster) -> None:
    """slurmctld and the delivery are killed while a resume runs; the next slurmctld has the node started."""
    site.put("", HOLD)
    site.root("scontrol", "update", "nodename=c3", "state=power_up", check=True)
    site.wait(lambda: any(note.startswith("resume c3") for note in notes(site)), what="the handler")
    site.root("sh", "-c", "kill -9 $(pgrep -f [s]lurmhooks.power.process) $(cat /run/slurmctld.pid)", check=True)
    site.wait(lambda: site.root("pgrep", "-x", "slurmctld").returncode, what="end of slurmctld")
    site.wait(lambda: site.root("pgrep", "-f", "slurmhooks.power.process").returncode, what="end of the delivery")
    site.root("rm", HOLD, check=True)
    assert "start c3" not in shell(site, f"cat {ORDERS}").splitlines()
    site.root("slurmctld", check=True)
    site.wait(lambda: "start c3" in shell(site, f"cat {ORDERS}").splitlines(), what="the order")
    site.wait(lambda: site.root("test", "-e", "/run/slurmd-c3.pid").returncode == 0, what="slurmd")
