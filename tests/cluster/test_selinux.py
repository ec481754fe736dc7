# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks with SELinux in enforcing mode, in a virtual machine: Debian's policy, in whose default domains Slurm runs."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.carrying import HOOKS, hooked
from tests.cluster.conftest import Cluster
from tests.cluster.versions import TOML
from tests.cluster.virtual import PATIENT, Virtual, virtual

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.soak]

PACKAGES = ("policycoreutils", "selinux-policy-default")
PREPARE = """
printf 'SELINUX=permissive\\nSELINUXTYPE=default\\n' > /etc/selinux/config
load_policy -i
setfiles -F -q /etc/selinux/default/contexts/files/file_contexts / /dev /tmp
"""
"""Labels all files, as the first start of a machine with SELinux does."""
DOMAIN = "system_u:system_r:initrc_t:s0"
"""Of services that have no domain of their own, such as Slurm's."""
LINES = """
printf 'JobSubmitPlugins=python\\nMessageTimeout=120\\n' > /etc/slurm/local.conf
echo required spank_python.so > /etc/slurm/plugstack.conf
mkdir -p /etc/slurm/hooks.d
restorecon -R /etc/slurm
"""


@pytest.fixture(scope="module")
def enforcing(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    """A cluster on a machine with SELinux."""
    folder = tmp_path_factory.mktemp("machine")
    with virtual(cluster, folder, PACKAGES, PREPARE, enter=f"runcon {DOMAIN}", kernel="security=selinux") as machine:
        machine.root("sh", "-ec", LINES, check=True)
        machine.put(HOOKS, "/etc/slurm/hooks.d/site.py")
        machine.put(TOML + PATIENT, "/etc/slurm/slurmhooks.toml")
        machine.root("setenforce", "1", check=True)
        machine.deploy()
        yield machine


def denied(machine: Virtual) -> list[str]:
    """Return what SELinux has denied since the last call."""
    # dmesg has a domain of its own, which may not use this command's files.
    done = machine.root("sh", "-c", "dmesg --read-clear </dev/null 2>/dev/null | cat", check=True)
    return re.findall("avc: +denied .*", done.stdout)


def test_hooks_run(enforcing: Virtual) -> None:
    """Handlers run in slurmctld's workers and in tasks, and nothing is denied."""
    assert enforcing.root("getenforce").stdout == "Enforcing\n"
    denied(enforcing)
    assert hooked(enforcing) == ["hooked", "hooked"]
    assert denied(enforcing) == []
