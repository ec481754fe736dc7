# SPDX-License-Identifier: GPL-2.0-or-later
"""A generation that runs as another user can be as hostile as that user: the supervisor stays, and serves the next one.

Each attack is code of a hook file that speaks the protocols of slurmhooks itself.
"""

import os
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmhooks.processes import control, descriptors
from slurmhooks.wire.protocol import Control
from slurmhooks.worker import commands
from tests.cluster.turns import moved_from
from tests.native.workers import PATIENCE, wait_for
from tests.unit.worker.supervisors import Supervisor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]

LATER = 9999
"""No generation in these tests has this number."""
PREPARE = """
import array, fcntl, gc, json, os, random, signal, socket, struct, subprocess, sys, time
from slurmhooks.recording import page as pages
from slurmhooks.wire.protocol import Control
from slurmhooks.processes import control, descriptors, process; from slurmhooks.collector import reporting
from slurmhooks.processes.control import Message, HEADER

frame = sys._getframe()
while "supervisor" not in frame.f_locals:
    frame = frame.f_back
sock, number = frame.f_locals["supervisor"], frame.f_locals["number"]
parent, me = os.getppid(), os.getpid()
open(BEGUN, "w").close()
process.become(65534)

def say(kind, pid=0, value=0, text="", fds=(), generation=number):
    control.send(sock, Message(kind, generation, pid, value, text, tuple(fds)))

def channel():
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    kept.extend(ends)
    return ends[0].fileno()

def memory(size=256):
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd

def sealed(data):
    return descriptors.sealed(data if isinstance(data, bytes) else json.dumps(data).encode())

def loaded(**changes):
    document = {"watch": {"place": "", "files": [], "handlers": {}}, "hooks": "", **changes}
    say(Control.LOADED, fds=[sealed(document)])

def forked():
    pid = os.fork()
    if not pid:
        time.sleep(1000)
    return pid

kept = []
"""

SETTINGS = (
    "{'section': {'workers': 1, 'timeout': 9.0}, 'rules': {}, 'hooks': '',"
    " 'collect': {'decisions': {'file': TARGET, 'max_size': 9, 'keep': 1, 'sample': 1}}}"
)

