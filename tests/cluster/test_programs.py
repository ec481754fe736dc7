# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of docs/programs.md, run by real daemons."""

from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

SCRIPTS = Path(__file__).parents[2] / "contrib/programs"
FOLDER = "/var/lib/slurm/programs"
CONF = f"""
SlurmctldPrimaryOnProg={FOLDER}/primary_on
SlurmctldPrimaryOffProg={FOLDER}/primary_off
UnkillableStepProgram={FOLDER}/unkillable
UnkillableStepTimeout=2
RebootProgram={FOLDER}/reboot
"""
NOTE = f'#!/bin/sh\necho "$0 $*" >> {FOLDER}/notes\n'
SYSTEM_LOG = """
import os, socket
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind("/dev/log")
os.chmod("/dev/log", 0o666)
while True:
    print(server.recv(8192).decode(), flush=True)
"""
TRACER = """
import ctypes, sys, time
# The parent of a traced process does not learn of its end as long as the tracer does not.
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0
print("traced", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster whose programs are the scripts; what they would do to the machine is noted instead."""
    cluster.shell(f"mkdir -p {FOLDER}; chown slurm {FOLDER}; touch {FOLDER}/notes; chmod 666 {FOLDER}/notes")
    cluster.put(NOTE, f"{FOLDER}/act", 0o755)
    for name, changes in {
        "primary": {
            '"/usr/bin/sudo", "-n", "/usr/local/sbin/move-address"': f'"{FOLDER}/act", "move"',
            "/var/spool/slurmctld/primary.host": f"{FOLDER}/primary.host",
        },
        "unkillable": {},
        "reboot": {
            '"/sbin/shutdown", "-r", "now"': f'"{FOLDER}/act", "reboot"',
            "/etc/next-boot-features": f"{FOLDER}/features",
        },
        "huge_pages": {"/sys/kernel/mm/transparent_hugepage/enabled": f"{FOLDER}/enabled"},
        "node_down": {"/var/lib/slurm/nodes-down": f"{FOLDER}/nodes-down"},
        "job_namespace": {"/local/scratch": f"{FOLDER}/scratch"},
    }.items():
        text = (SCRIPTS / f"{name}.py").read_text()
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        cluster.put(text.replace("#!/usr/bin/env python3", "#!/usr/bin/python3"), f"{FOLDER}/{name}", 0o755)
    cluster.shell(f"cd {FOLDER}; ln -s primary primary_on; ln -s primary primary_off")
    cluster.shell(f"cd {FOLDER}; for at in begin end; do ln -s job_namespace job_namespace_$at; done; mkdir /scratch")
    cluster.put(SYSTEM_LOG, "/etc/slurm/system_log.py")
    cluster.shell("setsid python3 /etc/slurm/system_log.py > /var/log/slurm/system 2>&1 < /dev/null &")
    cluster.put(TRACER, "/etc/slurm/tracer.py")
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.restart()
    return cluster


def notes(cluster: Cluster, word: str) -> int:
    """Return how often the scripts did something to the machine."""
    return cluster.shell(f"cat {FOLDER}/notes").count(word)


def test_the_address_moves_once(site: Cluster) -> None:
    """It moves at the first start, and not at further starts and reconfigurations; but once another machine had it."""
    site.wait(lambda: notes(site, "move") == 1, what="the address")
    site.root("scontrol", "reconfigure", check=True)
    site.restart("slurmctld")
    site.root("scontrol", "ping", check=True)
    site.wait(lambda: site.shell(f"cat {FOLDER}/primary.host") == site.shell("uname -n"), what="the name")
    assert notes(site, "move") == 1
    site.put("other", f"{FOLDER}/primary.host")
    site.shell(f"chown slurm {FOLDER}/primary.host")
    site.restart("slurmctld")
    site.wait(lambda: notes(site, "move") == 2, what="the address again")


def test_a_job_asks_for_a_feature(site: Cluster) -> None:
    """The helper says which feature is active, and sets another one."""
    if site.version < (24, 5):
        pytest.skip("a feature that takes a reboot leaves the node in a reboot that nothing ends here")
    helper = f"Feature=thp_always,thp_madvise,thp_never Helper={FOLDER}/huge_pages Flags=rebootless\n"
    site.put(helper, "/etc/slurm/helpers.conf")
    site.put("always [madvise] never\n", f"{FOLDER}/enabled", 0o644)
    site.put(f"{CONF}NodeFeaturesPlugins=node_features/helpers\n", "/etc/slurm/local.conf")
    site.restart()

    def active() -> str:
        shown = site.root("scontrol", "show", "node", "n1", check=True).stdout
        return shown.partition("ActiveFeatures=")[2].split()[0]

    site.wait(lambda: active() == "thp_madvise", what="the feature")
    site.user("alice", "sbatch", "-w", "n1", "-C", "thp_never", "-o", "/dev/null", "--wrap=true", check=True)
    site.wait(lambda: site.shell(f"cat {FOLDER}/enabled") == "never", 120, "the setting")
    site.wait(lambda: active() == "thp_never", what="the other feature")
    site.wait(lambda: site.shell("squeue -h") == "", 240, "the end of the job")
    site.wait(lambda: "State=IDLE " in site.root("scontrol", "show", "node", "n1").stdout, 60, "the idle node")
    site.put(CONF, "/etc/slurm/local.conf")
    site.restart()


