# SPDX-License-Identifier: GPL-2.0-or-later
"""Mail hooks and reservation hooks with a real slurmctld, and a mail server that may hang."""

import json
import time
from typing import Any

import pytest

from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

FOLDER = "/var/lib/slurm/mail"
SPOOL = "/var/lib/slurm/slurmctld/slurmhooks"
PROGRAMS = "/usr/local/lib/slurm/slurmhooks/slurmhooks_"
HOOKS = f"""
import json, os, time
from slurmhooks import Reject, hook

def note(**what):
    fd = os.open("{FOLDER}/notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, (json.dumps(what) + "\\n").encode())
    os.close(fd)

@hook.mail
def by_smtp(mail):
    mail.send("127.0.0.1:2525", sender="slurm@x.org", to=["a@x.org"], timeout=30)

@hook.mail
def take(mail, record, event):
    while os.path.exists("{FOLDER}/hold"):
        time.sleep(0.1)
    note(id=event.id, event=mail.event, job=mail.job_id, array=mail.array_job_id, task=mail.array_task_id,
         user=mail.user, recipients=mail.recipients, subject=mail.subject, environment=dict(mail.environment),
         account=record and [record.job_id, record.user_id], text=mail.text)

@hook.reservation.start
def start(reservation, event):
    note(event=event.name, reservation=reservation)

@hook.reservation.end
def end(reservation, event):
    note(event=event.name, reservation=reservation)
"""
SERVER = f"""
import os, socket, threading, time

def serve(connection):
    lines = connection.makefile("rw", newline="\\r\\n")
    def say(text):
        while os.path.exists("{FOLDER}/hang"):
            time.sleep(0.1)
        lines.write(text + "\\r\\n")
        lines.flush()
    say("220 here")
    for line in lines:
        if line.startswith("data"):
            say("354 go on")
            while next(lines) != ".\\r\\n":
                pass
            with open("{FOLDER}/received", "a") as file:
                file.write("mail\\n")
        say("250 fine")

server = socket.create_server(("127.0.0.1", 2525), backlog=100)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
CONF = f"""
JobSubmitPlugins=python
MailProg={PROGRAMS}mail
ResvProlog={PROGRAMS}reservation_start
ResvEpilog={PROGRAMS}reservation_end
"""
SINCE_2305 = {"SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_JOB_OVERSUBSCRIBE"}


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with the programs of mail and reservations."""
    cluster.put(SERVER, "/etc/slurm/server.py")
    cluster.shell(f"mkdir -p {FOLDER}; chown slurm {FOLDER}")
    cluster.shell("setsid python3 /etc/slurm/server.py > /var/log/slurm/server 2>&1 < /dev/null &")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/mail.py")
    cluster.put(
        f"{cluster.shell('cat /etc/slurm/slurmhooks.toml')}\n[mail]\nbackoff = 1\n", "/etc/slurm/slurmhooks.toml"
    )
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.deploy()
    cluster.restart()
    return cluster


