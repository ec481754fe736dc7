# SPDX-License-Identifier: GPL-2.0-or-later
"""Records for handlers of job start and end on real slurmctlds, even after kills, and for other jobcomp plugins."""

import json
from typing import Any

import pytest

from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

FOLDER = "/var/lib/slurm/delivered"
TELLS_START = (25, 5)
LONG = "long" * 8000
"""More than is sent unasked to workers of job_submit: a record has all of it."""
START = """
import json, os, time
from slurmhooks import hook

def note(**values):
    fd = os.open("/var/lib/slurm/delivered/lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, (json.dumps(values) + "\\n").encode())
    os.close(fd)
"""
WITH_RECORD = """
kept = []

@hook.job_end
def end(record, event):
    kept.append(record)
    # The values stay: those of the first job, when the last one has ended.
    note(id=event.id, name=event.name, attempt=event.attempt, job=record.job_id, user=record.user_name,
         job_name=record.name, state=record.job_state.name, exit=record.exit_code, nodes=record.nodes,
         tres=record.tres_fmt_alloc_str, partition=record.partition, comment=record.comment, script=record.script,
         line=record.submit_line,
         times=[record.submit_time, record.start_time, record.end_time],
         first=kept[0].name)
"""
WITHOUT_RECORD = """
@hook.job_end
def end(event):
    note(id=event.id, name=event.name, attempt=event.attempt)
"""
STARTS = """
@hook.job_start
def start(event):
    note(id=event.id, name=event.name, attempt=event.attempt)
"""
TOML = """
[hooks]
paths = ["hooks.d/*.py"]
[jobcomp]
next = "filetxt"
backoff = 0.1
backoff_limit = 0.5
tries = 1000
"""
CONF = """
JobCompType=jobcomp/python
JobCompLoc=/var/log/slurm/jobcomp.log
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster whose job ends are delivered, and passed to jobcomp/filetxt."""
    cluster.shell(f"install -d -o slurm {FOLDER}; touch /var/log/slurm/jobcomp.log; chown slurm /var/log/slurm/*")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(CONF, "/etc/slurm/local.conf")
    hooks = START + (WITH_RECORD if has_records(cluster) else WITHOUT_RECORD)
    cluster.put(hooks + (STARTS if cluster.version >= TELLS_START else ""), "/etc/slurm/hooks.d/ends.py")
    cluster.restart()
    return cluster


def has_records(cluster: Cluster) -> bool:
    """Return whether handlers can take the record."""
    return cluster.has_sources


def delivered(cluster: Cluster, name: str = "job_end") -> list[dict[str, Any]]:
    """Return the handlers' records of one hook."""
    lines = cluster.shell(f"cat {FOLDER}/lines 2>/dev/null || true").splitlines()
    return [line for line in map(json.loads, lines) if line["name"] == name]


def ends(cluster: Cluster) -> int:
    """Return the number of ended jobs in the file of jobcomp/filetxt."""
    return int(cluster.shell("grep -c JobId= /var/log/slurm/jobcomp.log || true"))


def job(cluster: Cluster, *options: str, wrap: str = "true") -> int:
    """Submit a job as alice, and return its id."""
    done = cluster.user("alice", "sbatch", "--parsable", "-o", "/dev/null", *options, f"--wrap={wrap}", check=True)
    return int(done.stdout)


@pytest.mark.each_release
def test_each_end_is_delivered(site: Cluster) -> None:
    """Each job's end is delivered once, with slurmctld's data of the job; kept records stay valid."""
    ids = [
        job(site, "--job-name=first", "--comment=c", wrap="exit 3"),
        job(site, "--job-name=second", "-n2", wrap=f"true {LONG}"),
    ]
    site.wait(lambda: len(delivered(site)) >= 2, what="delivery")
    found = delivered(site)
    assert len({line["id"] for line in found}) == len(found) == 2
    assert {line["attempt"] for line in found} == {1}
    if site.version >= TELLS_START:
        site.wait(lambda: len(delivered(site, "job_start")) >= 2, what="delivery of the starts")
        assert len(delivered(site, "job_start")) == 2
    if not has_records(site):
        return
    first, second = sorted(found, key=lambda line: line["job"])
    assert [first["job"], second["job"]] == ids
    assert (first["user"], first["job_name"], first["comment"]) == ("alice", "first", "c")
    assert (first["state"], first["exit"]) == ("JOB_FAILED", 3 << 8)
    assert second["state"] == "JOB_COMPLETE"
    assert "cpu=2" in second["tres"]
    assert second["nodes"].startswith("n")
    assert "exit 3" in first["script"]
    assert LONG in second["line"]
    assert first["times"] == sorted(first["times"])
    assert second["first"] == found[0]["job_name"]


