# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks of burst buffers with a real slurmctld: contrib/examples/flash_scratch.py, and handlers that fail."""

from functools import partial
from pathlib import Path

import pytest

from tests.cluster.accounting import MAKE_SECONDS
from tests.cluster.conftest import Cluster
from tests.cluster.turns import moved, moved_from

pytestmark = pytest.mark.stopped

CONTRIB = Path(__file__).parents[2] / "contrib"
FOLDER = "/var/lib/slurm/stages"
SCRIPT = "/etc/slurm/burst_buffer.lua"
PYTHON = "/opt/slurmhooks/bin/python3"
STAGES = ("setup", "data_in", "pre_run", "post_run", "data_out", "test_data_out", "teardown")
OWN = f"""
import os, time
from slurmhooks import Reject, hook

def stage(name, decorator):
    @decorator(order=10)
    def note(buffer, record):
        with open("{FOLDER}/notes", "a") as file:
            file.write(f"{{buffer.job_id}} {{name}} {{buffer.user_id}} {{buffer.pool}} {{buffer.size}}"
                       f" {{record and record.job_id}} {{os.geteuid()}}\\n")
        path = f"{FOLDER}/{{name}}"
        if not os.path.exists(path):
            return
        with open(path) as file:
            what = file.read()
        if what == "refuse":
            raise Reject("no room on\\n'flash' $(x)")
        if what == "crash":
            os.kill(os.getpid(), 11)
        if what == "bug":
            raise ValueError("a bug")
        if what == "exit":
            os._exit(0)
        while what == "hang":
            time.sleep(0.1)
    note.__qualname__ = name
    globals()[name] = note

stage("setup", hook.burst_buffer.setup)
stage("data_in", hook.burst_buffer.data_in)
stage("pre_run", hook.burst_buffer.pre_run)
stage("post_run", hook.burst_buffer.post_run)
stage("data_out", hook.burst_buffer.data_out)
stage("test_data_out", hook.burst_buffer.test_data_out)
stage("teardown", hook.burst_buffer.teardown)

@hook.burst_buffer.test_data_in
def busy(buffer):
    with open("{FOLDER}/looks", "a") as file:
        file.write("x")
    return os.path.getsize("{FOLDER}/looks") < 2

@hook.burst_buffer.real_size
def real_size(buffer):
    return 7 << 20

@hook.burst_buffer.get_status
def get_status(buffer):
    return f"asked for {{buffer.arguments[-1]}}"
"""
CONF = "JobSubmitPlugins=python\nBurstBufferType=burst_buffer/lua\nDebugFlags=BurstBuffer\n"
BURST_BUFFER = "StageInTimeout=20\nStageOutTimeout=20\nOtherTimeout=20\n"
TOML = """
[burst_buffer]
pools = ["flash:100MiB:1MiB"]
environment = ["SCRATCH=/flash/%j"]
"""
JOB = """#!/bin/sh
#BB_LUA pool=flash capacity=1500KB \\
#BB_LUA stage_in=/home/alice/input stage_out='/home/alice/the results'
cd $SCRATCH && cat data > result
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with the example, and with handlers that fail if a file says so."""
    cluster.tool("add", "sudo", timeout=MAKE_SECONDS)
    cluster.put(CONTRIB / "programs/flash_scratch.py", "/usr/local/sbin/flash_scratch", 0o755)
    rule = f"slurm ALL=(root) NOPASSWD: {PYTHON} -I /usr/local/sbin/flash_scratch *\n"
    cluster.put(rule, "/etc/sudoers.d/flash_scratch", 0o440)
    cluster.shell(f"mkdir -p /flash {FOLDER}; chown slurm {FOLDER}; touch {FOLDER}/notes; chown slurm {FOLDER}/notes")
    cluster.put(CONTRIB / "examples/flash_scratch.py", "/etc/slurm/hooks.d/flash_scratch.py")
    cluster.put(OWN, "/etc/slurm/hooks.d/own.py")
    toml = cluster.shell("cat /etc/slurm/slurmhooks.toml")
    cluster.put(f"{toml}\n{TOML}", "/etc/slurm/slurmhooks.toml")
    cluster.put(CONF, "/etc/slurm/local.conf")
    since_2302 = "PollInterval=1\n" if cluster.version >= (23, 2) else ""
    cluster.put(BURST_BUFFER + since_2302, "/etc/slurm/burst_buffer.conf")
    refused = cluster.refusal()
    assert f"{SCRIPT}: slurmctld never calls handler own:setup of hook.burst_buffer.setup: it does not exist" in refused
    cluster.shell(refused.partition("run '")[2].partition("'")[0])
    cluster.deploy()
    cluster.restart()
    cluster.user("alice", "sh", "-c", "umask 077; mkdir -p input 'the results'; echo 42 > input/data", check=True)
    return cluster


def submit(cluster: Cluster, script: str = JOB) -> int:
    """Submit a job of alice, and return its id."""
    return int(cluster.user("alice", "sbatch", "--parsable", "-o", "/dev/null", input=script, check=True).stdout)


