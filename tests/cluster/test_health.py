# SPDX-License-Identifier: GPL-2.0-or-later
"""Health checks of real nodes: slurmd runs them, and slurmctld drains and undrains with their reasons."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

STAY = {
    "test_slurmd_drains_and_undrains",
    "test_a_hanging_file_system_drains",
    "test_a_disk_that_takes_no_state",
    "test_kills_at_any_time",
    "test_a_refused_job_script_drains_with_its_text",
    "test_the_brake",
}

PROGRAM = "/usr/local/lib/slurm/slurmhooks/slurmhooks_health"
STATES = "/var/lib/slurmhooks-health"
CONF = "/etc/slurm/local.conf"
MOUNT = Path(__file__).parent / "stuck_mount.py"
HOOKS = """
import os
from slurmhooks import Reject, hook

def reason(kind, name):
    try:
        with open(f"/tmp/{kind}-{name}") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""

@hook.node.health_check
def file(node):
    with open(f"/tmp/runs-{node.name}", "a") as runs:
        print(*sorted(node.contexts), file=runs)
    if text := reason("sick", node.name):
        raise Reject(text)

@hook.node.health_check(contexts=("idle", "mixed", "alloc"))
def load(node):
    with open(f"/tmp/load-{node.name}", "a") as runs:
        print(*sorted(node.contexts), file=runs)

@hook.spank.job_prolog
def prolog(spank):
    if text := reason("prolog", os.environ["SLURMD_NODENAME"]):
        raise Reject(text)

@hook.spank.job_epilog
def epilog(spank):
    if text := reason("epilog", os.environ["SLURMD_NODENAME"]):
        raise Reject(text)
"""
CONFIG = """
[hooks]
paths = ["hooks.d/health.py"]

[metrics]
textfiles = "/opt"

[node]
at_most = {at_most}
timeout = 20

[[node.checks]]
check = "space"
path = "/stuck"
free = "0%"
timeout = 1
every = "1d"
"""


class Lab:
    """A cluster with health checks, whose nodes a test makes sick."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster

    def configure(self, at_most: int = 2, hooks: str = HOOKS, more: str = "") -> None:
        """Put hooks and configuration in force."""
        self.cluster.put(hooks, "/etc/slurm/hooks.d/health.py")
        self.cluster.put(CONFIG.format(at_most=at_most) + more, "/etc/slurm/slurmhooks.toml")
        before = self.cluster.root("cat", CONF, check=True).stdout
        self.write_interval(60)  # a set that slurmd never runs is refused; the daemons do not read this
        self.cluster.deploy()
        self.cluster.put(before, CONF)

    def write_interval(self, seconds: int) -> None:
        """Write to slurm.conf how often slurmd runs the checks; 0: never."""
        self.cluster.put(f"HealthCheckProgram={PROGRAM}\nHealthCheckInterval={seconds}\n", CONF)

    def interval(self, seconds: int) -> None:
        """Let slurmd run the checks every few seconds, 0: never, and start the daemons again."""
        self.write_interval(seconds)
        self.cluster.restart()

    def say(self, kind: str, node: str, text: str) -> None:
        """Let a check (sick), a prolog or an epilog of a node refuse with a text; "": let it pass."""
        if text:
            self.cluster.put(text, f"/tmp/{kind}-{node}")
        else:
            self.cluster.root("rm", "-f", f"/tmp/{kind}-{node}")

    def state(self, node: str) -> tuple[bool, str | None]:
        """Return whether a node is drained, and its reason."""
        words = self.cluster.root("scontrol", "show", "node", node, check=True).stdout
        reason = next((line.strip() for line in words.split("\n") if line.strip().startswith("Reason=")), None)
        drained = "+DRAIN" in words
        return drained, reason.removeprefix("Reason=").rpartition(" [")[0] if reason and drained else None

    def run(self, node: str = "n1", *, code: int | None = None) -> str:
        """Run the checks of a node as slurmd does; return the output."""
        command = ("env", "-i", f"SLURMD_NODENAME={node}", PROGRAM)
        done = self.cluster.root(*command)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def runs(self, node: str = "n1", kind: str = "runs") -> list[str]:
        """Return the contexts of the runs so far."""
        return self.cluster.root("cat", f"/tmp/{kind}-{node}").stdout.split("\n")[:-1]

    def end_slurmctld(self, kill: str = "kill $(cat /run/slurmctld.pid)") -> None:
        """End slurmctld by a command."""
        self.cluster.root("sh", "-c", kill)
        self.cluster.wait(lambda: self.cluster.root("pgrep", "-x", "slurmctld").returncode, what="end of slurmctld")

    def start_slurmctld(self) -> None:
        """Start it again, and wait until it knows the nodes."""
        self.cluster.root("slurmctld", check=True)
        self.cluster.wait(
            lambda: sorted(self.cluster.root("sinfo", "-hN", "-o", "%T").stdout.split())[-1:] < ["unk"], what="nodes"
        )

    def admin(self, *words: str) -> None:
        """Update node n1 as an administrator does."""
        self.cluster.root("scontrol", "update", "nodename=n1", *words, check=True)


