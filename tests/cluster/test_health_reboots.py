# SPDX-License-Identifier: GPL-2.0-or-later
"""Health checks beside what administrators and slurmctld do to the state of a node, such as reboots and drains."""

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.cluster.test_health import PROGRAM, STATES, Lab
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped
STAY = {"test_a_check_at_the_start_keeps_a_rebooted_node_closed"}

CLOSED = ("DRAIN", "FAIL", "DOWN")
REBOOTS = ("REBOOT_REQUESTED", "REBOOT_ISSUED")
REBOOT = """#!/bin/sh
# Reboots n2 once /tmp/held is gone: ends its slurmd, and starts another one, which says that the node has booted.
# As a machine does, it kills a slurmd that does not end: that of 24.11 hung once.
exec > /tmp/rebooted 2>&1
rm -f /tmp/rebooting
setsid sh -c '
    touch /tmp/rebooting
    sleep 1.1  # slurmctld ignores a boot in the second in which it was asked for
    while [ -e /tmp/held ]; do sleep 0.1; done
    pid=$(cat /run/slurmd-n2.pid)
    kill $pid
    for _ in $(seq 100); do kill -0 $pid || break; sleep 0.1; done  # it removes its socket after its file
    kill -9 $pid && rm -f /run/slurmd-n2.pid
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin slurmd -N n2 -b' &
while [ ! -e /tmp/rebooting ]; do sleep 0.05; done  # slurmd ends processes of its group when this one ends
"""
BOOTED_BEFORE = """
booted=$(scontrol show node n2 | sed -n 's/.*BootTime=\\([^ ]*\\).*/\\1/p')
[ "$booted" = None ] || [ $(($(date +%s) - $(date -d "$booted" +%s))) -ge 2 ]
"""
CONF = f"""
RebootProgram=/etc/slurm/reboot.sh
ResumeTimeout=300
HealthCheckProgram={PROGRAM}
HealthCheckInterval=3000
HealthCheckNodeState=ANY,CYCLE
"""


