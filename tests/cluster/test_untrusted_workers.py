# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld of root with workers of another user: a compromised worker gets nothing of root, and slurmctld serves.

The handler runs what a job's comment says, in place of an attacker who has taken over a worker.
"""

import textwrap

import pytest

from tests.cluster.job_submit_site import TOML, Site, prepare
from tests.cluster.turns import moved_from

pytestmark = [pytest.mark.one_release("22.05"), pytest.mark.stopped]
STAY = {"test_a_compromised_worker", "test_periodic_rules"}

HOOKS = """
import array, ctypes, fcntl, gc, os, signal, socket, struct, subprocess, time
from slurmhooks.wire.protocol import Control
from slurmhooks.recording import page as pages
from slurmhooks.processes import control, descriptors; from slurmhooks.collector import reporting
from slurmhooks.processes.control import Message
from slurmhooks import hook

generation = os.getppid

@hook.job_submit
def policy(job):
    if job.comment is not None and job.comment.startswith("attack "):
        exec(job.comment.removeprefix("attack "), globals() | {"job": job})

@hook.job_submit(order=90)
def marks(job):
    job.admin_comment = "the policy was here"
"""
EVERY = "/var/lib/slurm/slurmctld/slurmhooks/every"
RULES = f"""
import time

@hook.every("10s")
def where(jobs):
    try:
        os.listdir("{EVERY}")
    except PermissionError:
        dies = os.path.exists("/var/tmp/dies")
        with open("/var/tmp/ran", "a") as file:
            file.write(f"{{time.time() // 10:.0f}} {{os.getuid()}} {{'dies' if dies else 'whole'}}\\n")
        if dies:
            os.kill(os.getpid(), 9)
"""
OWN = "/etc/own"
STEAL = """
libc = ctypes.CDLL(None, use_errno=True)
for pid in (os.getppid(), *(int(each) for each in os.listdir("/proc") if each.isdecimal())):
    handle = libc.syscall(434, pid, 0)
    for number in range(32) if handle >= 0 else ():
        fd = libc.syscall(438, handle, number, 0)
        if fd >= 0 and pid != os.getpid():
            open("/var/tmp/stolen", "a").write(f"{pid} {number}\\n")
            try:
                sock = socket.socket(fileno=fd)
                control.send(sock, Message(Control.WORKER, 1, VICTIM, fds=(fd, fd)), socket.MSG_DONTWAIT)
            except (OSError, ValueError):
                pass
"""
ORDER = f"""
orders = {{"number": 1, "file": {OWN!r}, "until": time.time() + 60, "size": 1 << 20, "tables": [],
    "with": ["$(touch {OWN}.ran)"]}}
try:
    pages.page.begin(orders)
except (TypeError, ValueError):
    pages.page = None
for fd in os.listdir("/proc/self/fd"):
    try:
        os.write(os.open(f"/proc/self/fd/{{fd}}", os.O_RDWR | os.O_NONBLOCK), b"\\1" * 4096)
    except OSError:
        pass