@pytest.fixture
def lab(cluster: "Cluster") -> Iterator[Lab]:
    """A cluster with two healthy nodes, in which only tests run the checks."""
    lab = Lab(cluster)
    cluster.root("mkdir", "-p", "/stuck")
    lab.configure()
    yield lab
    for node in ("n1", "n2"):
        for kind in ("sick", "prolog", "epilog", "runs", "load"):
            lab.say(kind, node, "")
    cluster.root("rm", "-rf", STATES)
    for node in ("n1", "n2"):
        if lab.state(node)[0]:
            cluster.root("scontrol", "update", f"nodename={node}", "state=undrain")


@pytest.mark.each_release
def test_slurmd_drains_and_undrains(lab: Lab) -> None:
    """slurmd runs the checks when it starts and from time to time; the node gets exactly the reason of the check."""
    lab.interval(1)
    try:
        lab.cluster.wait(lambda: len(lab.runs()) > 1, what="run of the health checks")
        assert lab.runs()[0].split()[-1] == "start"
        assert "cycle" in lab.runs()[-1].split()
        lab.say("sick", "n1", "GPU 3 is gone; see ticket #17 (100%)")
        lab.cluster.wait(lambda: lab.state("n1") == (True, "GPU 3 is gone; see ticket #17 (100%)"), what="drain")
        assert lab.state("n2") == (False, None)
        lab.say("sick", "n1", "")
        lab.cluster.wait(lambda: lab.state("n1") == (False, None), what="end of the drain")
        lab.cluster.wait(lambda: "drained: GPU 3 is gone" in lab.cluster.log("n1"), what="line of slurmd's log")
    finally:
        lab.say("sick", "n1", "")
        lab.run()
        lab.interval(0)


def test_an_administrator_decides(lab: Lab) -> None:
    """A drain by others, and a reason that they have changed, stay whatever the checks say."""
    lab.say("sick", "n1", "disk is full")
    lab.run(code=1)
    metrics = lab.cluster.root("cat", "/opt/slurmhooks_health.prom", check=True).stdout
    assert 'slurmhooks_health_check_failing{check="health:file",mode="enforce"} 1' in metrics
    assert "slurmhooks_health_drained 1" in metrics
    lab.admin("reason=waits for a new disk")
    for text in ("", "disk is full", ""):
        lab.say("sick", "n1", text)
        lab.run(code=0)
        assert lab.state("n1") == (True, "waits for a new disk")
    lab.admin("state=undrain")
    lab.run(code=0)
    assert lab.state("n1") == (False, None)


def test_a_node_that_was_down_gets_its_reason_back(lab: Lab) -> None:
    """A node that is down is drained, too; undrained, it has the reason that it had, unless it has just returned."""
    lab.admin("state=down", "reason=waits for a fan")
    lab.say("sick", "n1", "disk is full")
    lab.run(code=1)
    assert lab.state("n1") == (True, "disk is full")
    lab.say("sick", "n1", "")
    lab.run(code=0)
    text = lab.cluster.root("scontrol", "show", "node", "n1", check=True).stdout
    assert "DRAIN" not in text
    assert "Reason=waits for a fan" in text or "State=IDLE" in text  # with ReturnToService=2, if it has registered
    lab.cluster.root("scontrol", "update", "nodename=n1", "state=resume")