ATTACKS = {
    "names a stranger as its worker": """
        loaded(); say(Control.WORKER, VICTIM, fds=[channel(), memory()]); os._exit(0)""",
    "names the supervisor": "loaded(); say(Control.WORKER, parent, fds=[channel(), memory()]); os._exit(0)",
    "names every process": """
        loaded(); say(Control.WORKER, 0xFFFFFFFF, fds=[channel(), memory()]); os._exit(0)""",
    "names its group": "loaded(); say(Control.WORKER, 0, fds=[channel(), memory()]); os._exit(0)",
    "names itself": "loaded(); say(Control.WORKER, me, fds=[channel(), memory()]); os._exit(0)",
    "reports the death of a stranger": "say(Control.DIED, VICTIM, 9); say(Control.DIED, parent, 9); os._exit(0)",
    "hands over a worker before the hooks": "say(Control.WORKER, forked(), fds=[channel(), memory()]); time.sleep(2)",
    "hands over many workers": """
        loaded()
        for _ in range(100):
            say(Control.WORKER, forked(), fds=[channel(), memory()])
        time.sleep(2)""",
    "speaks for a later generation": """
        loaded(); say(Control.WORKER, forked(), fds=[channel(), memory()], generation=9999); os._exit(0)""",
    "hands over a file as a channel": """
        loaded(); say(Control.WORKER, forked(), fds=[os.open("/dev/zero", os.O_RDWR), memory()]); time.sleep(2)""",
    "hands over a pipe as a status page": """
        loaded(); say(Control.WORKER, forked(), fds=[channel(), os.pipe()[0]]); time.sleep(2)""",
    "hands over no descriptors": "loaded(); say(Control.WORKER, forked()); time.sleep(2)",
    "observes through a file": "say(Control.OBSERVER, fds=[os.open('/dev/zero', os.O_RDWR)]); time.sleep(2)",
    "claims runs through a file": "say(Control.CLAIMS, fds=[os.open('/dev/zero', os.O_RDWR)]); time.sleep(2)",
    "configures the collector": f"""
        say(Control.CONFIGURED, fds=[sealed({{"settings": {SETTINGS},
            "watch": {{"place": "", "files": [], "handlers": {{}}}}}})])
        loaded(); say(Control.WORKER, forked(), fds=[channel(), memory()])
        for _ in range(30):
            report = ["", 1, "x", None, None, {{}}, None, "refused", {{}}, [], 1, 0, ""]
            reporting.reporter.report(reporting.DECISION, json.dumps(report).encode())
            time.sleep(0.1)""",
    "loads other settings": f"loaded(settings={SETTINGS}); time.sleep(2)",
    "has files that are not its own": """
        loaded(watch={"place": "/root", "files": ["/proc/kmsg", "/etc/../etc/shadow"], "handlers": {}})
        time.sleep(2)""",
    "has handlers of the wrong shape": """
        loaded(watch={"place": "", "files": [], "handlers": {"x": [["a", 1, None]]}}); time.sleep(2)""",
    "has handlers with control characters": """
        loaded(watch={"place": "", "files": [], "handlers": {"x\\x1b": [["a", "b\\n\\x9b", "c", ""]]}})
        os._exit(0)""",
    "sends a document without an end": "say(Control.LOADED, fds=[os.open('/dev/zero', os.O_RDONLY)]); time.sleep(2)",
    "sends a document that blocks": "say(Control.FAILED, fds=[os.pipe()[0]]); time.sleep(2)",
    "sends a document that may change": "say(Control.LOADED, fds=[memory(1 << 20)]); time.sleep(2)",
    "sends a huge document": """
        fd = memory(64 << 30); fcntl.fcntl(fd, fcntl.F_ADD_SEALS, descriptors.SEALS)
        say(Control.LOADED, fds=[fd]); time.sleep(2)""",
    "nests a document deeply": "say(Control.LOADED, fds=[sealed(b'[' * 1000000)]); time.sleep(2)",
    "sends no JSON": "say(Control.FAILED, fds=[sealed(b'\\xff{')]); time.sleep(2)",
    "sends a list": "say(Control.FAILED, fds=[sealed([1, 2])]); time.sleep(2)",
    "sends findings of the wrong type": """
        say(Control.FAILED, fds=[sealed({"findings": [1, {}], "watch": {}})]); time.sleep(2)""",
    "sends many descriptors": """
        fds = [memory() for _ in range(200)]
        for _ in range(50):
            say(Control.DIED, 1, fds=fds)
        os._exit(0)""",
    "sends short messages": "sock.send(b'x'); sock.send(b'1234567'); time.sleep(2)",
    "sends unknown kinds": "say(77); time.sleep(2)",
    "sends messages of slurmctld": "say(Control.SERVING, 1, 1); say(Control.UNSERVED, 0, 0, 'x'); time.sleep(2)",
    "sends without reading": """
        for _ in range(20000):
            say(Control.UNAVAILABLE, 0, 1, "x" * 3000)
        time.sleep(2)""",
    "fails with control characters": """
        say(Control.FAILED, fds=[sealed({"findings": ["\\x1b[2J\\x9b\\nforged"],
            "watch": {"handlers": {}}})]); time.sleep(2)""",
    "makes the log non-blocking, and fills it": """
        fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_NONBLOCK)
        say(77); time.sleep(2)""",
    "writes orders for a recording": """
        try:
            pages.page.begin({"number": 1, "file": TARGET, "until": time.time() + 99, "size": 1 << 20, "with": [],
                "tables": []})
        except (TypeError, ValueError):
            pass
        for fd in os.listdir("/proc/self/fd"):
            try:
                if "recording" in os.readlink(f"/proc/self/fd/{fd}"):
                    os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
                    say(77, text="opened")
            except OSError:
                pass
        time.sleep(2)""",
    "traces its parent": """
        try:
            os.kill(parent, 9)
        except PermissionError:
            pass
        os._exit(0)""",
    "ends at once": "os._exit(0)",
}


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of root in a session of its own."""
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def assert_unharmed(supervisor: Supervisor, victim: subprocess.Popen[bytes], folder: Path) -> None:
    """Assert what an attack must not have done, and that valid files go into service afterwards."""
    served = folder / "served"
    supervisor.put(start=f"open({str(served)!r}, 'w').close()")
    kind = None
    while kind != Control.SERVING or not served.exists():
        message = control.receive(supervisor.socket)
        assert message is not None, supervisor.errors()
        kind = message.kind
        if kind == Control.WORKER:
            channel, page = message.fds
            assert descriptors.is_stream(channel)
            assert descriptors.is_memory(page)
        assert message.generation < LATER
        assert message.text.isprintable(), message
        descriptors.discard(message.fds)
        if kind == Control.SERVING:
            supervisor.send(control.Message(Control.ACKNOWLEDGED, message.generation))
    assert not supervisor.has_ended
    assert victim.poll() is None
    assert not (folder / "target").exists()
    assert "Traceback" not in supervisor.errors()


def attack_by(supervisor: Supervisor, victim: subprocess.Popen[bytes], folder: Path, code: str) -> None:
    """Start a supervisor whose first generation runs code as another user, and wait until that has begun."""
    begun = folder / "begun"
    names = f"VICTIM = {victim.pid}; TARGET = {str(folder / 'target')!r}; BEGUN = {str(begun)!r}\n"
    supervisor.put(load=f"exec({names + PREPARE + code!r}, {{}})")
    supervisor.start()
    wait_for(begun.exists, "the attack")


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(supervisor: Supervisor, victim: subprocess.Popen[bytes], tmp_path: Path, attack: str) -> None:
    """No attack reaches a process, a file or a text outside of the generation."""
    attack_by(supervisor, victim, tmp_path, textwrap.dedent(ATTACKS[attack]))
    assert_unharmed(supervisor, victim, tmp_path)


RANDOM = """
rng = random.Random(SEED)
def descriptor():
    return rng.choice([lambda: memory(rng.choice([0, 9, 256, 1 << 20])), channel, lambda: os.pipe()[0],
        lambda: os.open("/dev/zero", os.O_RDWR), lambda: sealed(rng.randbytes(rng.randrange(99))),
        lambda: sealed({"watch": rng.choice([None, {}, {"handlers": {}}]), "findings": ["x"]}),
        lambda: socket.socket(socket.AF_INET).detach()])()
