# SPDX-License-Identifier: GPL-2.0-or-later
"""Worker processes with the real client: nothing that handlers do to them affects later requests or stays behind."""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.native.building import PLAIN, SANITIZED
from tests.native.conftest import built
from tests.native.workers import Exchanger, Process, below, pages, processes, wait_for

pytestmark = pytest.mark.slow

SUPERVISOR, GENERATION, WORKER = "slurmhooks-sup", "slurmhooks-gen", "slurmhooks-work"
EXCHANGES = int(os.environ.get("SLURMHOOKS_SOAK_EXCHANGES", "250"))
"""The number of exchanges of each of eight threads while processes are killed."""
Start = Callable[..., Exchanger]


def is_childless(host: Exchanger) -> bool:
    """Tell whether a host has no descendants."""
    return not below(host.pid)


def has_ended(host: Exchanger, process: Process) -> bool:
    """Tell whether a descendant of a host has ended; it may be a zombie."""
    return process.pid not in {each.pid for each in below(host.pid) if each.state != "Z"}


@pytest.fixture(
    params=[pytest.param(PLAIN, id="plain"), pytest.param(SANITIZED, id="sanitized", marks=pytest.mark.sanitized)]
)
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Return a function that starts a host, and waits until a worker serves."""
    started = []

    def start(ready: bool = True, python: str = sys.executable, **state: Any) -> Exchanger:
        host = Exchanger(built(request.param), tmp_path, state, python)
        started.append(host)
        if ready:
            assert host.exchange("echo") == ("OK", "echo"), host.log
        return host

    yield start
    for host in started:
        host.kill()
        wait_for(partial(is_childless, host), "the end of all processes")


@pytest.fixture
def host(start: Start) -> Exchanger:
    """A host with one worker."""
    return start()


def test_exchanges(host: Exchanger) -> None:
    """Requests and answers of any size are transferred completely, and a worker's questions are answered."""
    assert host.exchange("answer = 6 * 7") == ("OK", "42")
    assert host.exchange("answer = query(b'one') + query(b'two')") == ("OK", "b'you asked oneyou asked two'")
    assert host.exchange("answer = len(query(b'x' * 5_000_000))") == ("OK", str(5_000_000 + len("you asked ")))
    assert host.exchange("echo" + "x" * 60_000) == ("OK", "echo" + "x" * 60_000)
    assert host.exchange("kept.append(query)") == ("OK", "")
    assert host.exchange("kept[0](b'late')")[0] == "WORKER_DIED"
    assert "StaleHandleError: slurmctld answers only during the call" in host.log
    host.stop()


def test_a_worker_is_discarded_while_it_is_busy(host: Exchanger) -> None:
    """A worker whose last answer was damaged ends, although another thread has already given it a request."""
    used = [host.exchange("import os; answer = query(b'discard %d ' % os.getpid()) and os.getpid()") for _ in range(2)]
    assert used[0][0] == used[1][0] == "OK", host.log
    assert used[0] != used[1]


LEFT = {
    "another answer": "c.HEADER.pack(4, c.ChannelKind.ANSWER) + b'left'",
    "a last answer": "c.HEADER.pack(4, c.ChannelKind.LAST) + b'left'",
    "a question": "c.HEADER.pack(4, c.ChannelKind.QUERY) + b'left'",
    "half a header": "b'x'",
    "the end of a damaged answer": "b'x' * 999",
}
"""What a worker sends behind its answer."""


@pytest.mark.parametrize("left", LEFT)
def test_what_a_worker_leaves_in_its_channel(start: Start, left: str) -> None:
    """A worker that has sent more than its answer is killed, and no later request is refused or gets the rest."""
    host = start()
    answer = f"c.HEADER.pack(9000, c.ChannelKind.ANSWER) + b'x' * 9000 + {LEFT[left]}"
    code = f"from slurmhooks.worker import channel as c, worker as w; w.own_channel._connection.sendall({answer})"
    for number in range(3):
        assert host.exchange(f"{code}; import time; time.sleep(99)") == ("OK", "x" * 9000)
        assert host.exchange(f"echo {number}") == ("OK", f"echo {number}")
    assert "has sent more than its answer" in host.log
    host.stop()


