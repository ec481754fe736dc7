# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers, with the real client, on a machine that lacks descriptors, processes or memory, or whose clock is set."""

import errno
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.native import workers
from tests.native.building import PLAIN, preloaded
from tests.native.conftest import built
from tests.native.workers import Exchanger, below, wait_for

pytestmark = pytest.mark.slow

SUPERVISOR, GENERATION, WORKER = "slurmhooks-sup", "slurmhooks-gen", "slurmhooks-work"
OBSERVER, COLLECTOR = "slurmhooks-obs", "slurmhooks-coll"
ROOM = 64
"""Descriptors that are enough for each process."""
HURRIED = (
    "from slurmhooks.processes import backoff; from slurmhooks.worker import attempts, generation;"
    "attempts.PAUSE = generation.LOOK = backoff.MOST = 0.2; "
)
# RLIMIT_NPROC does not apply to root, so this simulates the kernel's answer.
SHORT = """
import errno, os
fork = os.fork
def short():
    if os.path.exists(os.environ["WORKER_TEST"] + ".short"):
        with open("/proc/self/comm") as file:
            if file.read().strip() == os.environ["WORKER_TEST_SHORT"]:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return fork()
os.fork = short
"""
NO_PROCESS = "Resource temporarily unavailable"
Start = Callable[..., Exchanger]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return a function that starts a host, and waits until a worker serves.

    Its argument names the processes that cannot fork while the file ``state.json.short`` exists.
    """
    started = []
    path, insert, rest = workers.START.split("; ", 2)
    monkeypatch.setattr(workers, "START", f"{path}; {insert}; {HURRIED}exec({SHORT!r}); {rest}")

    def start(short: str = "", **state: Any) -> Exchanger:
        monkeypatch.setenv("WORKER_TEST_SHORT", short)
        host = Exchanger(built(PLAIN), tmp_path, state)
        started.append(host)
        assert host.exchange("echo") == ("OK", "echo"), host.log
        return host

    yield start
    for host in started:
        host.kill()
        wait_for(lambda host=host: not below(host.pid), "the end of all processes")  # type: ignore[misc]


def only(host: Exchanger, name: str) -> int:
    """Return the process id of the one process with a name."""
    (found,) = wait_for(partial(below, host.pid, name), name)
    return int(found.pid)


def limit_descriptors(pid: int) -> None:
    """Leave a process only the descriptors that it has open; the limit also applies to poll().

    One that it is about to close would be free afterwards, so this waits until it opens and closes none.
    """
    used: set[int] = set()
    while used != (now := {int(name) for name in os.listdir(f"/proc/{pid}/fd")}):
        used = now
        time.sleep(0.05)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(ROOM)) - used), ROOM))


def give_descriptors(pid: int) -> None:
    """Undo that."""
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (ROOM, ROOM))


def version(host: Exchanger) -> str:
    """Return the version of the hooks that serve."""
    result, answer = host.exchange("answer = version")
    assert result == "OK", (answer, host.log)
    return answer


@pytest.mark.parametrize("what", ["processes", "descriptors"])
def test_a_supervisor_that_can_start_nothing(start: Start, tmp_path: Path, what: str) -> None:
    """Running workers continue to serve; the log says why changed files are not loaded.

    They are loaded once that is possible.
    """
    host = start(SUPERVISOR, version=1)
    supervisor, generation = only(host, SUPERVISOR), only(host, GENERATION)
    lack = tmp_path / "state.json.short"
    if what == "processes":
        lack.touch()
    else:
        limit_descriptors(supervisor)
    host.set(version=2)
    reason = NO_PROCESS if what == "processes" else os.strerror(errno.EMFILE)
    line = f"no process can be started that loads the hooks: {reason}"
    wait_for(lambda: host.log.count(line) > 1, "the second attempt")
    assert version(host) == "1"
    assert only(host, GENERATION) == generation
    lack.unlink(missing_ok=True)
    give_descriptors(supervisor)
    wait_for(lambda: version(host) == "2", "the changed file")
    assert only(host, SUPERVISOR) == supervisor
    assert "Traceback" not in host.log
    host.stop()


def test_a_supervisor_without_a_descriptor_for_what_was_loaded(start: Start, tmp_path: Path) -> None:
    """If the descriptor in a generation's message is lost, that generation ends; the one in service stays."""
    loaded = tmp_path / "loaded"
    wait = f"while not os.path.exists({str(loaded)!r}): time.sleep(0.01)"
    host = start(version=1)
    supervisor = only(host, SUPERVISOR)
    host.set(version=2, load=wait)
    wait_for(lambda: len(below(host.pid, GENERATION)) == 2, "the second generation")
    limit_descriptors(supervisor)
    loaded.touch()
    wait_for(lambda: "the supervisor has no descriptor for it" in host.log, "the loss")
    assert version(host) == "1"
    give_descriptors(supervisor)
    wait_for(lambda: version(host) == "2", "the changed file")
    assert only(host, SUPERVISOR) == supervisor
    host.stop()


@pytest.mark.parametrize("what", ["processes", "descriptors"])
def test_a_generation_that_can_start_no_worker(start: Start, tmp_path: Path, what: str) -> None:
    """Without a worker, requests are refused at once; the generation stays, and continues."""
    host = start(GENERATION)
    generation = only(host, GENERATION)
    lack = tmp_path / "state.json.short"
    if what == "processes":
        lack.touch()
    else:
        limit_descriptors(generation)
    os.kill(only(host, WORKER), signal.SIGKILL)
    wait_for(lambda: host.log.count("no worker can be started: ") == 3, "three attempts")
    result, detail = host.exchange("echo")
    assert (result, detail.split(":")[0]) == ("UNAVAILABLE", "no worker can be started")
    lack.unlink(missing_ok=True)
    give_descriptors(generation)
    wait_for(lambda: host.exchange("echo") == ("OK", "echo"), "the next worker")
    assert only(host, GENERATION) == generation
    assert "Traceback" not in host.log
    host.stop()


