# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic handlers and two controllers, with real slurmctlds: each run happens once.

StateSaveLocation is a folder of this machine, and in ``make soak`` also one of an NFS server, which each controller
mounts from a network of its own: two clients, between which only the server decides who has a lock.
"""

import contextlib
import re
import time
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.standby import PRIMARY, Standby, standby
from tests.cluster.virtual import PATIENT, Virtual, virtual

WHERE = """
import os, time
from slurmhooks import hook

def note(text):
    with open("/var/lib/slurm/where", "a") as file:
        file.write(f"{os.uname().nodename} {text}\\n")

@hook.every("10s")
def where(jobs):
    note(int(time.time() // 10))

@hook.every("10s", timeout=3600)
def waits():
    if os.path.exists("/var/lib/slurm/wait"):
        note("waits")
        time.sleep(1000)
"""
NOTES = "/var/lib/slurm/where"
STATE = "/var/lib/slurm/slurmctld"
PACKAGES = ("nfs-kernel-server",)
MOUNT = "mount -t nfs4 {server}:/ " + STATE
SERVE = f"""
    modprobe nfsd
    mount -t nfsd none /proc/fs/nfsd
    for name in leasetime gracetime; do echo 10 > /proc/fs/nfsd/nfsv4$name; done
    mkdir -p /var/lib/nfs {STATE}; touch /var/lib/nfs/etab
    install -d -o slurm /srv/state
    rpc.mountd --no-nfs-version 3
    exportfs -o rw,no_root_squash,no_subtree_check,fsid=0 '*:/srv/state'
    rpc.nfsd --no-nfs-version 3 2
    {MOUNT.format(server="127.0.0.1")}
"""


def runs(site: Cluster) -> list[tuple[str, str]]:
    """Return the runs of the rule `where`, in order: the controller, and which of its times it was."""
    lines = (line.split() for line in site.root("cat", NOTES).stdout.splitlines())
    return [(host, run) for host, run in lines if run != "waits"]


def hosts(site: Cluster) -> list[str]:
    """Return on which controllers the rule `where` has run, in order."""
    return [host for host, _ in runs(site)]


def shell(site: Cluster, command: str) -> None:
    """Run a shell command on the primary controller."""
    site.root("sh", "-c", command, check=True)


def log(cluster: Cluster) -> str:
    """Return the log of the primary controller."""
    return cluster.root("cat", "/var/log/slurm/slurmctld.log").stdout


@pytest.fixture(scope="module", params=["local", pytest.param("NFS", marks=pytest.mark.soak)])
def site(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster with rules that note where they run."""
    if not cluster.has_sources:
        pytest.skip("the build has only public headers")
    with contextlib.ExitStack() as stack:
        if request.param == "NFS":
            folder = tmp_path_factory.mktemp("machine")
            cluster = stack.enter_context(virtual(cluster, folder, PACKAGES, drivers="net/veth"))
            cluster.root("sh", "-ec", SERVE, check=True)
        slow, patient = ("MessageTimeout=120\n", PATIENT) if isinstance(cluster, Virtual) else ("", "")
        cluster.put(f"JobSubmitPlugins=python\n{slow}", "/etc/slurm/local.conf")
        cluster.put(f'[hooks]\npaths = ["hooks.d/*.py"]\n{patient}', "/etc/slurm/slurmhooks.toml")
        cluster.put(WHERE, "/etc/slurm/hooks.d/where.py")
        cluster.deploy()
        yield cluster


@pytest.fixture
def pair(site: Cluster) -> Iterator[tuple[Cluster, Standby]]:
    """Two controllers; the first run has been."""
    with standby(site, MOUNT.format(server=PRIMARY) if isinstance(site, Virtual) else "") as other:
        shell(site, f"rm -f /var/lib/slurm/wait; install -o slurm /dev/null {NOTES}")
        site.wait(lambda: hosts(site), what="a run")
        yield site, other


@pytest.mark.moved
@pytest.mark.one_release("24.11")
def test_only_the_controller_in_control_runs_rules(pair: tuple[Cluster, Standby]) -> None:
    """A standby runs no rule until it takes control; then it does, and the former controller no longer does."""
    site, _ = pair
    site.wait(lambda: len(hosts(site)) >= 3, what="three runs")
    assert set(hosts(site)) == {"ctl"}
    site.root("scontrol", "takeover", check=True)
    site.wait(lambda: hosts(site)[-2:] == ["ctl2", "ctl2"], timeout=100, what="runs of the standby")
    first = hosts(site).index("ctl2")
    assert set(hosts(site)[first:]) == {"ctl2"}
    assert len(set(runs(site))) == len(runs(site))


@pytest.mark.one_release("24.11")
@pytest.mark.soak
@pytest.mark.parametrize("last", ["ctl", "ctl2"])
def test_each_run_happens_once_while_two_controllers_are_in_control(pair: tuple[Cluster, Standby], last: str) -> None:
    """Each run happens on one of two controllers: runs go on while the primary hangs, when it goes on, and if one ends.

    Commands and the log of the primary say that the other one runs the rules, until it has got back control.
    """
    site, other = pair

    def go_on(what: str) -> list[str]:
        """Wait for three more runs; return where they were."""
        before = len(hosts(site))
        site.wait(lambda: len(hosts(site)) >= before + 3, timeout=100, what=f"runs {what}")
        return hosts(site)[before:]

    shell(site, "kill -STOP $(cat /run/slurmctld.pid)")
    site.wait(other.serves, timeout=100, what="takeover")
    assert set(go_on("while the primary hangs")[1:]) == {"ctl2"}
    shell(site, "kill -CONT $(cat /run/slurmctld.pid)")
    tells = "another slurmctld is in control, too, and runs the periodic handlers: that on ctl2"
    site.wait(lambda: tells in log(site), timeout=100, what="line of the primary")
    # On an emulated processor runs are so late that the primary may take the rules over at once.
    if not isinstance(site, Virtual):
        status = site.root("slurmhooks", "status")
        assert f"slurmctld, job_submit: {tells}" in status.stderr, status.stdout + status.stderr
    go_on("of two controllers")
    if last == "ctl":
        other.run("kill -9 $(cat /run/slurmctld.pid)")
    else:
        shell(site, "kill -9 $(cat /run/slurmctld.pid)")
    assert set(go_on("of the last controller")[1:]) == {last}
    times = [run for _, run in runs(site)]
    assert len(times) == len(set(times)), runs(site)


@pytest.mark.one_release("24.11")
@pytest.mark.soak
def test_a_machine_that_hangs_while_a_rule_runs(pair: tuple[Cluster, Standby]) -> None:
    """While everything on the primary is stopped in a run, the standby says who has the lock; then rules go on."""
    site, other = pair
    shell(site, "touch /var/lib/slurm/wait")
    site.wait(lambda: "ctl waits" in site.root("cat", NOTES).stdout, what="the run")
    shell(site, "rm /var/lib/slurm/wait")
    stop = "tree() { echo $1; for child in $(pgrep -P $1); do tree $child; done; }; tree $(cat /run/slurmctld.pid)"
    shell(site, f"{stop} > /run/stopped; kill -STOP $(cat /run/stopped)")
    before = len(hosts(site))
    site.wait(other.serves, timeout=100, what="takeover")
    holder = re.compile(r"periodic handlers wait for the lock /\S+/every/lock of ctl, process \d+, for where:waits 10")
    site.wait(lambda: holder.search(other.log()), timeout=100, what="line of the standby")
    status = other.run("slurmhooks status", check=False)
    assert holder.search(status.stderr), status.stdout + status.stderr
    assert len(hosts(site)) == before
    shell(site, "kill -9 $(cat /run/stopped) || true")  # some end with those before them
    site.wait(lambda: hosts(site)[before:] == ["ctl2", "ctl2"], timeout=100, what="runs of the standby")


@pytest.mark.one_release("24.11")
@pytest.mark.soak
def test_a_machine_that_loses_its_file_server(pair: tuple[Cluster, Standby]) -> None:
    """If a machine is cut off while a rule runs there, its lock ends with its lease, and rules go on elsewhere."""
    site, other = pair
    if not isinstance(site, Virtual):
        pytest.skip("StateSaveLocation is on this machine")
    site.root("scontrol", "takeover", check=True)
    site.wait(other.serves, timeout=100, what="takeover")
    shell(site, "touch /var/lib/slurm/wait")
    site.wait(lambda: "ctl2 waits" in site.root("cat", NOTES).stdout, timeout=100, what="the run")
    shell(site, "rm /var/lib/slurm/wait; ip link set ctl down")
    try:
        before = len(hosts(site))
        site.restart("slurmctld")
        site.wait(lambda: hosts(site)[before:][-2:] == ["ctl", "ctl"], timeout=100, what="runs of the primary")
        times = [run for _, run in runs(site)]
        assert len(times) == len(set(times)), runs(site)
    finally:
        shell(site, "ip link set ctl up")


@pytest.mark.one_release("24.11")
@pytest.mark.soak
def test_without_its_files_no_rule_runs(site: Cluster) -> None:
    """While slurmctld may not use lock and notes, no rule runs, and the log and status say why; then rules go on."""
    site.restart()
    shell(site, f"rm -f /var/lib/slurm/wait; install -o slurm /dev/null {NOTES}")
    site.wait(lambda: hosts(site), what="a run")
    folder = "/var/lib/slurm/slurmctld/slurmhooks/every"
    shell(site, f"chown root {folder}")
    reason = f"[Errno 13] Permission denied: '{folder}/lock'"
    says = f"no periodic handler runs: their lock or their notes cannot be used: {reason}"
    site.wait(lambda: says in log(site), what="reason")
    before, since = len(hosts(site)), time.time() // 10
    site.wait(lambda: time.time() // 10 >= since + 2, what="two more times")
    assert says in site.root("slurmhooks", "status").stderr
    assert len(hosts(site)) == before
    shell(site, f"chown slurm {folder}")
    site.wait(lambda: len(hosts(site)) > before, what="runs")
    assert "this slurmctld runs the periodic handlers" in log(site)
    assert "periodic" not in site.root("slurmhooks", "status").stderr