STUCK = {
    "sleeps": "import time; time.sleep(1000)",
    "spins": "while True: pass",
    "holds the GIL in C": "import ctypes; ctypes.PyDLL(None).sleep(1000)",
    "waits for a socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "stops itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "ignores signals": "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(1000)",
    "writes for ever": "import os\nwhile True: os.write(2, b'y' * 4096)",
}
ENDED = {
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "was killed by signal 11"),
    "os.abort": ("import os; os.abort()", "was killed by signal 6"),
    "os._exit": ("import os; os._exit(3)", "ended with exit code 3"),
    "sys.exit": ("import sys; sys.exit(4)", "ended with exit code 1"),
    "closes all descriptors": ("import os; os.closerange(0, 65536)", ""),
    "exception": ("1 / 0", "ended with exit code 1"),
}


def test_stuck_handlers_are_killed(host: Exchanger) -> None:
    """A request whose handler does not return ends at its deadline, with the handler's name; the next one is served."""
    before = host.ask("facts")
    for case, code in STUCK.items():
        # The host reads one command per line.
        result, detail = host.exchange(f"exec({code!r})", deadline_ms=300)
        assert result == "TIMED_OUT", case
        assert "missed the deadline in tests:handler; it was killed" in detail, case
        assert host.exchange("echo next") == ("OK", "echo next"), case
    assert host.ask("facts") == before, "descriptors or threads are left"
    wait_for(lambda: len(below(host.pid, WORKER)) == 1, "the end of all workers except one")
    host.stop()


def test_workers_that_end_are_replaced(host: Exchanger) -> None:
    """If a worker ends, its request has no answer, the log says how it ended, and the next request is served."""
    before = host.ask("facts")
    for case, (code, end) in ENDED.items():
        result, detail = host.exchange(code)
        assert result == "WORKER_DIED", case
        assert "ended before it answered" in detail, case
        pid = detail.split()[1]
        wait_for(lambda: f"worker {pid} {end}" in host.log, f"a line on {case}")  # noqa: B023 - called here
        assert host.exchange("echo next") == ("OK", "echo next"), case
    assert host.ask("facts") == before, "descriptors or threads are left"
    host.stop()


def test_invalid_questions(host: Exchanger) -> None:
    """A worker that sends an invalid question, or writes anything else into its channel, is killed."""
    assert host.exchange("query(b'bad')")[0] == "PROTOCOL"
    rubbish = "import os\nfor n in range(3, 64):\n  try: os.write(n, b'rubbish!' * 4)\n  except OSError: pass"
    assert host.exchange(f"exec({rubbish!r})")[0] == "PROTOCOL"
    assert host.exchange("echo next") == ("OK", "echo next")
    host.stop()


def test_memory_is_limited(start: Start) -> None:
    """At the limit a handler gets a MemoryError; a worker that comes close to it is replaced after its answer."""
    host = start(settings={"memory_limit": 128 << 20})
    assert host.exchange("kept = bytearray(1 << 30)")[0] == "WORKER_DIED"
    assert "MemoryError" in host.log
    _, first = host.exchange("import os; answer = os.getpid()")
    assert host.exchange("import os; kept = bytearray(90 << 20); answer = os.getpid()") == ("OK", first)
    assert host.exchange("import os; answer = os.getpid()") != ("OK", first)
    host.stop()


