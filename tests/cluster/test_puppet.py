# SPDX-License-Identifier: GPL-2.0-or-later
"""The Puppet class of contrib, applied to the machine of slurmctld in a real cluster."""

import re
from pathlib import Path

import pytest

from tests.cluster import reporting
from tests.cluster.conftest import UNREACHABLE, UP_SECONDS, Cluster
from tests.cluster.versions import HOOKS, TOML

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.soak, pytest.mark.deploys]

CLASS = Path(__file__).resolve().parents[2] / "contrib" / "puppet" / "slurmhooks" / "manifests" / "init.pp"
MODULES = "/root/modules"
NOTHING, CHANGED, FAILED = 0, 2, 4
"""Exit codes of Puppet."""
SIGNERS = "/etc/slurm/slurmhooks.allowed_signers"


@pytest.fixture(scope="module")
def machine(cluster: Cluster) -> Cluster:
    """A machine with Puppet and the class, bundles of two versions and of one that is broken, and keys."""
    done = cluster.call("add", "puppet-agent", "openssh-client", timeout=UP_SECONDS)
    if done.returncode == UNREACHABLE:
        pytest.skip(f"{reporting.SKIPPED} THE PUPPET CLASS WAS APPLIED: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(CLASS, f"{MODULES}/slurmhooks/manifests/init.pp")
    for name in ("good", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "policy@example.org", "-f", f"/root/{name}"]
        cluster.root(*command, check=True)
    sources = {"1": HOOKS.format(version=1), "2": HOOKS.format(version=2), "broken": "def ("}
    for name, text in sources.items():
        cluster.put(TOML, f"/root/{name}/slurmhooks.toml")
        cluster.put(text, f"/root/{name}/hooks.d/site.py")
        cluster.root("slurmhooks", "bundle", f"/root/{name}", "--output", f"/root/{name}.tar", check=True)
    return cluster


def apply(machine: Cluster, bundle: str = "", more: str = "", source: str = "") -> tuple[int, str]:
    """Apply the class with a bundle, or with a folder; return Puppet's exit code, and what it says."""
    command = machine.root("sh", "-c", "command -v slurmhooks", check=True).stdout.strip()
    policy = f"source => '{source}'" if source else f"bundle => '/root/{bundle}.tar'"
    text = f"class {{ 'slurmhooks': {policy}, packages => [], command => '{command}'{more} }}"
    done = machine.root("puppet", "apply", "--detailed-exitcodes", f"--modulepath={MODULES}", "--execute", text)
    return done.returncode, done.stdout + done.stderr


def version(machine: Cluster) -> set[str]:
    """Return the versions of the policy that slurmctld and a task have in force."""
    said = machine.user("alice", "sbatch", "--comment=refuse", "--wrap=true").stderr
    return {*re.findall(r"version \d", said), machine.user("alice", "srun", "printenv", "POLICY").stdout.strip()}


def test_the_class(machine: Cluster) -> None:
    """It deploys a bundle once, another one later, and tries again while one is refused; no daemon starts again."""
    slurmctld = machine.root("cat", "/run/slurmctld.pid").stdout
    for number in ("1", "2"):
        code, output = apply(machine, number)
        assert code == CHANGED, output
        assert version(machine) == {f"version {number}"}
        code, output = apply(machine, number)
        assert code == NOTHING, output
    for _ in range(2):
        code, output = apply(machine, "broken")
        assert code & FAILED, output
        assert output.count("is not deployed") == 1
        assert version(machine) == {"version 2"}
    code, output = apply(machine, "1")
    assert code == CHANGED, output
    assert version(machine) == {"version 1"}
    assert machine.root("cat", "/run/slurmctld.pid").stdout == slurmctld


def test_keys(machine: Cluster) -> None:
    """With keys, a bundle whose signature is of another key is not deployed, and a signed one is."""
    key = machine.root("cat", "/root/good.pub", check=True).stdout.strip()
    signers = f", allowed_signers => '{key.split()[-1]} namespaces=\"slurmhooks\" {key}'"
    for name, code, number in (("other", CHANGED | FAILED, "1"), ("good", CHANGED, "2")):
        command = ["slurmhooks", "bundle", "/root/2", "--output", "/root/2.tar", "--sign", f"/root/{name}"]
        machine.root(*command, check=True)
        done, output = apply(machine, "2", signers)
        assert done == code, output
        assert version(machine) == {f"version {number}"}
    assert machine.root("stat", "-c", "%U %a", SIGNERS).stdout == "root 644\n"
    assert apply(machine, "2", signers)[0] == NOTHING


def test_a_folder(machine: Cluster) -> None:
    """What other classes have written is in force after a run, and a run without a change changes nothing."""
    machine.root("rm", "-f", SIGNERS)
    for number in ("1", "2"):
        machine.put(TOML, "/etc/slurm/slurmhooks.toml")
        machine.put(HOOKS.format(version=number), "/etc/slurm/hooks.d/site.py")
        code, output = apply(machine, source="/etc/slurm")
        assert code == CHANGED, output
        assert version(machine) == {f"version {number}"}
        code, output = apply(machine, source="/etc/slurm")
        assert code == NOTHING, output
    machine.put("def (", "/etc/slurm/hooks.d/site.py")
    code, output = apply(machine, source="/etc/slurm")
    assert code & FAILED, output
    assert output.count("is not deployed") == 1
    assert version(machine) == {"version 2"}
