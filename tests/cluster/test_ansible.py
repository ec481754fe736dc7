# SPDX-License-Identifier: GPL-2.0-or-later
"""The Ansible role of contrib on two real machines: the machine of slurmctld, and a node with files of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster import reporting
from tests.cluster.calls import SERVE
from tests.cluster.conftest import NAME, NODES, RELEASES, UNREACHABLE, Cluster, running
from tests.cluster.lab import places
from tests.cluster.versions import HOOKS, TOML

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.moved]

PROJECT = Path(__file__).resolve().parents[2]
ROLE = PROJECT / "contrib" / "ansible"
BIN = Path(sys.executable).parent
PREFIX = "/opt/site/slurmhooks"
PLUGIN_DIR = "/usr/local/lib/slurm"
PLAY_SECONDS = 600.0
RECAP = re.compile(r"^(ctl|n2) +: ok=\d+ +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.MULTILINE)
NODE = f"""
set -e
pid=$(cat /run/slurmd-n2.pid); kill $pid; while kill -0 $pid 2> /dev/null; do sleep 0.1; done
mkdir -p /opt/site
unshare --mount --propagation private sh -ec '
    mkdir /run/files; cp -a /etc/slurm /run/files
    for folder in /etc/slurm /opt/site {PLUGIN_DIR} /usr/local/bin; do mount -t tmpfs -o mode=755 none $folder; done
    cp -a /run/files/slurm/. /etc/slurm
    slurmd -N n2
    echo $$ > /run/n2.pid
    exec sleep infinity
' < /dev/null > /dev/null 2>&1 &
until test -s /run/n2.pid; do sleep 0.1; done
"""
SERVICE = """#!/bin/sh
# Stands in for the init script of a daemon, on the machine in whose mount namespace it runs.
machine() { readlink /proc/$1/ns/mnt; }
daemon=${0##*/}; command=$daemon; node=n1
[ "$(machine self)" = "$(machine "$(cat /run/n2.pid)")" ] && node=n2
[ $daemon = slurmd ] && { daemon=slurmd-$node; command="slurmd -N $node"; }
running() { kill -0 "$(cat /run/$daemon.pid)" 2>/dev/null; }
case $1 in
    status) running ;;
    start) running || $command ;;
    stop) kill "$(cat /run/$daemon.pid)"; while running; do sleep 0.1; done ;;