@pytest.mark.each_release  # with the jobs of the test above
def test_other_plugin_gets_each_call(site: Cluster) -> None:
    """With [jobcomp] next = "filetxt", filetxt writes its file as without slurmhooks, and sacct -c reads it."""
    lines = site.shell("cat /var/log/slurm/jobcomp.log")
    assert "Name=first" in lines
    assert "Name=second" in lines
    # filetxt opens its file for writing even then, so only root and SlurmUser can.
    shown = site.root("sacct", "-c", "-n", "--format=JobName%20", check=True).stdout.split()
    assert {"first", "second"} <= set(shown)
    assert not site.shell("pgrep -u alice slurmhooks || true")


SAVED = "test /var/lib/slurm/slurmctld/job_state -nt /root/submitted && echo yes || true"


def test_nothing_is_lost_when_slurmctld_is_killed(site: Cluster) -> None:
    """Jobs end while slurmctld, its supervisor and workers are killed: each end is finally delivered."""
    ids = set()
    for number, victim in enumerate(("slurmctld", "slurmhooks-sup", "slurmctld", "slurmhooks-work")):
        go = f"/tmp/go{number}"
        new = {job(site, f"--job-name=killed{number}", wrap=f"until [ -e {go} ]; do sleep 0.2; done") for _ in range(4)}
        site.wait(lambda: len(running(site)) == 4, what="start of the jobs")
        # slurmctld itself would forget jobs that it had not saved, and use their ids again.
        site.shell("touch /root/submitted; sleep 0.01")
        site.user("alice", "scontrol", "update", f"jobid={min(new)}", "comment=saved", check=True)
        site.wait(lambda: site.shell(SAVED), what="that slurmctld saves its state")
        ids |= new
        site.shell(f"touch {go}")
        if victim == "slurmctld":
            site.wait(lambda: len(running(site)) < 4, what="the first end")
            site.shell("kill -9 $(cat /run/slurmctld.pid)")
            site.restart()
            # slurmctld considers jobs running whose end it had not saved, and would do so for many minutes.
            site.root("scancel", "-u", "alice", check=True)
        else:
            site.wait(lambda: site.root("pkill", "-9", "-xo", victim).returncode == 0, what=victim)  # noqa: B023
        site.wait(lambda: not running(site), 120, "the end of all jobs")
    site.wait(lambda: not waiting(site), 120, "the delivery of all")
    if has_records(site):
        assert ids <= {line["job"] for line in delivered(site)}
    # slurmctld may report an end twice, if it was killed before it saved that; filetxt gets it at most as often.
    assert len({line["id"] for line in delivered(site)}) == ends(site)


def running(cluster: Cluster) -> list[str]:
    """Return the jobs that have not ended, as far as slurmctld answers."""
    done = cluster.root("squeue", "-h", "-t", "PD,R,CF,CG", "-o", "%i")
    return ["unknown"] if done.returncode else done.stdout.split()


def waiting(cluster: Cluster) -> str:
    """Return what slurmhooks reports about waiting records; empty if there are none."""
    shown = json.loads(cluster.root("slurmhooks", "spool", "--json", check=True).stdout)
    return "" if shown["waiting"] == 0 else str(shown)


@pytest.mark.moved
def test_a_wrong_next_plugin(site: Cluster) -> None:
    """slurmctld starts without a missing plugin and logs it, but cannot be reconfigured to that state."""
    site.put(TOML.replace("filetxt", "nosuch"), "/etc/slurm/slurmhooks.toml")
    site.deploy()
    site.root("scontrol", "reconfigure")
    if site.version >= (23, 11):
        site.wait(lambda: "slurmctld is not reconfigured: [jobcomp]" in site.log(), what="refusal")
        before = ends(site)
        job(site)
        site.wait(lambda: ends(site) == before + 1, what="the end of a job, told by the slurmctld that goes on")
    site.restart()
    site.wait(lambda: 'next = "nosuch"' in site.log(), what="line")
    before = len(delivered(site))
    job(site)
    site.wait(lambda: len(delivered(site)) == before + 1, what="delivery without the other plugin")


REFUSES = """
from slurmhooks import Reject

@hook.job_end
def refuse(event):
    if not os.path.exists("/var/lib/slurm/delivered/ready"):
        raise Reject("not ready")
    note(id=event.id, name="redelivered")
"""


