# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles on a real cluster: `deploy` while jobs arrive, `rollback`, `status`, and a node without a configuration."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.conftest import NAME, NODES, RELEASES, running
from tests.cluster.spank.site import PLUGIN, Site
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("24.11", "26.05")
STAY = {"test_jobs_meet_one_version", "test_what_check_refuses", "test_rollback", "test_a_node_without_configuration"}

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
VERSION = re.compile(r"version (\d) in the file, (\d) in the package, (\d) in the other file")
FIRST = """
from our_limits import NUMBER
from slurmhooks import hook

@hook.job_submit
def first(job):
    job.comment = f"version {version} in the file, {{NUMBER}} in the package"

@hook.spank.task_init
def task(spank):
    spank.env["VERSION"] = "{version}"
"""
SECOND = """
from slurmhooks import Reject, hook

@hook.job_submit
def second(job, submit_uid):
    if submit_uid:
        raise Reject(f"{{job.comment}}, {version} in the other file")
"""
PROLOG = """
from slurmhooks import hook

@hook.spank.job_prolog
def prolog(spank):
    pass
"""
STATE = f"find /etc/slurm/slurmhooks* {PLUGIN} -type l -printf '%p %l\\n' -o -type f -exec md5sum {{}} + | sort"
"""Prints all files and links that a deployment may change."""
NODE = """
set -e
mount -t tmpfs -o mode=755 none /etc/slurm
mount -t tmpfs -o mode=755 none /run/slurm
cp -p /root/keys/* /etc/slurm
slurmd -N n2 --conf-server ctl:$1
"""