esac
"""
SSH = r"""#!/bin/bash
# Stands in for ssh: ssh [OPTION...] HOST COMMAND
enter=
[[ ${{@: -2:1}} == n2 ]] && enter='nsenter --mount --target $(cat /run/n2.pid)'
exec {run} exec {release} -- sh -c "exec $enter sh -c \"\$1\"" sh "${{@: -1}}"
"""
STATE = f"""
find /etc/slurm -type f ! -name .lock -exec md5sum {{}} + -o -type l -printf '%p %l\\n' | sort
find {PLUGIN_DIR} /usr/local/bin /opt/site ! -type d ! -name '*.pyc' -printf '%p %T@ %m %l\\n' | sort
"""
"""Prints the files and links that the role may change."""


class Machines(NamedTuple):
    """Two machines of a cluster, and the folder of the control node, with the inventory, keys and bundles."""

    cluster: Cluster
    folder: Path

    def play(self, name: str, *arguments: str) -> tuple[str, dict[str, tuple[int, int]]]:
        """Play a playbook of contrib; return its output, and for each machine how many tasks changed and failed."""
        command = [str(BIN / "ansible-playbook"), "-i", str(self.folder / "inventory.json"), str(ROLE / name)]
        environment = {
            **os.environ,
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "0",
            "SLURMHOOKS_CLUSTER": self.cluster.name,
        }
        done = subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True, timeout=PLAY_SECONDS, check=False
        )
        output = done.stdout + done.stderr
        recap = {row[1]: row.groups()[1:] for row in RECAP.finditer(done.stdout)}
        assert set(recap) == {"ctl", "n2"}, output
        assert {int(row[1]) for row in recap.values()} == {0}, output
        assert done.returncode == 0 or any(int(row[2]) for row in recap.values()), output
        return output, {name: (int(row[0]), int(row[2])) for name, row in recap.items()}

    def on(self, name: str, script: str) -> str:
        """Run a shell script on a machine, as root; return its output."""
        enter = "exec nsenter --mount --target $(cat /run/n2.pid) " if name == "n2" else ""
        return self.cluster.root("sh", "-ec", f'{enter}sh -ec "$SCRIPT"', check=True, env={"SCRIPT": script}).stdout

    def state(self) -> list[str]:
        """Return the files of both machines that the role may change."""
        return [self.on(name, STATE) for name in ("ctl", "n2")]

    def version(self) -> set[str]:
        """Return the versions of the policy that slurmctld and a task on each machine have in force."""
        said = self.cluster.user("alice", "sbatch", "--comment=refuse", "--wrap=true").stderr
        task = "import os; print(os.environ.get('POLICY', 'none'))"
        done = self.cluster.user("alice", "srun", "-N2", "/usr/bin/python3", "-c", task)
        return {*re.findall(r"version \d|job \d+", said + done.stderr), *done.stdout.splitlines()}

    def bundle(self, version: str, text: str, sign: bool = True) -> str:
        """Make a bundle; return the argument that names it."""
        tree = self.folder / version
        (tree / "hooks.d").mkdir(parents=True)
        (tree / "slurmhooks.toml").write_text(TOML)
        (tree / "hooks.d" / "site.py").write_text(text)
        path = self.folder / f"{version}.tar"
        key = ["--sign", str(self.folder / "key")] if sign else []
        command = [str(BIN / "slurmhooks"), "bundle", str(tree), "--output", str(path), *key]
        subprocess.run(command, check=True, capture_output=True)
        return f"slurmhooks_bundle={path}"


@pytest.fixture(scope="module", params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A fresh cluster of two nodes without slurmhooks."""
    if not (BIN / "ansible-playbook").exists():
        pytest.skip(f"{reporting.SKIPPED} THE ANSIBLE ROLE WAS PLAYED: ansible-core is missing, see pyproject.toml")
    with running(request.param, NAME, NODES) as instance:
        yield instance


@pytest.fixture(scope="module")
def machines(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Machines:
    """The cluster, whose second node has files of its own, with wheels and keys on the control node."""
    done = cluster.call("add", "openssh-client")
    if done.returncode == UNREACHABLE:
        pytest.skip(f"{reporting.SKIPPED} THE ANSIBLE ROLE WAS PLAYED: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    cluster.root("sh", "-ec", NODE, check=True)
    for name in ("slurmctld", "slurmd"):
        cluster.put(SERVICE, f"/etc/init.d/{name}", 0o755)
    folder = tmp_path_factory.mktemp("control")
    ssh = folder / "ssh"
    ssh.write_text(SSH.format(run=shlex.join(SERVE[:-1]), release=cluster.release))
    ssh.chmod(0o755)
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "policy@example.org", "-f", str(folder / "key")]
    subprocess.run(keygen, check=True)
    key = (folder / "key.pub").read_text()
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels)]
    subprocess.run([*pip, str(PROJECT)], check=True)
    kept = Path(places.cache(), "wheels", cluster.release)
    pack = ["tar", "-cf", str(folder / "wheels.tar"), "-C", str(kept), ".", "-C", str(wheels), "."]
    subprocess.run(pack, check=True)
    inventory = {
        "slurmctld": {"hosts": {"ctl": {"slurmhooks_services": ["slurmctld", "slurmd"]}}},
        "slurm_nodes": {"hosts": {"n2": {}}},
        "all": {
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_executable": str(ssh),
                "ansible_ssh_args": "",
                "ansible_ssh_transfer_method": "piped",
                "ansible_pipelining": True,
                "ansible_python_interpreter": "/usr/bin/python3",
                "slurmhooks_prefix": PREFIX,
                "slurmhooks_plugin_dir": PLUGIN_DIR,
                "slurmhooks_wheels": str(folder / "wheels.tar"),
                "slurmhooks_allowed_signers": f'policy@example.org namespaces="slurmhooks" {key}',
                "slurmhooks_manage_slurm_conf": True,
            }
        },
    }
    (folder / "inventory.json").write_text(json.dumps(inventory))
    return Machines(cluster, folder)


