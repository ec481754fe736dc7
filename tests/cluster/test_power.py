# SPDX-License-Identifier: GPL-2.0-or-later
"""Power hooks with a real slurmctld and cloud nodes, which handlers start and stop as real slurmd processes."""

import json
import os
import random
import re
import time
from typing import Any

import pytest

from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped
STAY = {
    "test_a_handler_that_gives_up_sets_the_node_down",
    "test_nodes_that_come_late_or_never_have_failed",
    "test_handlers_start_and_stop_the_node_of_a_job",
    "test_a_kill_of_every_process_loses_and_doubles_no_call",
    "test_slurmctld_reboots_nodes_by_a_handler",
}

FOLDER = "/var/lib/slurm/power"
NOTES = f"{FOLDER}/notes"
HOLD = f"{FOLDER}/hold"
JOB = "/home/alice/job"
SPOOL = "/var/lib/slurm/slurmctld/slurmhooks/power"
PROGRAMS = "/usr/local/lib/slurm/slurmhooks/slurmhooks_power_"
HEALTH = "/usr/local/lib/slurm/slurmhooks/slurmhooks_health"
HOOKS = f"""
import json, os, time
from slurmhooks import Reject, hook

def note(what, event, nodes, **more):
    fd = os.open("{NOTES}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    line = {{"what": what, "hook": event.name, "id": event.id, "nodes": list(nodes), **more}}
    os.write(fd, (json.dumps(line) + "\\n").encode())
    os.close(fd)

@hook.power.resume
def resume(nodes, jobs, event):
    note("begin", event, nodes, jobs=[job.job_id for job in jobs])
    for node in nodes.values():
        if "never" in node.features:
            raise Reject("the cloud has no room")
        if "poor" in node.features:
            node.down("no machine is left")
            continue
        if "full" in node.features and not os.path.exists("{FOLDER}/room"):
            node.give_back("no room")
            continue
        while os.path.exists("{HOLD}"):
            time.sleep(0.1)
        # A cloud has at most one machine of a name: a call that comes again finds that it exists.
        if "lost" not in node.features:
            with open(f"{FOLDER}/machines/{{node.name}}", "a"):
                pass
    note("end", event, nodes)

@hook.power.suspend
def suspend(nodes, event):
    note("begin", event, nodes)
    for name in nodes:
        if os.path.exists(f"{FOLDER}/machines/{{name}}"):
            os.unlink(f"{FOLDER}/machines/{{name}}")
    note("end", event, nodes)

@hook.power.resume_failed
def resume_failed(nodes, event):
    note("end", event, nodes)

@hook.power.reboot
def reboot(nodes, features, event):
    note("end", event, nodes, features=features)
    raise Reject("no power")
"""
CLOUD = f"""#!/bin/sh
# The cloud: root starts and stops machines as SlurmUser has ordered with files.
cd {FOLDER}
while sleep 0.2; do
    for machine in machines/*; do
        node=${{machine#machines/}}
        if [ -e "$machine" ] && [ ! -e "on/$node" ] && [ ! -e "busy/$node" ]; then
            touch "on/$node"
            echo "start $node" >> log
            sleep 1.1  # slurmctld ignores a node that has booted in the second in which it was asked for
            slurmd -N "$node" -b
        fi
    done
    for machine in on/*; do
        node=${{machine#on/}}
        if [ -e "$machine" ] && [ ! -e "machines/$node" ] && kill "$(cat /run/slurmd-"$node".pid)"; then
            while [ -e "/run/slurmd-$node.pid" ]; do sleep 0.1; done
            echo "stop $node" >> log
            rm "on/$node"
        fi
    done
done
"""
SYSTEM_LOG = """
import os, socket
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind("/dev/log")
os.chmod("/dev/log", 0o666)
while True:
    print(server.recv(8192).decode(), flush=True)
"""
CONTROLLER = "reboot_from_controller,"
CONF = f"""
JobSubmitPlugins=python
DebugFlags=Power
SlurmctldParameters={CONTROLLER}power_save_interval=1
NodeName=c1 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17101 CPUs=4 RealMemory=100 State=CLOUD Feature=soon
NodeName=c2 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17102 CPUs=4 RealMemory=100 State=CLOUD Feature=never
NodeName=c3 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17103 CPUs=4 RealMemory=100 State=CLOUD Feature=late
NodeName=c4 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17104 CPUs=4 RealMemory=100 State=CLOUD Feature=lost
NodeName=c5 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17105 CPUs=4 RealMemory=100 State=CLOUD Feature=slow
NodeName=c6 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17106 CPUs=4 RealMemory=100 State=CLOUD Feature=poor
NodeName=c7 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17107 CPUs=4 RealMemory=100 State=CLOUD Feature=rich
NodeName=c8 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17108 CPUs=4 RealMemory=100 State=CLOUD Feature=spare
NodeName=c9 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17109 CPUs=4 RealMemory=100 State=CLOUD Feature=spare
NodeName=c10 NodeHostname=ctl NodeAddr=127.0.0.1 Port=17110 CPUs=4 RealMemory=100 State=CLOUD Feature=full
PartitionName=cloud Nodes=c[1-3,6-10] MaxTime=60 State=UP
PartitionName=lost Nodes=c[4-5] MaxTime=60 State=UP ResumeTimeout=3
ResumeProgram={PROGRAMS}resume
SuspendProgram={PROGRAMS}suspend
ResumeFailProgram={PROGRAMS}resume_failed
RebootProgram={PROGRAMS}reboot
SuspendTime=2
SuspendExcNodes=n[1-2],c[3-9]
SuspendTimeout=3
ResumeTimeout=300
ResumeRate=0
SuspendRate=0
TreeWidth=65533
HealthCheckProgram={HEALTH}
HealthCheckInterval=3000
"""
CHECK = """
from slurmhooks import Reject, hook

@hook.node.health_check(nodes="n[1-2]")
def sick(node):
    raise Reject("sick")
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with ten nodes of a cloud."""
    cluster.put(CLOUD, "/etc/slurm/cloud", 0o755)
    folders = " ".join(f"{FOLDER}/{name}" for name in ("machines", "on", "busy"))
    cluster.shell(f"mkdir -p {folders}; touch {NOTES} {FOLDER}/log; chown -R slurm {FOLDER}")
    cluster.shell("setsid /etc/slurm/cloud > /var/log/slurm/cloud 2>&1 < /dev/null &")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/power.py")
    conf = CONF
    if cluster.version >= (26, 5):
        action = f"RebootProgram=boot\nPowerAction=boot Location=slurmctld Program={PROGRAMS}reboot"
        conf = conf.replace(f"RebootProgram={PROGRAMS}reboot", action).replace(CONTROLLER, "")
    cluster.put(conf, "/etc/slurm/local.conf")
    cluster.restart()
    # Slurm takes half a minute to start it, so other tests come first; but its node has a call of its own.
    cluster.user("alice", "sbatch", "-p", "cloud", "-C", "soon", "-o", JOB, "--wrap=echo $SLURM_JOB_ID", check=True)
    cluster.wait(lambda: notes(cluster, "begin", node="c1"), what="the first call")
    return cluster