class Node(Lab):
    """The node n2, whose checks run when its slurmd starts, and when a test runs them."""

    def words(self) -> tuple[set[str], str]:
        """Return the flags of the node's state, and its reason."""
        text = ""

        def shown() -> bool:  # auth/slurm needs a daemon of this machine that serves its socket
            nonlocal text
            text = self.cluster.root("scontrol", "show", "node", "n2", "-o").stdout
            return " State=" in text

        self.cluster.wait(shown, what="slurmctld")
        state = text.partition(" State=")[2].split()[0]
        return set(state.split("+")), text.partition(" Reason=")[2].rpartition(" [")[0]

    def flags(self) -> set[str]:
        """Return the flags of the node's state."""
        return self.words()[0]

    def is_closed(self) -> bool:
        """Tell whether the node gets no jobs."""
        return bool(self.flags().intersection(CLOSED))

    def ask(self, *words: str) -> None:
        """Ask slurmctld for something that it may refuse."""
        self.cluster.root("scontrol", *words)

    def reboot(self, how: str = "") -> None:
        """Ask slurmctld for a reboot, with words such as "ASAP"."""
        # If a node booted in the second of the request, slurmctld takes its reply for the boot.
        self.cluster.wait(
            lambda: self.cluster.root("sh", "-c", BOOTED_BEFORE).returncode == 0, what="second after the boot"
        )
        self.ask("reboot", *how.split(), "n2")

    def settled(self) -> None:
        """Wait until no reboot can begin or end any more."""
        self.cluster.wait(lambda: not self.flags() & {*REBOOTS, "UNKNOWN"}, 60, "end of the reboot")
        self.cluster.wait(
            lambda: self.cluster.root("test", "-e", "/run/slurmd-n2.pid").returncode == 0, what="slurmd of n2"
        )

    def reset(self) -> None:
        """Return the node to service, healthy."""
        self.say("sick", "n2", "")
        self.cluster.root("rm", "-f", "/tmp/held")
        self.settled()
        self.cluster.root("sh", "-c", f"scancel -u alice; rm -rf {STATES}")
        self.ask("update", "nodename=n2", "state=resume")
        self.cluster.wait(lambda: self.flags() == {"IDLE"}, what="healthy node")

    def submit(self, node: str) -> str:
        """Submit a short job of alice to a node; return its id."""
        words = ("sbatch", "--parsable", "-w", node, "-o", "/dev/null", "--wrap=true")
        return str(self.cluster.user("alice", *words, check=True).stdout.strip())

    def state_of(self, job: str) -> str:
        """Return the state of a job."""
        return str(self.cluster.root("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip())

    def ended(self, job: str) -> bool:
        """Tell whether a job has run."""
        return self.state_of(job) in ("COMPLETED", "")


@pytest.fixture(scope="module")
def rebooting(cluster: "Cluster") -> Node:
    """A cluster in which n2 can be rebooted."""
    node = Node(cluster)
    cluster.put(REBOOT, "/etc/slurm/reboot.sh", 0o755)
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.root("mkdir", "-p", "/stuck", check=True)
    node.configure()
    cluster.restart()
    return node


@pytest.fixture
def n2(rebooting: Node) -> Node:
    """The node, healthy."""
    rebooting.reset()
    return rebooting


@pytest.mark.parametrize(
    "how", ["ASAP nextstate=DOWN", *moved("", "ASAP", "nextstate=RESUME", "ASAP nextstate=RESUME")]
)
def test_a_check_at_the_start_keeps_a_rebooted_node_closed(n2: Node, how: str) -> None:
    """No job starts between a registration after `scontrol reboot` and the next run; that run drains as always."""
    n2.cluster.put("", "/tmp/held")
    n2.reboot(how)
    n2.cluster.wait(lambda: "REBOOT_ISSUED" in n2.flags(), what="begin of the reboot")
    n2.say("sick", "n2", "GPFS is not mounted")
    waiting = n2.submit("n2")
    n2.cluster.root("rm", "/tmp/held", check=True)
    n2.settled()
    other = n2.submit("n1")
    n2.cluster.wait(lambda: n2.ended(other), what="a job elsewhere, after jobs were looked for")
    assert n2.is_closed()
    assert n2.state_of(waiting) == "PENDING"
    n2.run("n2")
    flags, reason = n2.words()
    assert flags & {"DRAIN", "FAIL"} == {"DRAIN"}
    assert reason == "GPFS is not mounted"
    n2.say("sick", "n2", "")
    n2.run("n2", code=0)
    n2.cluster.wait(lambda: n2.ended(waiting), what="the job on the healthy node")


def test_a_check_that_passes_after_the_reboot_opens_the_node(n2: Node) -> None:
    """A node that was closed while slurmctld waited for its boot is undrained by the first run after that."""
    n2.cluster.put("", "/tmp/held")
    n2.reboot("nextstate=RESUME")
    n2.cluster.wait(lambda: "REBOOT_ISSUED" in n2.flags(), what="begin of the reboot")
    n2.say("sick", "n2", "disk is full")
    n2.run("n2", code=1)
    n2.say("sick", "n2", "")
    n2.cluster.root("rm", "/tmp/held", check=True)
    n2.settled()
    n2.run("n2", code=0)
    n2.cluster.wait(lambda: n2.flags() == {"IDLE"}, what="healthy node")


@pytest.mark.parametrize("how", ["ASAP", "ASAP nextstate=RESUME"])
def test_a_reboot_that_waits_keeps_its_drain(n2: Node, how: str) -> None:
    """After `scontrol reboot ASAP`, a node that checks have drained stays so until the reboot, whatever they say."""
    job = n2.cluster.user(
        "alice", "sbatch", "--parsable", "-w", "n2", "-o", "/dev/null", "--wrap=sleep 600", check=True
    )
    n2.cluster.wait(lambda: n2.state_of(job.stdout.strip()) == "RUNNING", what="job")
    n2.say("sick", "n2", "disk is full")
    n2.run("n2", code=1)
    n2.reboot(how)
    n2.say("sick", "n2", "")
    n2.run("n2", code=0)
    assert {"DRAIN", "REBOOT_REQUESTED"} <= n2.flags()
    n2.cluster.root("scancel", job.stdout.strip(), check=True)
    n2.settled()
    n2.run("n2", code=0)
    n2.cluster.wait(lambda: n2.flags() == {"IDLE"}, what="healthy node")


def test_any_sequence(n2: Node) -> None:
    """Checks, administrators, reboots and reconfiguration in random order.

    A run leaves a drain of somebody else, and one that a reboot waits with; a node whose last check has refused is
    closed, unless an administrator has opened it since; in the end the node is as its checks and people want.
    """
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(10**6)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201
    draw = random.Random(seed)
    theirs = ends = forgotten = False
    sick = ""
    done = []
    for _ in range(24):
        event = draw.choice(["sick", "well", "drain", "same", "resume", "reboot", "cancel", "boot", "reconfigure"])
        done.append(event)
        said = f"SLURMHOOKS_SEED={seed} {done}"
        if event in ("sick", "well"):
            sick = draw.choice(["disk is full", "GPU 1 is gone"]) if event == "sick" else ""
            n2.say("sick", "n2", sick)
        elif event in ("drain", "same") and not n2.flags() & {*REBOOTS}:
            reason = "by hand" if event == "drain" else "disk is full"
            flags, known = n2.words()
            if "DRAIN" in flags and known == reason:
                continue  # slurmctld changes nothing, and nobody can tell that it was asked
            n2.ask("update", "nodename=n2", "state=drain", f"reason={reason}")
            theirs, forgotten = True, False
        elif event == "resume" and not n2.flags() & {*REBOOTS}:
            n2.ask("update", "nodename=n2", "state=resume")
            theirs = forgotten = False
        elif event == "reboot" and not n2.flags() & {*REBOOTS}:
            how = draw.choice(["", "ASAP", "nextstate=RESUME", "ASAP nextstate=RESUME"])
            done[-1] = f"reboot {how}"
            drained = "DRAIN" in n2.flags()
            n2.cluster.put("", "/tmp/held")
            n2.reboot(how)
            n2.cluster.wait(lambda: "REBOOT_ISSUED" in n2.flags(), what=f"begin of the reboot, {said}")
            resumes = "nextstate" in how or ("ASAP" in how and n2.cluster.release == "22.05")
            ends = theirs and drained and resumes
            theirs = theirs and drained and not resumes
        elif event == "cancel":
            n2.ask("cancel_reboot", "n2")  # has begun, or was not asked for: slurmctld refuses
        elif event == "boot":
            n2.cluster.root("rm", "-f", "/tmp/held")
            n2.settled()
        elif event == "reconfigure":
            # slurmctld 22.05 forgets what is to follow a reboot, so the drain may stay.
            forgotten |= ends and n2.cluster.release == "22.05" and bool(n2.flags() & {*REBOOTS})
            n2.ask("reconfigure")
        before = n2.words()
        n2.run("n2")
        after = n2.words()
        pending = before[0] & {*REBOOTS}
        if theirs and not pending:
            assert (before[0] & {"DRAIN"}, before[1]) == (after[0] & {"DRAIN"}, after[1]), said
        if pending and before[0] & {"DRAIN", "FAIL"}:
            assert after[0] & {"DRAIN", "FAIL"}, said
        if sick:
            assert after[0] & {*CLOSED}, said
            if "REBOOT_ISSUED" in after[0]:
                n2.cluster.root("rm", "-f", "/tmp/held")
                n2.settled()
                assert n2.is_closed(), said
    n2.cluster.root("rm", "-f", "/tmp/held")
    n2.settled()
    n2.run("n2")
    n2.run("n2")
    flags, reason = n2.words()
    if theirs:
        assert "DRAIN" in flags, done
    elif not forgotten and (reason != "reboot issued" or sum(event.startswith("reboot") for event in done) < 2):
        # Otherwise it is what slurmctld makes of any reason at the second reboot: nobody knows whose the drain was.
        assert ("DRAIN" in flags, reason if sick else "") == (bool(sick), sick), (done, flags, reason)