def test_a_sick_node_that_falls_silent_is_undrained(lab: Lab) -> None:
    """slurmctld appends to our reason, not in 22.05, that the node does not respond, as while somebody repairs it."""
    lab.cluster.put(f"HealthCheckProgram={PROGRAM}\nHealthCheckInterval=0\nSlurmdTimeout=5\n", CONF)
    lab.cluster.restart()
    try:
        lab.say("sick", "n1", "disk is full")
        lab.run(code=1)
        lab.cluster.root("sh", "-c", "kill $(cat /run/slurmd-n1.pid)", check=True)
        show = ("scontrol", "show", "node", "n1")
        lab.cluster.wait(lambda: "State=DOWN" in lab.cluster.root(*show).stdout, 180, "end of its time")
        lab.cluster.root("slurmd", "-N", "n1", check=True)
        lab.say("sick", "n1", "")
        lab.run(code=0)
        assert lab.state("n1") == (False, None)
    finally:
        lab.say("sick", "n1", "")
        lab.admin("state=undrain")
        lab.interval(0)


def test_contexts_say_what_jobs_have_of_the_node(lab: Lab) -> None:
    """A node without jobs is idle, one with a job on all of its processors alloc."""
    lab.run(code=0)
    job = lab.cluster.root("sbatch", "--parsable", "-wn1", "--exclusive", "--wrap", "sleep 600", check=True).stdout
    try:
        lab.cluster.wait(
            lambda: lab.cluster.root("squeue", "-h", "-j", job.strip(), "-o", "%T").stdout.strip() == "RUNNING",
            what="job",
        )
        lab.run(code=0)
    finally:
        lab.cluster.root("scancel", job.strip(), check=True)
        lab.cluster.wait(lambda: not lab.cluster.root("squeue", "-h").stdout, what="end of the job")
    loads = [set(line.split()) & {"idle", "mixed", "alloc"} for line in lab.runs(kind="load")]
    assert loads == [{"idle"}, {"alloc"}]


def test_a_broken_file_drains_nothing(lab: Lab) -> None:
    """The node keeps its state, drained or not, while a file of the set does not load; the log says what is wrong."""
    lab.configure(hooks=HOOKS + "\nif os.path.exists('/tmp/broken'): raise KeyError('typo')\n")
    lab.say("sick", "n2", "disk is full")
    lab.run("n2")
    lab.cluster.root("touch", "/tmp/broken", check=True)
    for node, state in (("n1", (False, None)), ("n2", (True, "disk is full"))):
        lab.say("sick", node, "")
        assert "KeyError: 'typo'" in lab.run(node, code=1)
        assert lab.state(node) == state
    lab.cluster.root("rm", "/tmp/broken", check=True)
    lab.run("n2", code=0)
    assert lab.state("n2") == (False, None)


def test_a_hanging_file_system_drains(lab: Lab) -> None:
    """The run ends in its time, the other checks have run, and the node has the reason."""
    lab.cluster.put(MOUNT, "/opt/stuck_mount.py")
    lab.cluster.root("sh", "-c", "setsid python3 /opt/stuck_mount.py /stuck > /tmp/mounted 2>&1 &", check=True)
    lab.cluster.wait(lambda: lab.cluster.root("cat", "/tmp/mounted").stdout, what="mount")
    try:
        lab.run(code=1)
        assert lab.state("n1") == (True, "space /stuck did not end within 1 s")
        assert len(lab.runs()) == 1
    finally:
        lab.cluster.root("sh", "-c", "kill $(cat /tmp/mounted)", check=True)
    lab.cluster.root("rm", "-rf", STATES)


def test_without_slurmctld(lab: Lab) -> None:
    """A node keeps its state while slurmctld is away; if slurmctld is killed during a run, the next run finishes it."""
    lab.say("sick", "n1", "disk is full")
    lab.end_slurmctld()  # it saves that the nodes are healthy
    assert "slurmctld does not" in lab.run(code=1)
    lab.start_slurmctld()
    lab.run()
    lab.say("sick", "n1", "fan is loud")
    late = random.uniform(0, 0.2)
    kill = f"env -i SLURMD_NODENAME=n1 {PROGRAM} & sleep {late:.3f}; kill -9 $(cat /run/slurmctld.pid); wait"
    lab.end_slurmctld(kill)  # perhaps it was not told, or has forgotten it
    lab.start_slurmctld()
    lab.run()
    assert lab.state("n1") == (True, "fan is loud")


@pytest.mark.parametrize("fails", moved_from(1, [1, 3]))
def test_a_disk_that_takes_no_state(lab: Lab, fails: int) -> None:
    """A node that cannot remember what it does is drained all the same, and not undrained.

    It cannot count refusals either, so the first one is enough.
    """
    lab.configure(hooks=HOOKS.replace("health_check\ndef file", f"health_check(fails={fails})\ndef file"))
    lab.run(code=0)
    lab.cluster.root("rm", "-rf", STATES, check=True)
    lab.cluster.put("in the way", STATES)
    lab.say("sick", "n1", "disk is full")
    assert STATES in lab.run(code=1)
    assert lab.state("n1") == (True, "disk is full")
    lab.say("sick", "n1", "")
    lab.run()
    assert lab.state("n1") == (True, "disk is full")