def test_the_role(machines: Machines) -> None:
    """It installs and deploys once, refuses what may not be in force, goes back, and starts no daemon again.

    Daemons before 23.11 are restarted once, because they load plugins only at their start.
    """
    reloads = machines.cluster.version >= (23, 11)
    first = machines.bundle("1", HOOKS.format(version=1))
    second = machines.bundle("2", HOOKS.format(version=2))
    state = machines.state()
    output, recap = machines.play("site.yml", "--check", "-e", first)
    assert outcomes(recap) == {"changed"}, output
    assert machines.state() == state

    output, recap = machines.play("site.yml", "-e", first)
    assert outcomes(recap) == {"changed"}, output
    assert ("Let all daemons load the changes" in output, "Restart the daemons" in output) == (reloads, not reloads)
    machines.cluster.wait(lambda: machines.version() == {"version 1"}, what="first policy in force")
    state, slurmctld = machines.state(), machines.on("ctl", "cat /run/slurmctld.pid")

    output, recap = machines.play("site.yml", "-e", first)
    assert recap == {"ctl": (0, 0), "n2": (0, 0)}, output
    output, recap = machines.play("policy.yml", "--check", "--diff", "-e", second)
    assert recap == {"ctl": (1, 0), "n2": (1, 0)}, output
    assert output.count('+        raise Reject("version 2")') == 2, output
    assert machines.state() == state

    for bundle, finding in (
        (machines.bundle("broken", "def ("), "SyntaxError"),
        (machines.bundle("unsigned", HOOKS.format(version=3), sign=False), "it must be signed"),
    ):
        output, recap = machines.play("policy.yml", "-e", bundle)
        assert recap == {"ctl": (0, 1), "n2": (0, 0)}, output
        assert finding in output
        assert machines.state() == state
    assert machines.version() == {"version 1"}

    output, recap = machines.play("policy.yml", "-e", second)
    assert recap == {"ctl": (1, 0), "n2": (1, 0)}, output
    assert machines.version() == {"version 2"}
    output, recap = machines.play("rollback.yml")
    assert recap == {"ctl": (1, 0), "n2": (1, 0)}, output
    assert machines.version() == {"version 1"}
    assert machines.on("ctl", "cat /run/slurmctld.pid") == slurmctld


def test_files_of_other_roles(machines: Machines) -> None:
    """A play puts in force what other roles have written to the machines, says so in check mode, and is idempotent."""
    machines.play("site.yml", "-e", machines.bundle("before", HOOKS.format(version=5)))
    play = ("policy.yml", "-e", "slurmhooks_source=/etc/slurm")

    def write(name: str, text: str) -> None:
        files = {"slurmhooks.toml": TOML, "hooks.d/site.py": text}
        words = [f"printf %s {shlex.quote(content)} > /etc/slurm/{path}" for path, content in files.items()]
        machines.on(name, "; ".join(["rm -f /etc/slurm/*.allowed_signers", "mkdir -p /etc/slurm/hooks.d", *words]))

    for name in ("ctl", "n2"):
        write(name, HOOKS.format(version=6))
    output, recap = machines.play(*play)
    assert recap == {"ctl": (1, 0), "n2": (1, 0)}, output
    assert machines.version() == {"version 6"}
    for more in ((), ("--check",)):
        output, recap = machines.play(*play, *more)
        assert recap == {"ctl": (0, 0), "n2": (0, 0)}, output
    # Both machines have one slurmctld here, which has the sets of the first one only.
    write("ctl", HOOKS.format(version=7))
    state = machines.state()
    output, recap = machines.play(*play, "--check", "--diff")
    assert recap == {"ctl": (1, 0), "n2": (0, 0)}, output
    assert output.count("hooks.d/site.py: changed") == 1, output
    assert machines.state() == state
    write("ctl", "def (")
    output, recap = machines.play(*play)
    assert recap == {"ctl": (0, 1), "n2": (0, 0)}, output
    assert "SyntaxError" in output
    assert machines.version() == {"version 6"}


def outcomes(recap: dict[str, tuple[int, int]]) -> set[str]:
    """Return in words what happened on the machines."""
    return {"failed" if failed else "changed" if changed else "ok" for changed, failed in recap.values()}