def notes(cluster: Cluster, what: str = "end", hook: str = "resume", node: str = "") -> list[dict[str, Any]]:
    """Return what the handlers of a hook noted: one entry for each run, or one for each run that ended."""
    entries = [json.loads(line) for line in cluster.shell(f"cat {NOTES}").splitlines()]
    return [
        entry
        for entry in entries
        if (entry["what"], entry["hook"]) == (what, f"power.{hook}") and (not node or node in entry["nodes"])
    ]


def calls(cluster: Cluster, what: str, node: str) -> int:
    """Return how often slurmctld has called a power program for a node, as its log says."""
    program = {"waking": "__resumeprog__", "suspending": "__suspendprog__"}[what]
    line = rf"(?:power_save: (?:pid \d+ )?{what}|power action {program} on) nodes c(\S+)$"
    ranges = [re.findall(r"(\d+)(?:-(\d+))?", nodes) for nodes in re.findall(line, cluster.log(), re.MULTILINE)]
    return sum(int(first) <= int(node[1:]) <= int(last or first) for call in ranges for first, last in call)


def has(cluster: Cluster, node: str) -> bool:
    """Tell whether the slurmd of a node runs."""
    return cluster.root("test", "-e", f"/run/slurmd-{node}.pid").returncode == 0


def waits(cluster: Cluster) -> bool:
    """Tell whether calls wait in the spool."""
    return bool(cluster.shell(f"ls {SPOOL} | grep spool$ || true"))


