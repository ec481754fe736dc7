# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine whose /etc/slurm cannot be written: slurmhooks.home names the folder of what slurmhooks writes."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.standby import standby

pytestmark = [pytest.mark.one_release("22.05"), pytest.mark.deploys]

HOME = "/var/lib/slurmhooks"
SPOOL = "/var/lib/slurmhooks-spool"
NO_MANIFEST = "no hook manifest"
TOML = f'hooks = {{ paths = ["hooks.d/*.py"] }}\njobcomp = {{ spool = "{SPOOL}" }}\n'
HANDLERS = """
from slurmhooks import Reject, hook

@hook.job_submit
def limit(job):
    if job.script is not None and job.name != "pass":
        raise Reject("version {version}")

@hook.spank.task_init
def mark(spank):
    spank.env["VERSION"] = "{version}"
"""
RECORDS = """
from slurmhooks import hook

@hook.job_end
def delivered(record):
    with open("{spool}/delivered", "a") as file:
        file.write(f"{{record.job_id}}\\n")
"""
SEALED = f"""
    rm -rf /etc/slurm/slurmhooks.* {HOME}
    mkdir -p /var/lib/slurmhooks-spool
    chown slurm: {SPOOL}
    echo {HOME} > /etc/slurm/slurmhooks.home
    echo JobCompType=jobcomp/python >> /etc/slurm/local.conf
    echo Prolog=/opt/prolog >> /etc/slurm/local.conf
    printf '#!/bin/sh\n' > /opt/prolog
    chmod 755 /opt/prolog
    mount --bind -o ro /etc/slurm /etc/slurm
"""


