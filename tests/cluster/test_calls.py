# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of slurmhooks in forks of a process that has imported the package (lab/warm.py)."""

import importlib.util

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.lab import warm

SAYS = "import os\nprint(open(f'/proc/{os.getppid()}/cmdline').read().split(chr(0))[1:3])\n"
"""A hook file that prints how the command was started that loads it in a child."""
FORKED = "['-P', '-c']"


@pytest.mark.parametrize("module", warm.IMPORTED)
def test_what_is_imported_exists(module: str) -> None:
    """The process imports what the package has, or it would end, and each command be started."""
    assert importlib.util.find_spec(module)


def started(cluster: Cluster) -> str:
    """Return how a command was started."""
    cluster.put(SAYS, "/etc/slurm/hooks.d/says.py")
    return cluster.root("slurmhooks", "deploy", "--dry-run", check=True).stderr


def test_forks_end_as_commands_do(cluster: Cluster) -> None:
    """A command is a fork of a process outside of the cluster, with its own streams, exit code and files."""
    assert FORKED in started(cluster)
    wrong = cluster.root("slurmhooks", "nosuch")
    assert (wrong.returncode, wrong.stdout, "No such command" in wrong.stderr) == (2, "", True)
    assert cluster.root("slurmhooks", "status").stdout.split()[:1] == ["where"]


@pytest.mark.parametrize(("before", "error"), [("", ""), ("exec 2>&1; ", "stdout"), ("exec 2>&1\n", "stdout")])
def test_scripts_of_one_command_need_no_shell(cluster: Cluster, before: str, error: str) -> None:
    """A script that is one command of slurmhooks runs in a fork, too; its errors go where the script sends them."""
    cluster.put(SAYS, "/etc/slurm/hooks.d/says.py")
    done = cluster.root("sh", "-c", f"{before}slurmhooks deploy --dry-run")
    assert FORKED in (done.stdout if error else done.stderr)
    assert not (error and done.stderr)
    wrong = cluster.root("sh", "-ec", f"{before}slurmhooks nosuch")
    assert wrong.returncode == 2


def test_commands_are_those_of_the_machine(cluster: Cluster) -> None:
    """A machine whose package is another one starts its commands."""
    before = cluster.root("slurmhooks", "--version").stdout
    where = "/opt/slurmhooks/lib/python3*/site-packages/slurmhooks/_version.py"
    cluster.root("sh", "-ec", f"cp -p {where} /root/kept; echo '__version__ = \"changed\"' > /root/new")
    cluster.root("sh", "-ec", f"mv /root/new {where}", check=True)
    assert "changed" in cluster.root("slurmhooks", "--version").stdout
    cluster.root("sh", "-ec", f"mv /root/kept {where}", check=True)
    assert cluster.root("slurmhooks", "--version").stdout == before
    assert FORKED not in started(cluster)