def test_slurmctld_without_descriptors(start: Start) -> None:
    """The existing worker serves requests; once a second slurmctld is offered another one, until it can accept it."""
    host = start()
    generation = only(host, GENERATION)
    # Fewer than it has open, so that the descriptors of a worker that ends cannot be reused.
    resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (4, ROOM))
    assert host.exchange("echo") == ("OK", "echo")
    os.kill(only(host, WORKER), signal.SIGKILL)
    wait_for(lambda: "slurmctld has no descriptors or no memory for another worker" in host.log, "the loss")
    result, _ = host.exchange("echo", deadline_ms=200)
    assert result == "UNAVAILABLE"
    assert len(below(host.pid, WORKER)) <= 2
    give_descriptors(host.pid)
    wait_for(lambda: host.exchange("echo") == ("OK", "echo"), "the next worker")
    assert only(host, GENERATION) == generation
    host.stop()


def test_an_observer_that_cannot_be_started(start: Start, tmp_path: Path) -> None:
    """Requests are served without an observer, the log says so, and their reports wait for it."""
    seen = tmp_path / "seen"
    host = start(GENERATION, observe=f"open({str(seen)!r}, 'a').write(data.decode())")
    (tmp_path / "state.json.short").touch()
    os.kill(only(host, OBSERVER), signal.SIGKILL)
    wait_for(lambda: f"no observer can be started: {NO_PROCESS}" in host.log, "the error")
    assert host.exchange("observed = 'this'") == ("OK", "")
    (tmp_path / "state.json.short").unlink()
    wait_for(lambda: seen.exists() and seen.read_text() == "this", "what was reported")
    host.stop()


def test_a_collector_that_cannot_be_started(start: Start, tmp_path: Path) -> None:
    """Requests are served, and their reports are written once a collector can be started."""
    log = tmp_path / "decisions" / "tests.jsonl"
    decisions = {"file": str(log), "max_size": 1 << 20, "keep": 1, "sample": 1.0}
    host = start(SUPERVISOR, settings={"collect": {"decisions": decisions}})
    collector = only(host, COLLECTOR)
    (tmp_path / "state.json.short").touch()
    os.kill(collector, signal.SIGKILL)
    line = f"the process that writes decision log and metrics cannot be started: {NO_PROCESS}"
    wait_for(lambda: line in host.log, "the error")
    report = ["0.1", 0, "job_submit", None, None, {}, None, "refused", {}, [], 1, 1, ""]
    send = f"r.reporter.report(r.DECISION, {json.dumps(report)!r}.encode())"
    assert host.exchange(f"from slurmhooks.collector import reporting as r; answer = {send}") == ("OK", "True")
    (tmp_path / "state.json.short").unlink()
    wait_for(lambda: log.exists() and '"refused"' in log.read_text(), "the line")
    host.stop()


@pytest.mark.parametrize("name", [SUPERVISOR, GENERATION, WORKER])
def test_memory_that_runs_out(start: Start, name: str) -> None:
    """A process that can get no memory may end: requests are answered, or refused with a reason, until it can."""
    host = start(workers=1)
    resource.prlimit(only(host, name), resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
    host.set(version=2)
    for _ in range(3):
        result, detail = host.exchange("answer = len(b'x' * 50_000_000)", deadline_ms=1000)
        assert result == "OK" or detail, host.log
    for process in below(host.pid):
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    host.set(version=3)  # a file that could not be loaded is loaded again after a minute, or when it changes
    wait_for(lambda: host.exchange("answer = version", deadline_ms=1000) == ("OK", "3"), "the changed file")
    host.stop()


DAY = 86400


def test_a_clock_that_is_set(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting the clock back or forward by a day does not affect requests, their deadlines or changed files."""
    clock, begun = tmp_path / "clock", tmp_path / "begun"
    monkeypatch.setenv("LD_PRELOAD", str(preloaded("clock", tmp_path)))
    monkeypatch.setenv("WORKER_TEST_CLOCK", str(clock))
    host = start(version=0)

    def during(request: str, size: int, deadline_ms: int) -> str:
        """Set the clock while a request runs, and return how the request ends."""
        clock.unlink(missing_ok=True)
        begun.unlink(missing_ok=True)
        host.begin(f"exchange {deadline_ms} import time; open({str(begun)!r}, 'w').close(); {request}")
        wait_for(begun.exists, "the request")
        clock.write_bytes(bytes(size))
        assert host._process.stdout
        return host._process.stdout.readline()

    for number, (size, days) in enumerate(((0, -1), (DAY, 1)), 1):
        assert during("time.sleep(0.3); answer = 'done'", size, 20_000) == "OK\tdone\n"
        assert during("time.sleep(1000)", size, 1000).startswith("TIMED_OUT\t")
        _, now = host.exchange("import time; answer = int(time.time())")
        assert round((int(now) - time.time()) / DAY) == days
        host.set(version=number)
        wait_for(lambda: version(host) == str(number), "the changed file")  # noqa: B023 - called here
    host.stop()