def test_forks_end_with_the_worker(host: Exchanger) -> None:
    """Processes that a worker starts are killed with it; those in a session of their own are killed at the end."""
    bomb = "import os, subprocess; [os.fork() for _ in range(5)]; subprocess.run(['sleep', '1000'])"
    result, _ = host.exchange(bomb, deadline_ms=1000)
    assert result == "TIMED_OUT"
    wait_for(lambda: len(below(host.pid)) == 3, "the end of all that was forked")
    start = "import subprocess; answer = subprocess.Popen(['sleep', '1000'], start_new_session={}).pid"
    left, stays = (int(host.exchange(start.format(own))[1]) for own in (True, False))
    assert host.exchange("import os; os._exit(0)")[0] == "WORKER_DIED"
    wait_for(lambda: stays not in {each.pid for each in below(host.pid)}, "the end of the program")
    assert left in {each.pid for each in below(host.pid)}
    stays = int(host.exchange(start.format(False))[1])
    below(host.pid, WORKER)[0].kill()
    wait_for(lambda: stays not in {each.pid for each in below(host.pid)}, "the end of a program of an idle worker")
    host.stop()
    assert left not in {each.pid for each in processes()}


@pytest.mark.parametrize("begin", ["", "import os; os.fork()"], ids=["request", "start"])
def test_forked_children_do_not_answer(start: Start, begin: str) -> None:
    """A forked child that returns from a handler ends without an answer, and the log says so."""
    host = start(start=begin)
    for _ in range(20):
        assert host.exchange("import os; os.fork(); answer = 'once'") == ("OK", "once")
    assert host.exchange("echo next") == ("OK", "echo next")
    line = "a handler has forked and its child came back"
    wait_for(lambda: host.log.count(line) == 20 + bool(begin), "a line for each child")
    host.stop()


def test_state_of_the_process_stays(host: Exchanger) -> None:
    """A worker is an ordinary process: the next request finds its state as the previous one left it."""
    assert host.exchange("import os; os.chdir('/tmp'); os.umask(0o77)") == ("OK", "")
    assert host.exchange("import os; answer = os.getcwd(), os.umask(0o77)") == ("OK", "('/tmp', 63)")
    assert host.exchange("import signal; answer = signal.pthread_sigmask(signal.SIG_BLOCK, [])") == ("OK", "set()")
    programs = "import subprocess; p = subprocess.Popen(['sleep', '1000']); p.terminate(); answer = p.wait()"
    assert host.exchange(programs) == ("OK", "-15")
    host.stop()


def test_output_is_bounded(host: Exchanger) -> None:
    """10 MB on standard output and error neither block nor fill the log; later lines are logged."""
    assert host.exchange("import os; os.write(1, b'x' * (5 << 20))") == ("OK", "")
    assert host.exchange("import sys; sys.stderr.write('a line\\n' * 700_000); print()") == ("OK", "")
    assert host.exchange("import os; os.write(2, b'\\x000an \\x1b error of the log\\n')") == ("OK", "")
    wait_for(lambda: "0 an ? error of the log" in host.log, "the last line")
    wait_for(lambda: "lines of workers were dropped" in host.log, "the line on what was dropped")
    # Lines of slurmhooks.log have limits of their own.
    assert host.exchange("import os; os.write(2, b'\\x001many\\n' * 5000)") == ("OK", "")
    wait_for(lambda: host.log.count("1 many\n") == 5000, "all lines of the log")
    assert host.exchange("import os; os.write(2, b'\\x001' + b'y' * 8000 + b'\\n' + b'z' * 8000 + b'\\n')") == (
        "OK",
        "",
    )
    wait_for(lambda: "y" * 8000 in host.log, "a long line of the log")
    assert "z" * 1022 not in host.log
    assert len(host.log) < 200_000
    host.stop()


def test_no_printed_line_looks_like_a_record(host: Exchanger) -> None:
    """A handler that prints a text of a user writes no line that Slurm or slurmhooks could have logged."""
    comment = "\n0error: slurmhooks: gone\n<0>gone\n<1>gone\n_slurm_rpc_submit_batch_job: JobId=1 gone"
    assert host.exchange(f"print({comment!r}, flush=True)") == ("OK", "")
    program = f"import subprocess; subprocess.run(['printf', '%s\\n', {comment!r}])"
    assert host.exchange(program) == ("OK", "")
    assert host.exchange(r"import os; os.write(2, b'\x00gone\n\n\x00\n')") == ("OK", "")
    wait_for(lambda: host.log.count("gone\n") == 9, "all lines")
    lines = [line for line in host.log.splitlines() if "gone" in line]
    assert all(line.startswith("1 | ") for line in lines), lines
    host.stop()