def job(cluster: Cluster, number: int) -> str:
    """Return what slurmctld knows about a job, with its spaces."""
    shown = cluster.root("scontrol", "show", "job", f"{number}", check=True).stdout
    return f"{shown}\n{cluster.shell(f'squeue -t all -h -o %r -j {number}')}"


def stages(cluster: Cluster, number: int) -> list[list[str]]:
    """Return what the handlers noted of a job, without its id."""
    lines = cluster.shell(f"cat {FOLDER}/notes").splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{number} ")]


def stages_of(cluster: Cluster) -> list[str]:
    """Return the stages of a job that Slurm calls; 22.05 does not ask whether data are there."""
    return [name for name in STAGES if name != "test_data_out" or cluster.version >= (23, 2)]


def names(cluster: Cluster, number: int) -> list[str]:
    """Return the stages of a job whose handlers were called."""
    return [words[0] for words in stages(cluster, number)]


def says(cluster: Cluster, number: int, text: str) -> None:
    """Wait until a job says something."""
    cluster.wait(lambda: text in job(cluster, number), 120, text)


def ends(cluster: Cluster, number: int) -> None:
    """Wait until a job has run, and nothing is left of its burst buffer."""

    def has_ended() -> bool:
        shown = job(cluster, number)
        return "JobState=COMPLETED" in shown and "BurstBufferState=complete" in shown

    cluster.wait(has_ended, 240, "the end of the job")
    assert cluster.shell("ls /flash") == ""


def cancel(cluster: Cluster, number: int) -> None:
    """Cancel a waiting job, and wait until nothing is left of its burst buffer."""

    def is_gone() -> bool:
        return f"JobID={number} " not in cluster.root("scontrol", "show", "burst", check=True).stdout

    killed = f"teardown for JobId={number} terminated by slurmctld"
    cluster.root("scancel", f"{number}", check=True)
    cluster.wait(lambda: is_gone() or killed in cluster.log(), 60, "the teardown")
    if not is_gone():
        cluster.restart("slurmctld")  # Slurm kills the scripts of a job that is cancelled, and sometimes the teardown
        cluster.wait(is_gone, 60, "the second teardown")
    assert names(cluster, number)[-1] == "teardown"
    assert cluster.shell("ls /flash") == ""


def faults(cluster: Cluster, **what: str) -> None:
    """Let stages fail from now on."""
    cluster.shell(f"cd {FOLDER}; rm -f {' '.join(STAGES)}")
    for name, fault in what.items():
        cluster.put(fault, f"{FOLDER}/{name}", 0o644)


def processes(cluster: Cluster) -> bool:
    """Tell whether a process of handlers runs, or one that it has started."""
    return cluster.root("pgrep", "-f", "burst_buffer.program|sbin/flash_scratch").returncode == 0


@pytest.mark.each_release
def test_a_job_with_its_data(site: Cluster) -> None:
    """The data of the example come and go with the rights of the user; each stage is called once, in order."""
    site.shell(f"rm -f {FOLDER}/looks")
    number = submit(site)
    ends(site, number)
    assert site.shell("cd '/home/alice/the results'; cat result; stat -c %U result") == "42\nalice"
    called = stages(site, number)
    assert [words[0] for words in called] == stages_of(site)
    assert called[0][2:4] == ["flash", f"{2 << 20}"]
    alice, slurm = site.shell("id -u alice; id -u slurm").split()
    told = called[:1] if site.version < (23, 2) else called
    assert [words[1] for words in called] == [alice] * len(told) + ["None"] * (len(called) - len(told))
    assert {words[4] for words in called} == {f"{number}" if site.has_sources else "None"}
    assert {words[5] for words in called} == {slurm}
    looks = site.shell(f"cat {FOLDER}/looks 2> /dev/null || true")
    assert looks == ("" if site.version < (23, 2) else "xx")  # the first look found the data not there yet
    assert "increased from 2097152 to 7340032" in site.log()
    assert "asked for pools" in site.root("scontrol", "show", "bbstat", "pools", check=True).stdout


def test_nobody_gets_what_the_user_may_not_read(site: Cluster) -> None:
    """The job waits, and its reason is the text of the handler."""
    number = submit(site, JOB.replace("/home/alice/input", "/var/lib/slurm/slurmctld"))
    says(site, number, "Permission denied")
    assert "Priority=0" in job(site, number)
    cancel(site, number)


@pytest.mark.parametrize(
    ("fault", "reason"),
    moved_from(
        1,
        [
            ("refuse", "no room on 'flash' $(x)"),
            ("bug", "handler own:setup failed (error "),
            ("hang", ""),
            *moved(
                ("crash", "the process of the handlers ended with status 139"),
                ("exit", "the process of the handlers ended with status 0"),
            ),
        ],
    ),
)
def test_before_the_job(site: Cluster, fault: str, reason: str) -> None:
    """The job is held with a reason; no process is left of a handler that hangs."""
    faults(site, setup=fault)
    number = submit(site)
    says(site, number, "Priority=0")
    shown = job(site, number)
    assert f"slurm_bb_setup{' failed' if site.version >= (26, 5) else ''}:" in shown
    assert reason in shown
    assert not processes(site)
    faults(site)
    cancel(site, number)