@pytest.fixture(scope="module", params=[release for release in RELEASES if release != "22.05"])
def cluster(request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """A fresh cluster of two nodes, of a release whose slurmctld distributes prologs."""
    with running(request.param, NAME, NODES, "--install") as instance:
        yield instance


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> Site:
    """The cluster, with versions of a policy as bundles /root/1.tar to /root/3.tar; the first one is in force.

    The third one has a prolog, too.
    """
    site = Site(cluster)
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    for version in (1, 2, 3):
        folder = f"/root/site{version}"
        cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\npackages = ["packages"]\n', f"{folder}/slurmhooks.toml")
        cluster.put(FIRST.format(version=version), f"{folder}/hooks.d/a.py")
        cluster.put(SECOND.format(version=version), f"{folder}/hooks.d/b.py")
        cluster.put(f"NUMBER = {version}\n", f"{folder}/packages/our_limits/__init__.py")
        if version == 3:
            cluster.put(PROLOG, f"{folder}/hooks.d/c.py")
        site.root(f"cd /root; slurmhooks bundle {folder} --output {version}.tar")
    site.root("slurmhooks deploy /root/1.tar")
    return site


def refused(site: Site) -> str:
    """Submit as a user.

    Return the version of the policy that refuses, all of whose parts must have the same version.
    """
    said = site.shell("sbatch --wrap=true").stdout
    match = VERSION.search(said)
    assert match is not None, said
    assert len(set(match.groups())) == 1, said
    return match[1]


def status(site: Site, *options: str) -> Any:
    """Return the report of `slurmhooks status`."""
    return json.loads(site.cluster.root("slurmhooks", "status", "--json", *options).stdout)


def test_jobs_meet_one_version(site: Site) -> None:
    """While versions are deployed, each job is refused by one version as a whole; afterwards the latest is in force."""
    site.root("rm -f /opt/stop; : > /opt/said; chmod 666 /opt/said")
    loop = "while [ ! -e /opt/stop ]; do sbatch --wrap=true >> /opt/said 2>&1; sleep 0.05; done"
    site.shell(f"for i in 1 2; do setsid sh -c '{loop}' < /dev/null > /dev/null 2>&1 & done", user="alice")
    try:
        site.cluster.wait(lambda: "version 1" in site.root("cat /opt/said"), what="submissions")
        for version in ("2", "1", "2"):
            site.root(f"slurmhooks deploy /root/{version}.tar")
            assert refused(site) == version
    finally:
        site.root("touch /opt/stop")
    said = site.root("cat /opt/said")
    lines = [line for line in said.splitlines() if "Batch job submission failed" not in line]
    versions = {match.groups() for match in map(VERSION.search, lines) if match is not None}
    assert versions == {("1", "1", "1"), ("2", "2", "2")}
    assert [line for line in lines if VERSION.search(line) is None] == []


def test_what_check_refuses(site: Site) -> None:
    """A bundle that the daemons would not load changes nothing."""
    site.root("slurmhooks deploy /root/1.tar; cp -r /root/site2 /root/bad; echo 'def (' >> /root/bad/hooks.d/b.py")
    site.root("cd /root; slurmhooks bundle bad --output bad.tar")
    before = site.root(STATE)
    done = site.cluster.root("slurmhooks", "deploy", "/root/bad.tar")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "stays in force" in done.stderr
    assert site.root(STATE) == before
    assert refused(site) == "1"


@pytest.mark.parametrize("folder", ["/etc/slurm", *moved("/etc/slurm/slurmhooks.d")])
def test_a_folder_that_is_mounted_read_only(site: Site, folder: str) -> None:
    """`deploy` and `rollback` say so, end with 1 and change nothing; `status` reports what is in force.

    Once the folder can be written, the same command succeeds.
    """
    site.root("slurmhooks deploy /root/2.tar; slurmhooks deploy /root/1.tar")
    before, present = site.root(STATE), status(site)
    assert present["findings"] == []
    site.root(f"mount --bind {folder} {folder}; mount -o remount,bind,ro {folder}")
    try:
        for command in ("deploy /root/3.tar", "rollback"):
            done = site.shell(f"slurmhooks {command}", user="root")
            assert done.returncode == 1, done.stdout
            assert "Read-only file system: " in done.stdout
            assert "Traceback" not in done.stdout
            assert site.root(STATE) == before, done.stdout
            assert refused(site) == "1"
            assert {**status(site), "rows": None} == {**present, "rows": None}
    finally:
        site.root(f"umount -l {folder}")
    site.root("slurmhooks deploy /root/3.tar")
    assert refused(site) == "3"
    assert status(site)["findings"] == []
    site.root("slurmhooks rollback")
    assert refused(site) == "1"


def test_a_configuration_that_is_mounted(site: Site) -> None:
    """A slurmhooks.toml that cannot be replaced is a source like any other: a set comes into force beside it."""
    toml = "/etc/slurm/slurmhooks.toml"
    site.root(f"cp {toml} /root/plain.toml; mount --bind /root/plain.toml {toml}")
    try:
        for version in ("1", "2"):
            site.root(f"slurmhooks deploy /root/{version}.tar")
            assert refused(site) == version
    finally:
        site.root(f"umount -l {toml}")


def test_killed(site: Site) -> None:
    """Wherever `deploy` is killed, jobs meet one version as a whole, and the next `deploy` succeeds."""
    site.root("slurmhooks deploy /root/1.tar")
    for seconds in ("0.4", "0.7", "1.0"):
        site.root(f"timeout -s KILL {seconds} slurmhooks deploy /root/2.tar || true")
        assert refused(site) in ("1", "2")
    site.root("slurmhooks deploy /root/2.tar")
    assert refused(site) == "2"


def test_rollback(site: Site) -> None:
    """The previous version is in force again, in slurmctld and in new steps."""
    site.root("slurmhooks deploy /root/1.tar; slurmhooks deploy /root/2.tar")
    site.root("slurmhooks rollback")
    assert refused(site) == "1"
    assert site.root("srun -w n1 sh -c 'echo $VERSION'").strip() == "1"


@pytest.mark.moved
def test_the_page(site: Site) -> None:
    """The commands of the page work, one after the other."""
    site.root("slurmhooks deploy /root/2.tar; rm -rf /root/site; cp -r /root/site2 /root/site")
    site.root("cp -r /root/site1/* /etc/slurm")
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    site.cluster.put("set -ex\ncd /root\n" + "".join(blocks), "/root/page.sh")
    done = site.shell("sh /root/page.sh", user="root")
    assert done.returncode == 0, done.stdout
    assert refused(site) == "2"


def test_a_node_without_configuration(site: Site) -> None:
    """slurmctld sends a bundle to a configless node in a prolog; status names the node while it has another bundle.

    If the bundle cannot be deployed on the node, it is drained, and no step runs there.
    """
    if site.cluster.release.startswith("23.11"):
        # Its slurmstepd waits forever for an answer of auth/slurm, even without a plugin or a prolog of slurmhooks.
        pytest.skip("NO CONFIGLESS NODE OF 23.11 WAS TESTED: steps do not end on a node with its own /run/slurm")
    site.root("slurmhooks deploy /root/1.tar; rm -rf /root/keys; mkdir /root/keys; cp -p /etc/slurm/*.key /root/keys")
    site.root("slurmhooks deploy /root/1.tar --prolog /etc/slurm/slurmhooks-prolog")
    site.root("printf 'required spank_python.so\\n' > /etc/slurm/plugstack.conf")
    site.root(f"rm -f {Path(PLUGIN).parent}/slurmhooks/expects-set")  # the node shares the folder
    site.root("sed -i '/^PlugStackConfig/d; s|^Include /etc/slurm/|Include |' /etc/slurm/slurm.conf")
    site.root("printf 'SlurmctldParameters=enable_configless\\nProlog=slurmhooks-prolog\\n' >> /etc/slurm/local.conf")
    site.cluster.restart()
    port = site.root("sed -n 's/^SlurmctldPort=//p' /etc/slurm/slurm.conf").strip()
    site.root("pid=$(cat /run/slurmd-n2.pid); kill $pid; while kill -0 $pid 2> /dev/null; do sleep 0.1; done")
    site.cluster.put(NODE, "/root/node.sh")
    site.root(f"unshare -m sh /root/node.sh {port}")
    site.cluster.wait(lambda: "idle" in site.root("sinfo -h -n n2 -o %T"), what="node n2")
    try:
        assert version_on_n2(site) == "1"
        inside = "nsenter -t $(cat /run/slurmd-n2.pid) -m env -i PATH=$PATH SLURMD_NODENAME=n2"
        site.root(f"{inside} {Path(PLUGIN).parent}/slurmhooks/slurmhooks_health")  # 1: there would be no set
        assert "/conf-cache/slurmhooks.d/sets/" in site.root(f"{inside} slurmhooks check")
        report = status(site, "--srun")
        assert report["findings"] == []
        assert [row["where"] for row in report["rows"] if row["state"] == "current"][:3] == ["ctl", "n1", "n2"]
        site.root("slurmhooks deploy /root/2.tar --prolog /etc/slurm/slurmhooks-prolog")
        report = status(site, "--srun", "--nodes", "n[1-2]")
        assert [text for text in report["findings"] if "n2" in text] == [f"n2: behind: has {report['kept'][-2]}"]
        site.root("scontrol reconfigure")
        site.cluster.wait(lambda: version_on_n2(site) == "2", what="prolog of the second version")
        assert status(site, "--srun")["findings"] == []
        lock = "/var/spool/slurm/n2/conf-cache/slurmhooks.d/.lock"
        site.root(f"rm {lock}; mkdir {lock}")
        site.root("slurmhooks deploy /root/1.tar --prolog /etc/slurm/slurmhooks-prolog; scontrol reconfigure")
        site.cluster.wait(lambda: not step_on_n2(site), what="prolog that fails")
        assert "drain" in site.root("sinfo -h -n n2 -o %T")
    finally:
        site.root("pid=$(cat /run/slurmd-n2.pid) && kill $pid || true")


def step_on_n2(site: Site) -> bool:
    """Tell whether a step can run on n2, where the previous version must then be in force."""
    done = site.shell("srun -w n2 --immediate=20 sh -c 'echo $VERSION'", user="root")
    assert done.returncode or done.stdout == "2\n", done.stdout
    return not done.returncode


def version_on_n2(site: Site) -> str:
    """Return the version of the policy that a step on n2 gets."""
    return site.root("srun -w n2 sh -c 'echo $VERSION'").strip()
