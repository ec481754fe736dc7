# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic handlers and the drains that a reboot needs, with a real slurmctld."""

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.test_every_examples import QUICK

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

HOOKS = """
import os
from slurmhooks import hook

@hook.every("2s")
def own(nodes):
    if os.path.exists("/tmp/sick"):
        nodes["n2"].drain("disk is full")
    else:
        nodes["n2"].undrain()

@hook.every("2s")
def named(nodes):
    if not os.path.exists("/tmp/sick"):
        nodes["n1"].undrain("by hand")
"""


def test_a_reboot_that_waits_keeps_its_drain(cluster: Cluster) -> None:
    """After `scontrol reboot ASAP`, a drained node stays drained, whoever has drained it, and whatever rules say."""
    if not cluster.has_sources:
        pytest.skip("periodic handlers need Slurm's sources")
    cluster.put("JobSubmitPlugins=python\nRebootProgram=/bin/true\n", "/etc/slurm/local.conf")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    cluster.put(QUICK, "/etc/slurm/hooks.d/a_quick.py")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/every.py")
    cluster.restart()

    def state(node: str) -> str:
        text = cluster.root("scontrol", "show", "node", node, "-o", check=True).stdout
        return str(text.partition(" State=")[2].split()[0])

    for node in ("n1", "n2"):
        cluster.user("alice", "sbatch", "-w", node, "-o", "/dev/null", "--wrap=sleep 600", check=True)
    cluster.wait(lambda: cluster.root("squeue", "-h", "-t", "R").stdout.count("\n") == 2, what="jobs")
    cluster.root("touch", "/tmp/sick", check=True)
    cluster.root("scontrol", "update", "nodename=n1", "state=drain", "reason=by hand", check=True)
    cluster.wait(lambda: "DRAIN" in state("n2"), what="drain")
    cluster.root("scontrol", "reboot", "ASAP", "n[1-2]", check=True)
    cluster.root("rm", "/tmp/sick", check=True)
    log = "/var/log/slurm/slurmctld.log"
    for rule in ("own", "named"):
        line = f"every:{rule}: undrain node .*a reboot is pending"
        cluster.wait(lambda line=line: cluster.root("grep", "-q", line, log).returncode == 0, what=line)  # type: ignore[misc]
    for node in ("n1", "n2"):
        assert {"DRAIN", "REBOOT_REQUESTED"} <= set(state(node).split("+"))
    cluster.root("scontrol", "cancel_reboot", "n[1-2]", check=True)
    for node in ("n1", "n2"):
        cluster.wait(lambda node=node: "DRAIN" not in state(node), what="undrain")  # type: ignore[misc]