@pytest.mark.parametrize("plugin", ["job_container/tmpfs", "namespace/tmpfs", "namespace/linux"])
def test_a_job_has_a_folder_in_its_namespace(site: Cluster, plugin: str) -> None:
    """The job, and only the job, sees it as /scratch, and it is gone afterwards."""
    if site.version < (24, 5):
        pytest.skip("this release starts no script for a namespace")
    kind, _, name = plugin.partition("/")
    if (kind == "namespace") != (site.version >= (25, 11)):
        pytest.skip("this release does not have the plugin")
    begin, end = (f"{FOLDER}/job_namespace_{at}" for at in ("begin", "end"))
    if name == "linux":
        yaml = "defaults:\n  auto_base_path: true\n  base_path: /run/namespaces/%n\n  dirs: /tmp\n  shared: true\n"
        site.put(f"{yaml}  clone_ns_script: {begin}\n  clone_ns_epilog: {end}\n", "/etc/slurm/namespace.yaml")
    else:
        text = "AutoBasePath=true\nDirs=/tmp\nShared=true\nBasePath=/run/namespaces/%n"
        site.put(f"{text} CloneNSScript={begin} CloneNSEpilog={end}\n", "/etc/slurm/job_container.conf")
    parameter = "NamespaceType" if kind == "namespace" else "JobContainerType"
    site.put(f"{CONF}{parameter}={plugin}\nPrologFlags=Contain\n", "/etc/slurm/local.conf")
    site.restart()
    script = "echo 42 > /scratch/file; ls /scratch; stat -c %U:%a /scratch"
    output = site.user("alice", "srun", "-t1", "-w", "n1", "sh", "-c", script, check=True).stdout
    assert output == "file\nalice:700\n"
    assert site.shell("ls /scratch") == ""
    site.wait(lambda: site.shell(f"ls {FOLDER}/scratch") == "", 60, "the end of the folder")
    works = site.shell(f"cat {FOLDER}/job_namespace")
    site.put("#!/bin/sh\nexit 1\n", f"{FOLDER}/job_namespace", 0o755)
    assert site.user("alice", "srun", "-t1", "-w", "n1", "true").returncode != 0
    site.wait(lambda: "State=IDLE" in site.root("scontrol", "show", "node", "n1").stdout, 60, "the idle node")
    site.put(works, f"{FOLDER}/job_namespace", 0o755)
    site.put(CONF, "/etc/slurm/local.conf")
    site.restart()


def test_a_node_reboots_with_features(site: Cluster) -> None:
    """slurmd runs the script, which is given no PATH in 26.05."""
    site.root("scontrol", "reboot", "n2", check=True)
    site.wait(lambda: notes(site, "reboot") == 1, 120, "the reboot")


def test_a_step_that_cannot_be_ended(site: Cluster) -> None:
    """The log says which process is left, and the node is drained."""
    if site.version >= (26, 5):
        pytest.skip("26.05 did not run the program within three minutes for a process that a tracer keeps")
    script = "echo $$ > /home/alice/pid; exec sleep 1000"
    site.user("alice", "sbatch", "-w", "n1", "-o", "/dev/null", f"--wrap={script}", check=True)
    site.wait(lambda: site.shell("cat /home/alice/pid"), what="the process")
    site.shell("setsid python3 /etc/slurm/tracer.py $(cat /home/alice/pid) > /var/log/slurm/tracer 2>&1 < /dev/null &")
    site.wait(lambda: "traced" in site.shell("cat /var/log/slurm/tracer"), what="the tracer")
    pid = site.shell("cat /home/alice/pid")
    try:
        site.root("scancel", "-u", "alice", check=True)
        site.wait(lambda: f".batch: {pid} sleep Z " in site.shell("cat /var/log/slurm/system"), 180, "the line")
        site.wait(lambda: "DRAIN" in site.root("scontrol", "show", "node", "n1").stdout, what="the drain")
    finally:
        site.root("pkill", "-f", "slurm/tracer.py")


def test_a_trigger(site: Cluster) -> None:
    """slurmctld runs the program as SlurmUser, who has set the trigger, with the names of the nodes."""
    for user, succeeds in (("alice", False), ("slurm", True)):
        set_it = "strigger --set --node=n2 --down --program="
        done = site.root("sh", "-c", f"setpriv --reuid={user} --regid={user} --clear-groups {set_it}{FOLDER}/node_down")
        assert (done.returncode == 0) == succeeds, done.stderr
    site.shell("scontrol update nodename=n2 state=down reason=trial")
    site.wait(lambda: site.shell(f"cat {FOLDER}/nodes-down 2>/dev/null || :"), 60, "the trigger")
    site.shell("scontrol update nodename=n2 state=resume")
    assert site.shell(f"cat {FOLDER}/nodes-down").split()[1:] == ["n2"]
    assert site.shell(f"stat -c %U {FOLDER}/nodes-down") == "slurm"