def shown(cluster: Cluster, node: str) -> str:
    """Return what slurmctld says about a node; 22.05 hides those of a cloud that are off."""
    return str(cluster.root("scontrol", "show", "node", node).stdout)


def is_off(cluster: Cluster, node: str) -> bool:
    """Tell whether slurmctld has stopped a node."""
    about = cluster.root("scontrol", "show", "node", node)
    return "POWERED_DOWN" in about.stdout or "not found" in about.stdout + about.stderr


def test_a_handler_that_gives_up_sets_the_node_down(site: Cluster) -> None:
    """A node that the cloud cannot start is DOWN with the handler's reason long before ResumeTimeout."""
    site.user("alice", "sbatch", "-p", "cloud", "-C", "never", "-o", "/dev/null", "--wrap=true", check=True)
    site.wait(lambda: "Reason=the cloud has no room" in shown(site, "c2"), 120, "the reason")
    assert "DOWN" in shown(site, "c2")


def test_a_handler_sets_one_node_down(site: Cluster) -> None:
    """A handler sets a node of its call to DOWN, with a reason, and starts the other one."""
    site.root("scontrol", "update", "nodename=c[6-7]", "state=power_up", check=True)
    site.wait(lambda: "Reason=no machine is left" in shown(site, "c6"), what="the reason")
    assert "DOWN" in shown(site, "c6")
    site.wait(lambda: "State=IDLE" in shown(site, "c7") and "POWERING_UP" not in shown(site, "c7"), what="registration")
    assert len(notes(site, node="c6")) == 1
    assert not notes(site, hook="resume_failed")


def test_a_full_cloud_gives_a_node_back(site: Cluster) -> None:
    """The node is off and idle again, without idle_on_node_suspend too, and starts once there is room."""
    site.user("alice", "sbatch", "-p", "cloud", "-C", "full", "-o", "/dev/null", "--wrap=true", check=True)
    site.wait(lambda: notes(site, hook="suspend", node="c10"), 120, "the call for the node that is given back")
    site.wait(lambda: is_off(site, "c10"), what="the end of the node")
    assert "DOWN+" not in shown(site, "c10")
    assert not site.shell(f"ls {SPOOL}/dead 2> /dev/null | grep resume || true")
    site.put("", f"{FOLDER}/room")
    site.user("alice", "sbatch", "-p", "cloud", "-w", "c10", "-o", f"{JOB}10", "--wrap=echo ran", check=True)
    site.wait(lambda: site.shell(f"cat {JOB}10 || true") == "ran", 120, "a job on the node")


@pytest.mark.each_release
def test_nodes_that_come_late_or_never_have_failed(site: Cluster) -> None:
    """Handlers have passed, but no slurmd registers by ResumeTimeout: the handler for failures gets each node once.

    One that comes later has jobs again.
    """
    site.put("", f"{FOLDER}/busy/c5")
    site.root("scontrol", "update", "nodename=c[4-5]", "state=power_up", check=True)
    for node in ("c4", "c5"):
        site.wait(lambda node=node: notes(site, hook="resume_failed", node=node), what="the call after ResumeTimeout")  # type: ignore[misc]
        assert len(notes(site, node=node)) == 1
    if site.version >= (23, 2):  # before, nodes of a cloud that are off are hidden
        assert "DOWN" in shown(site, "c4")
    site.root("rm", f"{FOLDER}/busy/c5", check=True)
    site.wait(lambda: has(site, "c5"), what="slurmd")
    site.wait(lambda: "State=IDLE+CLOUD " in shown(site, "c5"), what="registration")
    assert site.user("alice", "srun", "-w", "c5", "true").returncode == 0
    assert len(notes(site, hook="resume_failed", node="c5")) == 1