def notes(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what the handlers noted."""
    return [json.loads(line) for line in cluster.shell(f"cat {FOLDER}/notes 2> /dev/null || true").splitlines()]


def of(cluster: Cluster, job: int | None, count: int) -> list[dict[str, Any]]:
    """Return the mails of a job or array, once there are some."""
    mails: list[dict[str, Any]] = []

    def there() -> bool:
        mails[:] = [note for note in notes(cluster) if job in (note.get("job"), note.get("array"))]
        return len(mails) >= count

    cluster.wait(there, 180, f"{count} mails of job {job}")
    return mails


def submit(cluster: Cluster, *options: str, name: str = "alice") -> int:
    """Submit a job, and return its id."""
    output = cluster.user(name, "sbatch", "--parsable", "-o", "/dev/null", *options, check=True).stdout
    return int(output.split(";")[0])


@pytest.mark.each_release
def test_what_slurm_tells(site: Cluster) -> None:
    """Begin and end of a job come in order, with arguments and variables as Slurm made them, and the job's record."""
    job = submit(site, "--mail-type=ALL", "--mail-user=a@x.org,bob", "-J", "x$(id) é", "--wrap=exit 3")
    begun, ended, *more = of(site, job, 2)
    more += [note for note in of(site, job, 2)[2:] if note not in more]
    assert [begun["event"], ended["event"]] == ["BEGIN", "FAIL"]
    assert begun["recipients"] == "a@x.org,bob"
    assert begun["user"] == "alice"
    assert begun["subject"].startswith(f"Slurm Job_id={job} Name=x$(id) é Began, Queued time ")
    assert begun["text"] == f"{begun['subject']}\n"
    environment = ended["environment"]
    assert environment["SLURM_JOB_NAME"] == "x$(id) é"
    assert environment["SLURM_JOB_STATE"] == "FAILED"
    assert environment["SLURM_JOB_EXIT_CODE_MAX"] == "3"
    assert environment["SLURM_JOB_RUN_TIME"]
    assert (environment.keys() >= SINCE_2305) == (site.version >= (23, 2))
    uid = int(site.shell("id -u alice"))
    assert begun["account"] == ([job, uid] if site.has_sources else None)
    site.wait(lambda: len(site.shell(f"cat {FOLDER}/received || true").split()) == 2, what="mails at the server")


@pytest.mark.moved
def test_arrays(site: Cluster) -> None:
    """An array has one mail, or one for each task."""
    job = submit(site, "--mail-type=END", "-a", "1-3", "--wrap=true")
    (mail,) = of(site, job, 1)
    assert (mail["event"], mail["array"], mail["task"]) == ("END", job, None)
    job = submit(site, "--mail-type=END,ARRAY_TASKS", "-a", "1-3", "--wrap=true")
    assert sorted(mail["task"] for mail in of(site, job, 3)) == [1, 2, 3]


@pytest.mark.moved
def test_other_events(site: Cluster) -> None:
    """Each event that can be had soon has the word of --mail-type."""
    job = submit(site, "--mail-type=REQUEUE,FAIL", "--requeue", "--wrap=sleep 600")
    site.wait(lambda: "RUNNING" in site.root("scontrol", "show", "job", str(job)).stdout, what="the job")
    site.root("scontrol", "requeue", str(job), check=True)
    of(site, job, 1)
    site.root("scancel", str(job), check=True)
    short = submit(site, "--mail-type=TIME_LIMIT_50,TIME_LIMIT", "-t", "1", "--wrap=sleep 600")
    bad = submit(site, "--mail-type=INVALID_DEPEND", "-d", f"afterok:{job}", "--wrap=true")
    assert of(site, job, 1)[0]["event"] == "REQUEUE"
    assert of(site, bad, 1)[0]["event"] == "INVALID_DEPEND"
    assert [mail["event"] for mail in of(site, short, 2)] == ["TIME_LIMIT_50", "TIME_LIMIT"]


@pytest.mark.each_release
def test_reservations(site: Cluster) -> None:
    """The start and the end of a reservation reach their handlers, in this order."""
    created = "scontrol create reservation reservationname=r1 starttime=now+1 duration=1 users=alice nodes=n1"
    site.shell(f"{created} flags=ignore_jobs")
    site.wait(
        lambda: (
            [note["event"] for note in notes(site) if note.get("reservation") == "r1"]
            == ["reservation.start", "reservation.end"]
        ),
        180,
        "start and end of the reservation",
    )


def test_a_server_that_hangs_delays_nothing(site: Cluster) -> None:
    """No program of Slurm waits for it; slurmctld answers; and once it is back, every mail comes."""
    before = len(site.shell(f"cat {FOLDER}/received").split())
    site.put("", f"{FOLDER}/hang")
    jobs = [submit(site, "--mail-type=END", "--wrap=true") for _ in range(5)]
    site.wait(lambda: len(site.shell(f"ls {SPOOL}/mail | grep spool$ || true").split()) == 5, 120, "five mails")
    site.wait(lambda: site.root("pgrep", "-f", "handover.program").returncode == 1, 20, "end of the programs")
    began = time.monotonic()
    site.user("alice", "srun", "true", check=True)
    assert time.monotonic() - began < 10
    site.root("rm", f"{FOLDER}/hang", check=True)
    for job in jobs:
        of(site, job, 1)
    site.wait(lambda: len(site.shell(f"cat {FOLDER}/received").split()) == before + 5, what="mails at the server")


def test_a_kill_of_every_process_loses_no_mail(site: Cluster) -> None:
    """slurmctld and the delivery are killed while a handler runs: each mail is delivered once slurmctld is back."""
    site.put("", f"{FOLDER}/hold")
    jobs = [submit(site, "--mail-type=END", "--wrap=true") for _ in range(3)]
    site.wait(lambda: len(site.shell(f"ls {SPOOL}/mail | grep spool$ || true").split()) == 3, 120, "three mails")
    site.root("sh", "-c", "kill -9 $(pgrep -f [s]lurmhooks.mail.process) $(cat /run/slurmctld.pid)")
    site.wait(lambda: site.root("pgrep", "-f", "slurmhooks.mail.process").returncode, what="end of the delivery")
    site.root("rm", f"{FOLDER}/hold", check=True)
    site.restart("slurmctld")
    for job in jobs:
        of(site, job, 1)
    assert site.shell(f"ls {SPOOL}/mail/dead 2> /dev/null || true") == ""


@pytest.mark.moved
def test_check_finds_a_missing_line(site: Cluster) -> None:
    """`check` says which line of slurm.conf a handler of mails needs."""
    assert "MailProg" not in site.root("slurmhooks", "check").stderr
    site.put(CONF.replace(f"MailProg={PROGRAMS}mail\n", ""), "/etc/slurm/local.conf")
    assert f"it needs the line MailProg={PROGRAMS}mail instead of /bin/true" in site.root("slurmhooks", "check").stderr


ELSEWHERE = """
rm -rf /opt/conf
cp -a /etc/slurm /opt/conf
sed -i 's|/etc/slurm/local.conf|/opt/conf/local.conf|' /opt/conf/slurm.conf
echo StateSaveLocation=/var/spool/elsewhere >>/etc/slurm/slurm.conf
pid=$(cat /run/slurmctld.pid)
kill $pid
while kill -0 $pid 2> /dev/null; do sleep 0.1; done
slurmctld -f /opt/conf/slurm.conf
"""


@pytest.mark.moved
def test_another_slurm_conf(site: Cluster) -> None:
    """A mail belongs to the slurmctld that sends it, although that does not say which slurm.conf it has."""
    there = {"SLURM_CONF": "/opt/conf/slurm.conf"}
    site.shell(ELSEWHERE)
    try:
        words = ("sbatch", "--parsable", "-o", "/dev/null", "--mail-type=BEGIN", "--wrap=true")
        output = ""

        def submitted() -> bool:
            nonlocal output
            output = str(
                site.user("alice", "env", *(f"{name}={value}" for name, value in there.items()), *words).stdout
            )
            return bool(output)

        site.wait(submitted, what="slurmctld")
        of(site, int(output.split(";")[0]), 1)
    finally:
        site.shell("sed -i /elsewhere/d /etc/slurm/slurm.conf")
        site.restart()