@pytest.fixture(scope="module")
def sealed(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with bundles /root/1.tar and /root/2.tar, and with /etc/slurm read-only; nothing is deployed."""
    for version in (1, 2):
        cluster.put(TOML, f"/root/{version}/slurmhooks.toml")
        cluster.put(HANDLERS.format(version=version), f"/root/{version}/hooks.d/site.py")
        if cluster.has_sources:
            cluster.put(RECORDS.format(spool=SPOOL), f"/root/{version}/hooks.d/records.py")
        cluster.root("slurmhooks", "bundle", f"/root/{version}", "--output", f"/root/{version}.tar", check=True)
    cluster.root("sh", "-ec", SEALED, check=True)
    yield cluster
    cluster.root("umount", "/etc/slurm")


def refusal(cluster: Cluster) -> str:
    """Return what a user reads whose submission is refused."""
    return cluster.user("alice", "sbatch", "--output=/dev/null", "--wrap", "true").stderr


def is_written(cluster: Cluster) -> str:
    """Return the names in the home, and that nothing else of ours is beside slurm.conf."""
    assert cluster.root("sh", "-c", "ls -d /etc/slurm/slurmhooks*").stdout == "/etc/slurm/slurmhooks.home\n"
    return cluster.root("ls", HOME, check=True).stdout


def test_no_policy_is_no_leave(sealed: Cluster) -> None:
    """Until a bundle is in the home, or if the home is not mounted, requests are refused, and the texts say why."""
    sealed.restart("slurmctld")
    missing = f"{HOME}/slurmhooks.set: does not exist, but /etc/slurm/slurmhooks.home names its folder"
    assert sealed.user("alice", "sbatch", "--wrap", "true").returncode == 1
    assert missing in sealed.log("slurmctld")
    check = sealed.root("slurmhooks", "check")
    assert check.returncode == 1
    assert missing in check.stderr


def test_deploy_into_the_home(sealed: Cluster) -> None:
    """The first bundle, the next one and rollback come into force in slurmctld and in tasks, without a restart."""
    sealed.root("mkdir", "-p", HOME, check=True)
    for command, version in ((("deploy", "/root/1.tar"), 1), (("deploy", "/root/2.tar"), 2), (("rollback",), 1)):
        done = sealed.root("slurmhooks", *command)
        assert done.returncode == 0, done.stderr
        assert f"version {version}" in refusal(sealed)
        if version == 1:
            sealed.restart("n1", "n2")
        printed = sealed.user("alice", "srun", "-w", "n1", "printenv", "VERSION").stdout
        assert printed == f"{version}\n", sealed.log("n1")
    assert is_written(sealed).split() == ["slurmhooks.d", "slurmhooks.set"]
    status = json.loads(sealed.root("slurmhooks", "status", "--json", check=True).stdout)
    assert {row["state"] for row in status["rows"]} == {"current"}
    assert "up to date" in sealed.root("slurmhooks", "check", check=True).stdout


def test_a_prolog_deploys_into_the_home(sealed: Cluster) -> None:
    """A Prolog that carries a bundle puts it in force in the home before the job's tasks; later ones change nothing."""
    carry = "slurmhooks deploy /root/2.tar --prolog /opt/carrier; slurmhooks rollback; mv /opt/carrier /opt/prolog"
    sealed.root("sh", "-ec", carry, check=True)
    done = sealed.user("alice", "srun", "-w", "n1", "printenv", "VERSION")
    assert done.stdout == "2\n", done.stderr + sealed.log("n1")
    assert is_written(sealed).split() == ["slurmhooks.d", "slurmhooks.set"]
    assert sealed.root("find", HOME, "-name", ".slurmhooks-deploy.*", check=True).stdout == ""
    when = sealed.root("stat", "-c", "%Y %i", f"{HOME}/slurmhooks.set", check=True).stdout
    assert sealed.user("alice", "srun", "-w", "n1", "printenv", "VERSION").stdout == "2\n"
    assert sealed.root("stat", "-c", "%Y %i", f"{HOME}/slurmhooks.set", check=True).stdout == when
    sealed.root("sh", "-c", "printf '#!/bin/sh\n' > /opt/prolog", check=True)
    sealed.root("slurmhooks", "rollback", check=True)


def test_launches_use_the_manifest(sealed: Cluster) -> None:
    """Processes of users and of root take the manifest of the home; without it Python starts, and the log says so."""
    sealed.root("slurmhooks", "deploy", "/root/1.tar", check=True)

    def complaints() -> int:
        before = sealed.log("n1").count(NO_MANIFEST)
        sealed.user("alice", "srun", "-w", "n1", "true", check=True)
        return sealed.log("n1").count(NO_MANIFEST) - before

    assert complaints() == 0
    sealed.root("mv", f"{HOME}/slurmhooks.set/.manifest", f"{HOME}/away", check=True)
    assert complaints() > 0
    sealed.root("mv", f"{HOME}/away", f"{HOME}/slurmhooks.set/.manifest", check=True)


def test_the_spool_is_elsewhere(sealed: Cluster) -> None:
    """Records of ended jobs wait in the folder that the policy names, and are delivered."""
    done = sealed.user("alice", "sbatch", "--parsable", "--job-name=pass", "--output=/dev/null", "--wrap=true")
    assert done.returncode == 0, done.stderr
    if not sealed.has_sources:
        pytest.skip("the build has only public headers")
    job = done.stdout.strip()
    sealed.wait(lambda: job in sealed.root("cat", f"{SPOOL}/delivered").stdout.split(), what="the delivery of a record")


def test_each_controller_has_a_home_of_its_own(sealed: Cluster) -> None:
    """A standby that takes over refuses all until its own home has a set, and then obeys that one only."""
    sealed.root("slurmhooks", "deploy", "/root/2.tar")
    sealed.root("mount", "-o", "remount,bind,rw", "/etc/slurm", check=True)
    with standby(sealed, f"mount -t tmpfs -o mode=755 none {HOME}") as other:
        assert "version 2" in refusal(sealed)
        other.run("scontrol takeover")
        sealed.wait(other.serves, what="takeover")
        sealed.wait(lambda: "could not be loaded" in refusal(sealed), what="refusal")
        assert f"{HOME}/slurmhooks.set: does not exist, but /etc/slurm/slurmhooks.home" in other.log()
        other.run("slurmhooks deploy /root/1.tar")
        sealed.wait(lambda: "version 1" in refusal(sealed), what="the set of the standby")
    sealed.root("mount", "-o", "remount,bind,ro", "/etc/slurm", check=True)
    sealed.wait(lambda: "version 2" in refusal(sealed), what="the set of the primary controller")