@pytest.mark.each_release
def test_handlers_start_and_stop_the_node_of_a_job(site: Cluster) -> None:
    """A job has run on a node that its handler started; when the node was idle, the other handler stopped it."""
    site.wait(lambda: site.shell(f"cat {JOB} || true"), 120, "the job")
    site.wait(lambda: not has(site, "c1"), what="end of slurmd")
    assert [int(site.shell(f"cat {JOB}")) in note["jobs"] for note in notes(site, "begin", node="c1")] == [True]


def test_a_kill_of_every_process_loses_and_doubles_no_call(site: Cluster) -> None:
    """slurmctld and the delivery are killed while a resume runs: each call of slurmctld ends in exactly one delivery.

    The next slurmctld calls again if the one before it had not saved that the node was starting.
    """
    site.put("", HOLD)
    site.root("scontrol", "update", "nodename=c3", "state=power_up", check=True)
    site.wait(lambda: notes(site, "begin", node="c3"), what="the handler")
    # The handler may end with the delivery before it is killed itself.
    site.root("sh", "-c", "kill -9 $(pgrep -f [s]lurmhooks.power.process) $(cat /run/slurmctld.pid)")
    site.wait(lambda: site.root("pgrep", "-x", "slurmctld").returncode, what="end of slurmctld")
    site.wait(lambda: site.root("pgrep", "-f", "slurmhooks.power.process").returncode, what="end of the delivery")
    site.root("rm", HOLD, check=True)
    assert not notes(site, node="c3")
    site.root("slurmctld", check=True)
    site.wait(lambda: has(site, "c3"), what="slurmd")
    # 22.05 leaves POWER_UP in the state if slurmd registers before slurmctld asks for the node again.
    site.wait(lambda: "SlurmdStartTime=2" in shown(site, "c3"), what="registration")

    def delivered() -> list[object]:
        return [note["id"] for note in notes(site, node="c3")]

    site.wait(
        lambda: not waits(site) and len(delivered()) == calls(site, "waking", "c3"), what="delivery of every call"
    )
    ids = delivered()
    assert len(ids) == len(set(ids)), site.log()
    assert site.shell(f"grep -c 'start c3' {FOLDER}/log") == "1"


def test_kills_at_random_moments(site: Cluster) -> None:
    """The delivery, its handler or the supervisor is killed: each call of slurmctld has its effect, in order."""
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(10**6)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201
    chance = random.Random(seed)
    hooks = {"waking": "resume", "suspending": "suspend"}
    before = {what: calls(site, what, "c3") for what in hooks}
    noted = {note["id"] for hook in hooks.values() for note in notes(site, hook=hook, node="c3")}
    count_starts = f"grep -s 'start c3' {FOLDER}/log | wc -l"
    started = int(site.shell(count_starts))
    kills = ["pkill -9 -f", "pkill -9 -n -f"]
    for _ in range(2):
        for state, is_up in (("power_down_force", False), ("power_up", True)):
            site.root("scontrol", "update", "nodename=c3", f"state={state}", check=True)
            for _ in range(2):
                time.sleep(chance.random())
                which = chance.choice(["[s]lurmhooks.power.process", "[s]lurmhooks.worker "])
                site.shell(f"{chance.choice(kills)} '{which}' || true")
            site.wait(lambda is_up=is_up: has(site, "c3") == is_up, what=f"{state}, SLURMHOOKS_SEED={seed}")  # type: ignore[misc]
            if not is_up:  # until SuspendTimeout, slurmctld does not start it again
                site.wait(lambda: is_off(site, "c3"), what=f"end of {state}, SLURMHOOKS_SEED={seed}")
    site.wait(lambda: not waits(site), what="delivery of every call")
    for what, hook in hooks.items():
        delivered = {note["id"] for note in notes(site, hook=hook, node="c3")} - noted
        assert len(delivered) == calls(site, what, "c3") - before[what] == 2, (seed, site.log())
    assert int(site.shell(count_starts)) == started + 2


@pytest.mark.each_release
def test_slurmctld_reboots_nodes_by_a_handler(site: Cluster) -> None:
    """`scontrol reboot` calls the handler on the controller, also for a usual node; a refusal sets it to DOWN."""
    site.root("scontrol", "reboot", "n2", check=True)
    site.wait(lambda: "Reason=no power" in shown(site, "n2"), what="the reason")
    assert "DOWN" in shown(site, "n2")
    assert [note["features"] for note in notes(site, hook="reboot", node="n2")] == [None]