if rng.random() < 0.5:
    loaded()
for _ in range(rng.randrange(60)):
    pid = rng.choice([0, 1, 0xFFFFFFFF, VICTIM, parent, me, forked()])
    fds = [descriptor() for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    try:
        if rng.random() < 0.1:
            sock.send(rng.randbytes(rng.randrange(1, 99)))
        else:
            text = rng.choice(["", "x" * 999, "\\x1b\\n"])
            say(rng.randrange(15), pid, rng.choice([0, 1, -1, 9, 1 << 30]), text, fds,
                rng.choice([number, 0, 1]))
    except OSError:
        break
"""


@pytest.mark.parametrize("seed", moved_from(2, range(6)))
def test_random_messages(supervisor: Supervisor, victim: subprocess.Popen[bytes], tmp_path: Path, seed: int) -> None:
    """Neither do random messages with random descriptors."""
    attack_by(supervisor, victim, tmp_path, f"SEED = {seed}{RANDOM}os._exit(0)")
    assert_unharmed(supervisor, victim, tmp_path)


SERVING = {
    "worker": "loaded(); say(Control.WORKER, forked(), fds=[channel(), memory()])",
    "observer": "say(Control.OBSERVER, fds=[channel()])",
    "claims": """
        kept.extend(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        say(Control.CLAIMS, fds=[kept[0].fileno()])""",
}


@pytest.mark.parametrize("what", SERVING)
def test_a_set_that_is_tried(supervisor: Supervisor, tmp_path: Path, what: str) -> None:
    """It hands nothing over to slurmctld, and whoever asked is told that it does not load."""
    supervisor.put(still=True)
    supervisor.start()
    supervisor.receive(Control.SERVING)
    begun = f"BEGUN = {str(tmp_path / 'begun')!r}\n"
    code = f"{begun}{PREPARE}{textwrap.dedent(SERVING[what])}; time.sleep(1000)"
    supervisor.put(load=f"exec({code!r}, {{}})", still=True)
    (answer,) = commands.ask(f"{commands.PREPARE}0123456789abcdef", str(tmp_path), os.getuid(), PATIENCE)
    assert answer.get("findings") or what == "worker", answer
    refused = f"has sent an invalid message, and is killed: kind {int(Control[what.upper()])}"
    wait_for(lambda: refused in supervisor.errors(), "refusal")