def test_what_root_delivers_again(site: Cluster) -> None:
    """A dead letter that root has delivered again reaches the handler, and later records are delivered as before."""
    site.put(START + REFUSES, "/etc/slurm/hooks.d/refuses.py")

    def dead() -> int:
        return len(json.loads(site.root("slurmhooks", "spool", "--json").stdout)["dead"])

    job(site)
    site.wait(lambda: dead() == 1, what="a dead letter")
    site.shell(f"touch {FOLDER}/ready; slurmhooks spool redeliver")
    site.wait(lambda: delivered(site, "redelivered"), what="its delivery")
    before = len(delivered(site))
    job(site)
    site.wait(lambda: len(delivered(site)) == before + 1, what="the delivery of a later record")
    site.put("# none\n", "/etc/slurm/hooks.d/refuses.py")


SCRIPT = """
function slurm_jobcomp_log_record(job_rec)
   job_rec.admin_comment = "seen " .. job_rec.name
   return slurm.SUCCESS
end
return slurm.SUCCESS
"""


@pytest.mark.moved
def test_lua_scripts_go_on(site: Cluster) -> None:
    """With next = "lua" a site's jobcomp.lua runs unchanged beside the handlers, and writes to the job."""
    site.put(SCRIPT, "/etc/slurm/jobcomp.lua")
    site.put(TOML.replace("filetxt", "lua"), "/etc/slurm/slurmhooks.toml")
    site.restart()
    before = len(delivered(site))
    number = job(site, "--job-name=third")
    site.wait(lambda: len(delivered(site)) > before, what="delivery")
    assert "AdminComment=seen third" in site.root("scontrol", "show", "job", str(number), check=True).stdout


REPORT = """#!/bin/sh
env >/var/lib/slurm/delivered/report.$JOBID.tmp && mv /var/lib/slurm/delivered/report.$JOBID.tmp \\
    /var/lib/slurm/delivered/report.$JOBID
"""
AS_SCRIPT = """
import grp

UNSET = 0xFFFFFFFE

def status(raw):
    signal = raw & 0x7F
    return f"0:{signal}" if signal else f"{raw >> 8}:0"

@hook.job_end
def report(record):
    cancelled_early = record.start_time > record.end_time
    start = record.resize_time or (0 if cancelled_early else record.start_time)
    note(name="report", job=record.job_id, more=dict(
        excluded=record.exc_nodes, contiguous=record.contiguous,
        suspended=record.tot_sus_time, failed_node=getattr(record, "failed_node", None)), text=dict(
        JOBID=record.job_id, EXITCODE=status(int(record.exit_code)), DERIVED_EC=status(int(record.derived_ec)),
        ARRAYJOBID=record.array_job_id, ARRAYTASKID=UNSET if record.array_task_id is None else record.array_task_id,
        UID=record.user_id, GID=record.group_id, START=start, END=record.end_time, SUBMIT=record.submit_time,
        ELIGIBLE=record.begin_time, PROCS=record.total_cpus, BATCH="yes" if record.batch_flag else "no",
        CLUSTER=record.cluster, CONSTRAINTS=record.features, NODES=record.nodes, ACCOUNT=record.account,
        JOBNAME=record.name, JOBSTATE=record.job_state.name.removeprefix("JOB_"), PARTITION=record.partition,
        QOS=record.qos, DEPENDENCY=record.orig_dependency, WORK_DIR=record.work_dir, RESERVATION=record.resv_name,
        USERNAME=record.user_name, GROUPNAME=grp.getgrgid(record.group_id).gr_name,
        STATEREASONPREV=record.state_reason_prev_db.name, STDIN=record.std_in, STDOUT=record.std_out,
        STDERR=record.std_err))
"""
"""What jobcomp/script gives to a program, made from the record."""
SPELT = {
    "COMPLETE": "COMPLETED",
    "WAIT_DEPENDENCY": "Dependency",
    "WAIT_HELD_USER": "JobHeldUser",
    "WAIT_NO_REASON": "None",
    "WAIT_PRIORITY": "Priority",
    "WAIT_RESOURCES": "Resources",
    "WAIT_TIME": "BeginTime",
}
"""Slurm's words for states and reasons."""