def test_a_call_is_lost_with_its_program(site: Cluster) -> None:
    """Slurm says that a program was killed, does not call it again, and takes the machine, which runs, for stopped."""
    if not has(site, "c3"):
        site.root("scontrol", "update", "nodename=c3", "state=power_up", check=True)
        site.wait(lambda: has(site, "c3") and "SlurmdStartTime=2" in shown(site, "c3"), what="registration")
    program = f"{PROGRAMS}suspend"
    site.root("mv", program, "/root/suspend", check=True)
    try:
        site.put("#!/bin/sh\nkill -9 $$\n", program, 0o755)
        before = calls(site, "suspending", "c3")
        site.root("scontrol", "update", "nodename=c3", "state=power_down_force", check=True)
        line = r"suspendprog_* killed by signal 9|program signaled: Killed"
        site.wait(lambda: re.search(line, site.log()), what="the line of slurmctld")
    finally:
        site.root("mv", "/root/suspend", program, check=True)
    site.wait(lambda: is_off(site, "c3"), what="SuspendTimeout")
    assert calls(site, "suspending", "c3") == before + 1
    assert has(site, "c3")


def test_a_full_disk(site: Cluster) -> None:
    """A call that was kept is delivered once, one that cannot be kept is lost, and the system's log says why."""
    site.wait(lambda: not waits(site), what="delivery of earlier calls")
    site.put(SYSTEM_LOG, "/opt/system_log.py")
    site.shell("rm -f /dev/log; setsid python3 /opt/system_log.py > /root/system_log 2>&1 < /dev/null &")
    site.shell(f"mkdir -p {SPOOL}; mount -t tmpfs -o size=64k,mode=700,uid=$(id -u slurm) none {SPOOL}")
    try:
        site.put("", HOLD)
        site.root("scontrol", "update", "nodename=c9", "state=power_up", check=True)
        site.wait(lambda: notes(site, "begin", node="c9"), what="the handler")
        site.shell(f"head -c 1M /dev/zero > {SPOOL}/filler || true")
        site.root("scontrol", "update", "nodename=c8", "state=power_up", check=True)
        lost = f"slurmhooks: power.resume of c8 is lost: it cannot be kept in {SPOOL}: No space left on device"
        site.wait(lambda: lost in site.shell("cat /root/system_log"), what="the line of the program")
        line = r"(resumeprog_*|program) exit status (of )?1\b"
        site.wait(lambda: re.search(line, site.log()), what="the line of slurmctld")
        site.root("rm", HOLD, check=True)
        site.wait(lambda: not waits(site), what="delivery on a full disk")
        assert [note["what"] for note in notes(site, "begin", node="c9") + notes(site, node="c9")] == ["begin", "end"]
        site.root("rm", f"{SPOOL}/filler", check=True)
        site.root("scontrol", "update", "nodename=c9", "state=power_down_force", check=True)
        site.wait(lambda: notes(site, hook="suspend", node="c9"), what="a call that is kept again")
        assert not notes(site, "begin", node="c8")
    finally:
        site.shell(f"umount -l {SPOOL}; rm -f {HOLD}; pkill -f [s]ystem_log.py; rm -f /dev/log")


def test_machines_that_are_off_do_not_count_for_the_brake(site: Cluster) -> None:
    """A fifth of a cluster is a fifth of the machines that are on, so one of two sick nodes stays in service."""
    site.put(CHECK, "/etc/slurm/hooks.d/health.py")
    site.put('[hooks]\npaths = ["hooks.d/*.py"]\n[node]\nat_most = "20%"\n', "/etc/slurm/slurmhooks.toml")
    site.deploy()
    try:
        for node in ("n1", "n2"):
            site.root("env", "-i", f"SLURMD_NODENAME={node}", HEALTH)
        assert site.shell("sinfo -hN -n n1,n2 -o '%N %E' | sort -u | grep -c sick").strip() == "1"
    finally:
        site.root("rm", "/etc/slurm/hooks.d/health.py")
        site.deploy()
        site.root("scontrol", "update", "nodename=n[1-2]", "state=undrain")