def test_checks_for_some_nodes(lab: Lab) -> None:
    """All nodes share the files; a check runs on the nodes that it names."""
    table = '[[node.checks]]\ncheck = "file"\npath = "/absent"\nnodes = "n2"\nname = "absent"\n'
    hooks = HOOKS.replace("health_check\ndef file", 'health_check(nodes="n[2-9],gpu*")\ndef file')
    lab.configure(hooks=hooks, more=table)
    lab.say("sick", "n1", "sick")
    lab.say("sick", "n2", "sick")
    lab.run("n1", code=0)
    lab.run("n2")
    assert lab.state("n1") == (False, None)
    assert lab.state("n2") == (True, "/absent does not exist; sick")


def test_the_brake(lab: Lab) -> None:
    """If all nodes fail at the same time, as many are drained as at_most says."""
    lab.configure(at_most=1)
    for node in ("n1", "n2"):
        lab.say("sick", node, "NFS is gone")
    both = " & ".join(f"env -i SLURMD_NODENAME={node} {PROGRAM}" for node in ("n1", "n2"))
    output = lab.cluster.root("sh", "-c", f"{both} & wait", check=True)
    assert sorted(map(lab.state, ("n1", "n2"))) == [(False, None), (True, "NFS is gone")]
    assert "[node] at_most" in output.stdout + output.stderr


def test_kills_at_any_time(lab: Lab) -> None:
    """After kill -9 of the program, or of its child, at random moments, the next run ends with the right state."""
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(10**6)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201
    draw = random.Random(seed)
    for number in range(8):
        reason = draw.choice(["", f"sick {number}"])
        lab.say("sick", "n1", reason)
        for _ in range(2):
            late = draw.choice([draw.uniform(0, 0.15), draw.uniform(0, 1.3)])
            which = draw.choice(["-o", "-n"])  # the newest process is the child that runs the checks
            kill = f"env -i SLURMD_NODENAME=n1 {PROGRAM} & sleep {late:.3f}; pkill -9 {which} -xf {PROGRAM}; wait"
            lab.cluster.root("sh", "-c", kill)
        lab.run()
        assert lab.state("n1") == (bool(reason), reason or None), f"SLURMHOOKS_SEED={seed}"
    states = lab.cluster.root("ls", STATES, check=True).stdout.split()
    assert set(states) <= {"n1", "n1.lock", "n1.new"}


@pytest.mark.parametrize("kind", moved_from(1, ["prolog", "epilog"]))
def test_a_refused_job_script_drains_with_its_text(lab: Lab, kind: str) -> None:
    """The reason is the text of the refusal, not that of Slurm; a drain by others stays."""
    lab.cluster.restart("n1", "n2")  # slurmd reads at its start which callbacks plugins export
    lab.say(kind, "n1", "/scratch is full\non this node")
    lab.cluster.user("alice", "srun", "-wn1", "true")
    lab.cluster.wait(lambda: lab.state("n1") == (True, "/scratch is full on this node"), what="drain")


def test_try_changes_nothing(lab: Lab) -> None:
    """try shows on a node what would become of it, and changes nothing."""
    lab.say("sick", "n1", "disk is full")
    done = lab.cluster.root("slurmhooks", "try", "health", "--node", "n1", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(done.stdout)["reason"] == "disk is full"
    assert lab.state("n1") == (False, None)
    assert lab.cluster.root("ls", STATES).returncode != 0


def test_check_names_missing_lines(lab: Lab) -> None:
    """check says which lines of slurm.conf the health checks need, and nothing once they are there."""
    lab.cluster.put("", "/etc/slurm/local.conf")
    said = lab.cluster.root("slurmhooks", "check").stderr
    assert f"HealthCheckProgram={PROGRAM}" in said
    assert "HealthCheckInterval=" in said
    lab.cluster.put(f"HealthCheckProgram={PROGRAM}\nHealthCheckInterval=300\n", "/etc/slurm/local.conf")
    assert "HealthCheck" not in lab.cluster.root("slurmhooks", "check").stderr