@pytest.mark.one_release("22.05", "24.11")
@pytest.mark.moved
def test_long_texts_of_one_user_do_not_fill_the_spool(site: Cluster) -> None:
    """While nothing can be delivered, jobs with long texts leave room for the records of others; theirs are kept, too.

    A record that would fill the spool has only the beginnings of its texts.
    """
    if not has_records(site):
        pytest.skip("records need Slurm's sources")
    site.put(f'{TOML}spool_size = "8MiB"\n', "/etc/slurm/slurmhooks.toml")
    hooks = START + WITH_RECORD.replace(
        "    kept.append", f"    if os.path.exists('{FOLDER}/down'): 1 / 0\n    kept.append"
    )
    site.put(hooks, "/etc/slurm/hooks.d/ends.py")
    site.shell(f"rm -f {FOLDER}/lines; touch {FOLDER}/down")
    site.restart("slurmctld")
    site.put(
        "#!/bin/sh\nlong=$(head -c 100000 /dev/zero | tr '\\0' x)\nprintf '#!/bin/sh\\n' > /tmp/short.sh\n"
        "for i in $(seq 20); do sbatch --parsable -o /dev/null /tmp/short.sh $long $long $long $long $long; done\n",
        "/tmp/many.sh",
    )
    longs = site.user("alice", "sh", "/tmp/many.sh", check=True).stdout.split()
    site.wait(lambda: not site.shell("squeue -h -t pd,r,cg"), what="end of the jobs")
    others = [job(site) for _ in range(20)]
    site.wait(lambda: not site.shell("squeue -h -t pd,r,cg"), what="end of the jobs")
    site.wait(lambda: "longer texts of records are cut" in site.log("slurmctld"), what="line")
    assert "records were not kept" not in site.log("slurmctld")
    site.shell(f"rm {FOLDER}/down")
    site.wait(lambda: len(delivered(site)) >= len(longs) + len(others), what="records")
    lines = {line["job"]: line["line"] for line in delivered(site)}
    assert lines.keys() == {*map(int, longs), *others}
    long = "x" * 100000
    texts = sorted((lines[int(each)] for each in longs), key=len)  # jobs end in any order
    assert texts[-1] == f"sbatch --parsable -o /dev/null /tmp/short.sh {' '.join([long] * 5)}"
    assert len(texts[0]) == 1023
    assert texts[-1].startswith(texts[0])
    assert lines[others[0]] == "sbatch --parsable -o /dev/null --wrap=true"


@pytest.mark.moved
@pytest.mark.one_release("22.05", "24.11")
def test_records_have_what_slurms_own_plugin_reports(site: Cluster) -> None:
    """All that jobcomp/script tells its program about a job is in the record, and so are times of suspension."""
    if not has_records(site):
        pytest.skip("records need a build with Slurm's sources")
    site.put(REPORT, "/var/lib/slurm/delivered/report.sh", 0o755)
    site.put(TOML.replace("filetxt", "script"), "/etc/slurm/slurmhooks.toml")
    site.put(CONF.replace("/var/log/slurm/jobcomp.log", f"{FOLDER}/report.sh"), "/etc/slurm/local.conf")
    site.put(START + AS_SCRIPT, "/etc/slurm/hooks.d/ends.py")
    site.restart()
    numbers = [
        job(site, "-n2", "-t5", "-x", "n2", "--contiguous", wrap="exit 3"),
        job(site, "-a", "4", "-J", "two words", wrap="kill -9 $$"),
        job(site, "-H", "-d", "afterok:1", "--begin=now+1hour", "-o", "%j.out", "-e", "%j.err"),
        job(site, wrap="sleep 3"),
    ]
    site.root("scancel", str(numbers[2]), check=True)
    site.wait(lambda: "R" in site.root("squeue", "-h", "-o%t", "-j", str(numbers[3])).stdout, what="start")
    site.root("scontrol", "suspend", str(numbers[3]), check=True)
    site.shell("sleep 1.1")  # Slurm counts whole seconds
    site.root("scontrol", "resume", str(numbers[3]), check=True)
    site.wait(lambda: len(delivered(site, "report")) >= 4, what="delivery")
    mine = {row["job"]: row for row in delivered(site, "report")}
    assert set(mine) == set(numbers)
    site.wait(lambda: site.shell(f"ls {FOLDER} | grep -c 'report[.][0-9]*$' || true") == "4", what="Slurm's reports")
    for number in numbers:
        lines = site.shell(f"cat {FOLDER}/report.{number}").splitlines()
        theirs = dict(line.split("=", 1) for line in lines if "=" in line)
        ours = {name: "" if value is None else str(value) for name, value in mine[number]["text"].items()}
        ours["JOBSTATE"] = SPELT.get(ours["JOBSTATE"], ours["JOBSTATE"])
        if site.version < (23, 2):
            del ours["ELIGIBLE"]  # 22.05 does not tell it
        ours["STATEREASONPREV"] = SPELT.get(ours["STATEREASONPREV"], ours["STATEREASONPREV"])
        assert ours == {name: theirs.get(name, "") for name in ours}
    first, last = (mine[number]["more"] for number in (numbers[0], numbers[3]))
    assert (first["excluded"], first["contiguous"], first["failed_node"]) == ("n2", 1, None)
    assert last["suspended"] >= 1