def test_what_acts_on_a_terminal_is_replaced(host: Exchanger) -> None:
    """Control characters and those that change the direction of text, printed by a handler, do not reach the log."""
    text = "grün\t€ \x7f\x1b[2J\x9b\u061c\u200b\u2028\u202e\u2066 東京"
    assert host.exchange(f"import os; os.write(1, {text.encode()!r} + b'\\n')") == ("OK", "")
    wait_for(lambda: "grün € ??[2J" + "?" * 16 + " 東京" in host.log, "the line")
    host.stop()


def test_what_is_not_utf_8_is_replaced(host: Exchanger) -> None:
    """Bytes that are not UTF-8 do not reach the log, however a handler splits them; all other characters do."""
    whole = "".join(map(chr, (0xE9, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF))).encode()
    damaged = [bytes([byte]) for byte in range(0x80, 0x100)]
    damaged += [b"\xc0\x9b", b"\xc1\xbf", b"\xe0\x82\x9b", b"\xf0\x80\x82\x9b", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
    damaged += [b"\xe2\x80", b"\xf0\x9f\x98", b"\xf8\x88\x80\x80\x80"]
    for part in damaged:
        expected = b"<" + whole + b"?" * len(part) + whole + b">\n"
        for mark in (b"", b"\x001"):
            line = mark + b"<" + whole + part + whole + b">\n"
            assert host.exchange(f"import os; os.write(2, {line!r})") == ("OK", "")
    wait_for(lambda: host.log.count(expected.decode()) == 2, "the last lines")
    count = sum(host.log.count("<" + whole.decode() + "?" * size + whole.decode() + ">\n") for size in range(1, 6))
    assert count == 2 * len(damaged)
    host.stop()


def test_a_flood_of_long_lines(host: Exchanger) -> None:
    """Long lines of slurmhooks.log fill the log no faster than short ones, and what is dropped is counted."""
    text = "import os\nfor _ in range(5000): os.write(2, b'\\x001' + b'y' * 4000 + b'\\n')"
    began = time.monotonic()
    assert host.exchange(f"exec({text!r})") == ("OK", "")
    wait_for(lambda: "lines of workers were dropped" in host.log, "the line on what was dropped")
    # 2.5 MB at once, and 250 kB each second.
    assert len(host.log) < 3_000_000 + 300_000 * (time.monotonic() - began)
    host.stop()


def test_requests_in_parallel(start: Start) -> None:
    """As many requests as there are workers run at the same time; others wait, at most until their deadline."""
    host = start(settings={"workers": 3})
    wait_for(lambda: host.workers == 3, "three workers")
    assert host.many(8, 100) == {
        "OK": 800, "TIMED_OUT": 0, "WORKER_DIED": 0, "UNAVAILABLE": 0, "PROTOCOL": 0, "WRONG": 0,
    }  # fmt: skip
    results = host.many(5, 1, "import time; time.sleep(1000) #", deadline_ms=500)
    assert (results["TIMED_OUT"] + results["UNAVAILABLE"], results["TIMED_OUT"] >= 3) == (5, True)
    host.stop()


def test_none_starts_at_the_end(start: Start, tmp_path: Path) -> None:
    """When slurmctld ends, its workers end, and no new ones start."""
    append = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
    host = start(settings={"workers": 4}, start=append)
    wait_for(lambda: host.workers == 4, "four workers")
    host.stop()
    assert (tmp_path / "starts").read_text() == "xxxx"
    assert host.log == ""


def test_the_end_while_a_worker_starts(start: Start) -> None:
    """slurmctld does not wait for a worker that starts while it ends, and all processes end without an error."""
    host = start(settings={"workers": 2})
    wait_for(lambda: host.workers == 2, "two workers")
    (supervisor,), (generation,) = below(host.pid, SUPERVISOR), below(host.pid, GENERATION)
    first, second = below(host.pid, WORKER)
    os.kill(supervisor.pid, signal.SIGSTOP)
    first.kill()
    wait_for(lambda: len(below(host.pid, WORKER)) == 3 and not pages(generation.pid), "the worker in its place")

    def go_on() -> None:
        wait_for(lambda: has_ended(host, second), "the end of the other worker, as its channel is closed")
        os.kill(supervisor.pid, signal.SIGCONT)

    host.stop(go_on)
    assert "generation" not in host.log


@pytest.mark.parametrize("name", [SUPERVISOR, GENERATION, WORKER])
def test_each_process_is_replaced(start: Start, name: str) -> None:
    """After kill -9 of any process the next request is served, and no process or descriptor is left."""
    host = start(settings={"workers": 2})
    wait_for(lambda: host.workers == 2, "two workers")
    before = host.ask("facts")
    old = {each.pid for each in below(host.pid, WORKER)}
    for victim in below(host.pid, name):
        victim.kill()
    # Until then these processes could receive the request, and end while it runs.
    wait_for(lambda: not old & {each.pid for each in below(host.pid)}, "the end of the workers")
    assert host.exchange("echo next") == ("OK", "echo next")
    wait_for(lambda: len(below(host.pid)) == 4 and host.ask("facts") == before, "that all is as before")
    host.stop()


def test_nothing_is_left_when_slurmctld_is_killed(start: Start) -> None:
    """After kill -9 of slurmctld no process is left, not even programs of handlers."""
    host = start(settings={"workers": 2})
    host.exchange("import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    family = wait_for(lambda: host.workers == 2 and {each.pid for each in below(host.pid)}, "two workers")
    assert len(family) == 5
    host.kill()
    wait_for(lambda: not family & {each.pid for each in processes()}, "the end of all processes")


def test_descriptors(host: Exchanger) -> None:
    """A worker has its channel, and the socket for reports; its programs have only standard descriptors."""
    listing = "import os; answer = [os.readlink(each.path) for each in os.scandir('/proc/self/fd')]"
    kinds = sorted(name.split(":")[0] for name in host.exchange(listing)[1].strip("[]").replace("'", "").split(", "))
    assert [kind for kind in kinds if not kind.startswith("/")] == ["pipe", "pipe", "socket", "socket"], kinds
    program = "import subprocess; answer = subprocess.check_output(['ls', '/proc/self/fd'], close_fds=False).split()"
    assert host.exchange(program) == ("OK", "[b'0', b'1', b'2', b'3']")
    host.stop()


@pytest.mark.soak
def test_killed_at_random(start: Start) -> None:
    """While processes are killed at random each exchange ends, without the answer to another one; nothing is left."""
    host = start(settings={"workers": 3})
    wait_for(lambda: host.workers == 3, "three workers")
    before = host.ask("facts")
    chance = random.Random(15)
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.25):
            family = below(host.pid)
            name = chance.choices([WORKER, GENERATION, SUPERVISOR], [8, 2, 1])[0]
            victims: list[Process] = [each for each in family if each.name == name and each.state != "Z"]
            if victims and any(each.name == WORKER for each in family):
                chance.choice(victims).kill()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        results = host.many(8, EXCHANGES, "echo slowly")
    finally:
        over.set()
        thread.join()
    assert (results["OK"] + results["WORKER_DIED"], results["WRONG"]) == (8 * EXCHANGES, 0), results
    assert host.exchange("echo again") == ("OK", "echo again")
    wait_for(lambda: len(below(host.pid)) == 5 and host.ask("facts") == before, "that all is as before")
    host.stop()
