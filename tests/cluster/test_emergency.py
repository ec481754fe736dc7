# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands in docs/emergency.md help on real clusters that are broken as the page describes."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.tutorial import parts, play

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PARTS = parts((Path(__file__).parents[2] / "docs" / "emergency.md").read_text())
SBATCH = ("sbatch", "--output=/dev/null", "--wrap=true")
BUGS = """
from slurmhooks import hook
@hook.job_submit
def require_account(job): raise ValueError
@hook.spank.task_init
def set_scratch(spank): raise ValueError
@hook.spank.job_prolog
def make_scratch(spank): raise ValueError
"""
SITE = """
cd /etc/slurm
echo '# Nothing.' > local.conf
echo JobSubmitPlugins=python >> slurm.conf
echo 'required spank_python.so' > plugstack.conf
printf '[hooks]\\npaths = ["hooks.d/*.py"]\\n' > slurmhooks.toml
rm -rf /var/log/slurm/slurmhooks
slurmhooks deploy
"""


@pytest.mark.moved
@pytest.mark.one_release("24.11")
def test_what_helps(cluster: "Cluster") -> None:
    """After the commands of each part, jobs run that failed before, and each command prints what the page shows."""
    cluster.put(BUGS, "/etc/slurm/hooks.d/rules.py")
    cluster.root("sh", "-ec", SITE, check=True)
    cluster.restart()

    assert "handler rules:require_account failed" in cluster.user("alice", *SBATCH).stderr
    play(cluster, PARTS["Switch off one handler"])

    # The job that this command has submitted meets the next bug.
    cluster.wait(lambda: cluster.root("sinfo", "-h", "-n", "n1", "-o", "%T").stdout == "drained\n", what="drained node")
    play(cluster, PARTS["Switch off all handlers"].partition("To switch the handlers on again")[0])
    play(cluster, PARTS["Return drained nodes"])
    play(cluster, PARTS["Switch off all handlers"].partition("To switch the handlers on again")[2])
    assert "require_account" in cluster.root("slurmhooks", "info").stdout

    cluster.root("sh", "-ec", "rm /etc/slurm/slurmhooks.set/.manifest; mv /opt/slurmhooks /opt/not-mounted", check=True)
    try:
        assert "required plugin spank_python.so" in cluster.user("alice", *SBATCH).stderr
        play(cluster, PARTS["Take the plugins out of Slurm"])
    finally:
        cluster.root("mv", "/opt/not-mounted", "/opt/slurmhooks", check=True)