"""
REPORT = """
own = reporting.reporter.socket
for kind in range(5):
    for fd in (os.open("/dev/zero", os.O_RDONLY), os.pipe()[0], os.memfd_create("x"), descriptors.sealed(b"[" * 99999)):
        try:
            socket.send_fds(own, [struct.pack("<II", kind, 0)], [fd], socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
    own.send(struct.pack("<II", kind, 0) + b'{"hook": 1}', socket.MSG_DONTWAIT)
own.send(b"x", socket.MSG_DONTWAIT)
"""
RANDOM = """
import gc, random, sys
from slurmhooks.worker.channel import HEADER, Channel
rng = random.Random(SEED)
(channel,) = (each for each in gc.get_objects() if isinstance(each, Channel))
ours = next(each for each in gc.get_referents(channel, vars(channel)) if isinstance(each, socket.socket))
channel.page[:] = rng.randbytes(len(channel.page))
for _ in range(rng.randrange(1, 30)):
    data = rng.randbytes(rng.choice([0, 4, 8, 99, 5000]))
    try:
        report = struct.pack("<II", rng.randrange(5), rng.randrange(9)) + data
        reporting.reporter.socket.send(report, socket.MSG_DONTWAIT)
        kind = rng.choice([rng.randrange(9), rng.randrange(1 << 32)])
        length = rng.choice([len(data)] * 5 + [rng.randrange(1 << 32)])
        ours.send(HEADER.pack(length, kind) + data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass
    except OSError:
        break
"""
ATTACKS = {
    "takes descriptors of other processes": STEAL,
    "orders a recording": ORDER,
    "damages reports": REPORT,
    "cuts off the decision log": "reporting.reporter.socket.shutdown(socket.SHUT_RDWR)",
    "writes millions of texts": "job.argv = [''] * (2 << 20)",
    "fills a non-blocking log": """
fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_NONBLOCK)
try:
    while True:
        os.write(2, b"x" * 4096 + b"\\n")
except BlockingIOError:
    os.kill(os.getpid(), signal.SIGKILL)
""",
    "kills what it may": "os.kill(-1, signal.SIGKILL)",
    "stops its generation": "os.kill(generation(), signal.SIGSTOP); time.sleep(1000)",
}


@pytest.fixture(scope="module")
def site(cluster) -> Site:  # type: ignore[no-untyped-def]
    """A slurmctld of root whose workers run as nobody."""
    instance = prepare(cluster, "SlurmUser=root\nJobSubmitPlugins=python\n")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nuser = "nobody"\ntimeout = 5\n', TOML)
    instance.hooks(HOOKS)
    cluster.restart()
    return instance


def whole(site: Site, script: str) -> str:
    """Return the output of a script of root."""
    return site.shell(script, user="root").strip()


@pytest.mark.parametrize("attack", moved_from(2, ATTACKS))
def test_a_compromised_worker(site: Site, attack: str) -> None:
    """It creates no file of root, ends no process of root, fills no memory, and the policy stays in force."""
    whole(site, f"rm -f {OWN}* /var/tmp/stolen; setsid sleep 1000 & echo $! > /root/victim")
    victim = whole(site, "cat /root/victim")
    before = whole(site, "pgrep -xo slurmctld")
    code = f"VICTIM = {victim}\n{textwrap.dedent(ATTACKS[attack])}"
    site.said("sbatch", "--hold", "--output=/dev/null", f"--comment=attack {code}", "--wrap=true")
    site.cluster.wait(lambda: "Submitted" in site.said("sbatch", "--hold", "--output=/dev/null", "--wrap=true"))
    job = site.submit()
    assert site.show(job)["AdminComment"] == "the policy was here"
    assert whole(site, f"ls {OWN}* 2>&1 || true").count("No such file") == 1
    assert whole(site, "cat /var/tmp/stolen 2>/dev/null || true") == ""
    assert whole(site, f"cat /proc/{victim}/comm") == "sleep"
    assert whole(site, "pgrep -xo slurmctld") == before
    assert int(whole(site, f"awk '/VmRSS/ {{print $2}}' /proc/{before}/status")) < 200 << 10
    site.cluster.wait(lambda: "the policy was here" in whole(site, "slurmhooks why --last 1"))
    whole(site, f"kill {victim}")


def test_random_messages(site: Site) -> None:
    """Nor do random bytes on the channel, on the status page and in reports."""
    before = whole(site, "pgrep -xo slurmctld")
    for seed in range(12):
        code = f"SEED = {seed}\n{RANDOM}"
        site.said("sbatch", "--hold", "--output=/dev/null", f"--comment=attack {code}", "--wrap=true")
        # What is left on the channel may be taken for the answer to the next request, which is then refused.
        site.cluster.wait(lambda: "Submitted" in site.said("sbatch", "--hold", "--output=/dev/null", "--wrap=true"))
        assert site.show(site.submit())["AdminComment"] == "the policy was here"
    assert whole(site, "pgrep -xo slurmctld") == before
    site.cluster.wait(lambda: "sent an invalid message" in site.logged(), what="line")
    site.cluster.wait(lambda: "the policy was here" in whole(site, "slurmhooks why --last 1"))


def test_recordings_still_work(site: Site) -> None:
    """After all attacks, root can record requests."""
    whole(site, "slurmhooks record /root/after.recording --for 60s")
    site.submit()
    site.cluster.wait(lambda: "1 request" in whole(site, "slurmhooks record --status"))
    whole(site, "slurmhooks record --stop")


def test_periodic_rules(site: Site) -> None:
    """Rules run as that user, who may not touch lock and notes: each run happens once, also one that was killed."""
    if not site.cluster.has_sources:
        pytest.skip("the build has only public headers")
    whole(site, "rm -f /var/tmp/ran; install -m 666 /dev/null /var/tmp/ran")
    site.hooks(RULES, "rules.py")

    def ran(what: str = "") -> list[str]:
        return [line for line in whole(site, "cat /var/tmp/ran").splitlines() if what in line]

    site.cluster.wait(lambda: len(ran("whole")) >= 2, what="two runs")
    whole(site, "touch /var/tmp/dies")
    site.cluster.wait(lambda: ran("dies"), what="a run that is killed")
    whole(site, "rm /var/tmp/dies")
    before = len(ran())
    site.cluster.wait(lambda: len(ran()) >= before + 2, what="more runs")
    times, users, _ = zip(*(line.split() for line in ran()), strict=True)
    assert len(set(times)) == len(times)
    assert set(users) == {whole(site, "id -u nobody")}
    assert whole(site, f"stat -c '%U %a' {EVERY} {EVERY}/lock {EVERY}/runs.json").split("\n") == [
        "root 700",
        "root 600",
        "root 600",
    ]
    assert "periodic handlers" not in whole(site, "slurmhooks status || true")