@pytest.mark.moved
def test_when_the_job_starts(site: Cluster) -> None:
    """A job whose pre_run is refused waits after its teardown, until it is released; its comment has the text."""
    faults(site, pre_run="refuse")
    number = submit(site)
    site.wait(lambda: names(site, number)[-2:] == ["pre_run", "teardown"], 60, "the teardown")
    faults(site)
    says(site, number, "BurstBufferState=complete")
    assert "JobState=PENDING" in job(site, number)
    assert "pre_run: no room on 'flash' $(x)" in job(site, number)
    site.root("scontrol", "update", f"JobId={number}", "StartTime=now", check=True)  # a requeued job waits two minutes
    site.root("scontrol", "release", f"{number}", check=True)
    ends(site, number)
    assert names(site, number)[3:7] == ["teardown", "setup", "data_in", "pre_run"]


@pytest.mark.parametrize("stage", ["post_run", *moved("data_out")])
def test_after_the_job(site: Cluster, stage: str) -> None:
    """The job stays in stage-out, with the text, and its data stay; the next slurmctld begins the stage-out again."""
    faults(site, **{stage: "refuse"})
    number = submit(site)
    says(site, number, "no room on 'flash' $(x)")
    assert site.shell(f"squeue -t all -h -o %T -j {number}") == "STAGE_OUT"
    assert site.shell(f"cat /flash/{number}/result") == "42"
    faults(site)
    site.restart("slurmctld")
    ends(site, number)


@pytest.mark.moved
def test_a_teardown_is_tried_again(site: Cluster) -> None:
    """Slurm calls it again after ten seconds."""
    faults(site, teardown="refuse")
    number = submit(site)
    site.wait(lambda: names(site, number)[-1:] == ["teardown"], 60, "the teardown")
    faults(site)
    ends(site, number)


def torn_down(cluster: Cluster, number: int) -> bool:
    """Tell whether the last stage of a job was teardown, and nothing is left of its burst buffer."""
    return names(cluster, number)[-1:] == ["teardown"] and cluster.shell("ls /flash") == ""


@pytest.mark.moved
def test_teardown_at_once(site: Cluster) -> None:
    """With TeardownFailure, Slurm calls teardown where it holds a job or leaves it in stage-out."""
    conf = site.shell("cat /etc/slurm/burst_buffer.conf")
    site.put(f"{conf}\nFlags=TeardownFailure\n", "/etc/slurm/burst_buffer.conf")
    site.restart("slurmctld")
    for stage in ("data_in", "data_out"):
        faults(site, **{stage: "refuse"})
        number = submit(site)
        site.wait(partial(torn_down, site, number), 120, "the teardown")
        assert names(site, number)[-2:] == [stage, "teardown"]
        site.root("scancel", f"{number}", check=True)
    faults(site)
    site.put(conf, "/etc/slurm/burst_buffer.conf")
    site.restart("slurmctld")


def test_slurmctld_is_killed_in_a_stage(site: Cluster) -> None:
    """The handlers end with it; the next slurmctld begins again, with teardown if it knows what was begun."""
    faults(site, data_in="hang")
    number = submit(site)
    site.wait(lambda: names(site, number)[-1:] == ["data_in"], 60, "data_in")
    site.shell("pkill -9 -x slurmctld")
    site.wait(lambda: not processes(site), 60, "end of the handlers")
    faults(site)
    site.restart("slurmctld")
    ends(site, number)
    called = names(site, number)
    del called[2 : 2 + (called[2] == "teardown")]
    assert called == ["setup", "data_in", *stages_of(site)]


def test_the_handlers_are_killed_in_a_copy(site: Cluster) -> None:
    """The program of root ends with them, and the job is held."""
    text = (CONTRIB / "programs/flash_scratch.py").read_text()
    assert "copy_tree(source, folder)" in text
    slow = text.replace("copy_tree(source, folder)", "threading.Event().wait()")
    site.put(slow, "/usr/local/sbin/flash_scratch", 0o755)
    number = submit(site)
    site.wait(lambda: site.root("pgrep", "-f", "sbin/flash_scratch copy_in").returncode == 0, 60, "the copy")
    site.shell("pkill -9 -f '[b]urst_buffer.program'")
    says(site, number, "ended with status 137")
    site.wait(lambda: not processes(site), 60, "end of the copy")
    cancel(site, number)


def test_a_set_brings_its_pools(site: Cluster) -> None:
    """slurmctld takes the pools of the set in force without a restart; a set without handlers is refused."""
    toml = site.shell("cat /etc/slurm/slurmhooks.toml")
    site.put(toml.replace("flash:100MiB", "flash:200MiB"), "/etc/slurm/slurmhooks.toml")
    site.deploy()
    site.wait(lambda: "TotalSpace=200MiB" in site.root("scontrol", "show", "burst").stdout, 60, "the larger pool")
    site.put("", "/etc/slurm/hooks.d/own.py")
    site.put("", "/etc/slurm/hooks.d/flash_scratch.py")
    assert f"{SCRIPT}: no handler of hook.burst_buffer is loaded" in site.refusal()
