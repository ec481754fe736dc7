# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector, a process for which no other process waits."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.collector import collector, reporting
from slurmhooks.collector.collector import Collector
from slurmhooks.config.model import Config
from slurmhooks.config.sections import Decisions, Metrics
from slurmhooks.processes import checked, descriptors
from slurmhooks.processes.control import Message
from slurmhooks.wire.protocol import Control, Result
from tests.native.workers import wait_for

Lines = Callable[[], list[dict[str, Any]]]
DECISION: dict[str, Any] = {
    "id": "0123456789ab",
    "time": 1.5,
    "hook": "job_submit",
    "user_id": 0,
    "verdict": "accepted",
    "handlers": [{"handler": "limits:account", "outcome": "passed", "microseconds": 30}],
    "microseconds": 40,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the decision log, whose folder does not exist yet."""
    return tmp_path / "log" / "job_submit.jsonl"


@pytest.fixture
def lines(file: Path) -> Lines:
    """Return the lines of the decision log."""

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []

    return read


@pytest.fixture
def errors(tmp_path: Path) -> Path:
    """The file that a collector has as its standard error."""
    return tmp_path / "errors"


@pytest.fixture
def running(file: Path, errors: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A running collector that writes a decision log."""
    monkeypatch.setattr(collector, "RETRY", 0.0)
    monkeypatch.setattr(collector, "RETRY_MOST", 0.0)
    found = Collector()
    found.order(orders(file))
    kept = os.dup(2)
    with errors.open("w") as stderr:
        os.dup2(stderr.fileno(), 2)
    found.look(lambda: None)
    os.dup2(kept, 2)
    os.close(kept)
    yield found
    found.finish()


def orders(file: Path, **settings: Any) -> dict[str, Any]:
    """Return orders to write a decision log."""
    decisions = {"file": str(file), "max_size": 1 << 30, "keep": 2, "sample": 1.0, **settings}
    return {"point": "job_submit", "include": [], "generation": 1, "hooks": "abc", "decisions": decisions}


def report(running: Collector, **changed: Any) -> bool:
    """Report a decision."""
    return running.reporter.report(reporting.DECISION, json.dumps(DECISION | changed).encode())


def test_a_decision_becomes_a_line(running: Collector, lines: Lines, file: Path) -> None:
    """The log has each decision, with the user's name and the time with its zone; only its owner can read it."""
    report(running)
    (line,) = wait_for(lines, "a line in the log")
    assert line["hook"] == "job_submit"
    assert line["user"] == "root"
    assert time.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.500%z")
    assert {name: line[name] for name in ("id", "verdict", "handlers")} == {
        name: DECISION[name] for name in ("id", "verdict", "handlers")
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_line_does_not_continue_an_unfinished_one(running: Collector, file: Path) -> None:
    """What a full disk has left of a line makes no other line unreadable."""
    file.parent.mkdir(mode=0o700)
    file.write_text('{"hook": "job_sub')
    report(running)
    wait_for(lambda: file.read_text().endswith("}\n"), "the next line")
    unfinished, line = file.read_text().splitlines()
    assert unfinished == '{"hook": "job_sub'
    assert json.loads(line)["id"] == DECISION["id"]


@pytest.fixture
def without_structlog(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without structlog."""
    monkeypatch.setitem(sys.modules, "structlog", None)


@pytest.mark.usefixtures("without_structlog")
def test_without_structlog(running: Collector, errors: Path) -> None:
    """If a package is missing, the log says so once."""
    for _ in range(2):
        report(running)
    wait_for(lambda: "[decisions] does not work" in errors.read_text(), "the error")
    assert errors.read_text().count("does not work") == 1


def test_metrics_do_not_need_the_decision_log(running: Collector, file: Path, errors: Path, tmp_path: Path) -> None:
    """If the decision log cannot be written, the log says so once, and the metrics go on."""
    file.parent.mkdir()
    file.parent.chmod(0o777)
    report(running)
    wait_for(lambda: "the decision log cannot be written" in errors.read_text(), "the error")
    textfile = tmp_path / "metrics" / "job_submit.prom"
    textfile.parent.mkdir(mode=0o755)
    metrics = {"socket": None, "textfile": str(textfile), "interval": 0.1, "readers": "everyone"}
    running.order(orders(file) | {"metrics": metrics})
    before = running.pid
    wait_for(textfile.exists, "the orders in force")  # they may arrive after a report, which has another socket
    report(running)
    wait_for(lambda: 'verdict="accepted"' in textfile.read_text(), "the decision in the metrics")
    assert running.pid == before
    assert not file.exists()


@pytest.fixture
def without_prometheus_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without prometheus_client."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "slurmhooks.collector.metrics", raising=False)


@pytest.mark.usefixtures("without_prometheus_client")
def test_a_collector_stays_if_nothing_that_is_wanted_works(
    running: Collector, file: Path, errors: Path, lines: Lines
) -> None:
    """A collector that can do nothing now may get other orders; if it ended, the supervisor would start another."""
    before = running.pid
    textfile = str(file.parent / "job_submit.prom")
    metrics = {"socket": None, "textfile": textfile, "interval": 1.0, "readers": "everyone"}
    wanted = orders(file)
    running.order({**{name: wanted[name] for name in wanted if name != "decisions"}, "metrics": metrics})
    wait_for(lambda: "[metrics] does not work" in errors.read_text(), "the error")
    running.order(wanted)
    wait_for(lambda: report(running) and lines(), "a line in the log")  # a report may arrive before the orders
    assert running.pid == before
    assert os.waitpid(before, os.WNOHANG) == (0, 0)


def test_a_killed_collector_is_replaced(running: Collector, lines: Lines) -> None:
    """The next collector writes what was reported while none was running."""
    report(running, id="first")
    wait_for(lines, "a line in the log")
    before = running.pid
    os.kill(before, signal.SIGKILL)
    assert running.ended(*os.waitpid(before, 0))
    assert not running.ended(before, 0)
    report(running, id="second")
    running.look(lambda: None)
    wait_for(lambda: len(lines()) == 2, "the line that was reported meanwhile")
    assert [line["id"] for line in lines()] == ["first", "second"]


def test_losses_are_told(running: Collector, lines: Lines) -> None:
    """A collector that has been too slow says in the log how many decisions are missing there."""
    os.kill(running.pid, signal.SIGSTOP)
    sent = 0
    while report(running, filler="x" * 60000):
        sent += 1
    report(running)
    os.kill(running.pid, signal.SIGCONT)
    wait_for(lambda: len(lines()) == sent, "all that found room")
    report(running)
    wait_for(lambda: len(lines()) == sent + 2, "the loss")
    assert [line["count"] for line in lines() if "count" in line] == [2]


def test_files_are_rotated(running: Collector, file: Path) -> None:
    """The log takes no more room than the configuration allows; the newest lines stay."""
    running.order(orders(file, max_size=1000))
    for number in range(40):
        report(running, id=f"{number:012}")
    running.finish()
    assert f"{39:012}" in file.read_text()
    assert sorted(each.name for each in file.parent.iterdir()) == [f"{file.name}{end}" for end in ("", ".1", ".2")]
    assert all(each.stat().st_size <= 1000 for each in file.parent.iterdir())
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in file.parent.iterdir())


def test_samples(running: Collector, file: Path, lines: Lines) -> None:
    """With sample = 0, only requests that passed without a message are left out."""
    running.order(orders(file, sample=0.0))
    report(running)
    report(running, verdict="refused")
    report(running, text="limited to 60 minutes")
    report(running, verdict="accepted on error")
    wait_for(lambda: len(lines()) == 3, "what is always logged")
    assert [line["verdict"] for line in lines()] == ["refused", "accepted", "accepted on error"]


def test_priorities_are_not_logged(running: Collector, lines: Lines) -> None:
    """Calls that only compute priorities leave no line."""
    report(running, hook="priority")
    report(running)
    assert [line["hook"] for line in wait_for(lines, "the other line")] == ["job_submit"]


def test_a_folder_of_others_is_not_used(running: Collector, file: Path, errors: Path) -> None:
    """Nothing is written into a folder where others could put a link; the log says so, and reports go on."""
    file.parent.mkdir()
    file.parent.chmod(0o777)
    report(running)
    wait_for(lambda: "only SlurmUser and root may be able to write to it" in errors.read_text(), "an error")
    assert not file.exists()
    file.parent.chmod(0o700)
    report(running)
    wait_for(file.exists, "the next line")


def test_without_orders_it_ends(running: Collector) -> None:
    """Once neither log nor metrics are configured, there is no collector."""
    running.order({})
    pid, status = os.waitpid(running.pid, 0)
    assert status == 0
    assert running.ended(pid, status)
    running.look(lambda: None)
    assert not running.pid


def test_it_ends_with_the_supervisor(file: Path, lines: Lines) -> None:
    """A supervisor that is killed leaves no collector behind."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        found = Collector()
        found.order(orders(file))
        found.look(lambda: None)
        theirs.send(str(found.pid).encode())
        signal.pause()
    with ours, theirs:
        collecting = int(ours.recv(20))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_for(lambda: not Path(f"/proc/{collecting}/cmdline").exists() or "Z" in state(collecting), "its end")


def state(pid: int) -> str:
    """Return the state of a process, a letter; Z: nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_the_last_reports_are_written(running: Collector, lines: Lines) -> None:
    """When slurmctld ends, the collector first writes all pending reports."""
    for number in range(200):
        report(running, id=str(number))
    running.finish()
    assert len(lines()) == 200


def test_what_the_configuration_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the log is beside slurmctld's, and there are no metrics; without both there is no collector."""
    monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/slurm.conf")
    (tmp_path / "slurm.conf").write_text("SlurmctldLogFile=/var/log/site/ctld.log\n")
    default = collector.wanted(Config(), "prep")
    assert default["decisions"]["file"] == "/var/log/site/slurmhooks/prep.jsonl"
    assert "metrics" not in default
    off = Decisions(enabled=False)
    assert collector.wanted(Config(decisions=off), "prep") == {}
    measured = collector.wanted(Config(decisions=off, metrics=Metrics(sockets="/run/s", textfiles="/var/t")), "prep")
    assert measured["metrics"]["socket"] == "/run/s/prep.sock"
    assert measured["metrics"]["textfile"] == "/var/t/slurmhooks_prep.prom"
    assert "decisions" not in measured


def test_requests_without_an_answer(running: Collector, lines: Lines) -> None:
    """Decisions that slurmctld made itself are in the log, with its reason."""
    reason = "worker 17 missed the deadline in limits:gpu; it was killed"
    text = f"57dad26a\njob_submit\nuser 2001\nlimits:gpu\n{reason}"
    running.unserved(Message(Control.UNSERVED, 0, Result.TIMED_OUT, 2, text))
    running.unserved(Message(Control.UNSERVED, 0, Result.UNAVAILABLE, 3, "00000000\nx\nJobId=7\n\nbusy"))
    wait_for(lambda: len(lines()) == 2, "two lines")
    late, busy = lines()
    assert (late["event"], late["verdict"], late["cause"], late["by"]) == ("unserved", "failed", "timeout", 2001)
    assert (late["error"], late["text"], late["handlers"][0]["handler"]) == ("57dad26a", reason, "limits:gpu")
    assert (busy["verdict"], busy["job_id"], busy["cause"]) == ("unavailable, accepted", 7, "unavailable")
    assert "error" not in busy
    assert "handlers" not in busy


def test_only_the_collector_imports_what_takes_time() -> None:
    """Neither the supervisor nor workers import the libraries of decision log and metrics, or pydantic's schemas."""
    code = (
        "import slurmhooks.worker.supervisor, slurmhooks.job_submit.service, slurmhooks.prep.service, sys;"
        "slow = {'prometheus_client', 'structlog', 'logging.handlers', 'http.server', 'pydantic_core.core_schema'};"
        "print(sorted(slow & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_plugin_that_decides_nothing_needs_no_structlog(tmp_path: Path) -> None:
    """The decision log imports structlog for its first line."""
    code = (
        "import json, sys; from slurmhooks.collector.decision_log import DecisionLog;"
        "log = DecisionLog(json.loads(sys.argv[1])); before = 'structlog' in sys.modules;"
        "log.decision(json.loads(sys.argv[2])); log.close(); print(before, 'structlog' in sys.modules)"
    )
    arguments = [json.dumps(each) for each in (orders(tmp_path / "log" / "job_submit.jsonl"), DECISION)]
    assert subprocess.check_output([sys.executable, "-c", code, *arguments], text=True) == "False True\n"
    assert (tmp_path / "log" / "job_submit.jsonl").exists()


def sparse() -> int:
    """Return the descriptor of memory that is larger than the machine, and sealed."""
    fd = os.memfd_create("sparse", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 1 << 40)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, descriptors.SEALS)
    return fd


DAMAGED: dict[str, Callable[[], tuple[bytes, list[int]]]] = {
    "empty": lambda: (b"{}", []),
    "no JSON": lambda: (b"\xff", []),
    "a list": lambda: (b"[]", []),
    "deeply nested": lambda: (b"", [descriptors.sealed(b"[" * (1 << 20))]),
    "many small values": lambda: (b"", [descriptors.sealed(b"[" + b"[]," * (20 << 20) + b"0]")]),
    "no end": lambda: (b"", [os.open("/dev/zero", os.O_RDONLY)]),
    "a pipe": lambda: (b"", [os.pipe()[0]]),
    "not sealed": lambda: (b"", [os.memfd_create("open")]),
    "huge": lambda: (b"", [sparse()]),
    "two descriptors": lambda: (b"", [descriptors.sealed(b"{}"), descriptors.sealed(b"{}")]),
    "no number": lambda: (json.dumps(DECISION | {"time": "now"}).encode(), []),
    "not finite": lambda: (json.dumps(DECISION | {"time": float("nan")}).encode(), []),
    "an infinite time": lambda: (json.dumps(DECISION).replace("1.5", "1e999").encode(), []),
    "a year that does not exist": lambda: (json.dumps(DECISION | {"time": 1e15}).encode(), []),
    "handlers that are no list": lambda: (json.dumps(DECISION | {"handlers": 7}).encode(), []),
    "a handler without a name": lambda: (json.dumps(DECISION | {"handlers": [{}]}).encode(), []),
    "a name that is a list": lambda: (json.dumps(DECISION | {"hook": [1]}).encode(), []),
    "a user id of the wrong type": lambda: (json.dumps(DECISION | {"user_id": {}}).encode(), []),
}


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_report_ends_nothing(running: Collector, lines: Lines, damaged: str) -> None:
    """Whatever a worker reports, and with whatever descriptors, the next decision is logged by the same process."""
    pid = running.pid
    data, fds = DAMAGED[damaged]()
    for kind in (reporting.DECISION, reporting.RECORDED, 77):
        socket.send_fds(running.reporter.socket, [reporting.HEADER.pack(kind, 0) + data], fds)
    running.reporter.socket.send(b"x")
    report(running, id="after")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the next decision")
    assert running.pid == pid


def test_a_socket_that_was_shut_down_is_replaced(running: Collector, lines: Lines) -> None:
    """A sender that shuts down the socket, which all share, ends reports only until generations get the next one."""
    first = running.pid
    running.reporter.socket.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: os.waitid(os.P_PID, first, os.WEXITED | os.WNOHANG | os.WNOWAIT), "the end of the collector")
    assert running.ended(*os.waitpid(first, 0))
    assert running.is_renewed
    running.look(lambda: None)
    report(running, id="after")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the next decision")


def test_damaged_reports_are_told(running: Collector, errors: Path) -> None:
    """slurmctld's log says that reports were invalid, in one line that a hostile worker cannot shape."""
    running.reporter.report(reporting.DECISION, json.dumps(DECISION | {"hook": "\x1b[2J" * 9999}).encode())
    said = wait_for(lambda: errors.read_text(), "a line")
    assert "reports of workers were invalid, and are ignored" in said
    assert said.count("\n") == 1
    assert said.rstrip("\n").isprintable()


def test_names_are_limited(running: Collector, lines: Lines) -> None:
    """Reports of ever more handlers do not fill the memory of the collector; decisions with known names still count."""
    report(running)
    for number in range(checked.MOST_NAMES // 100 + 1):
        handlers = [{"handler": f"{number}:{each}", "outcome": "passed", "microseconds": 1} for each in range(100)]
        wait_for(lambda many=handlers: report(running, handlers=many), "room for a report")  # type: ignore[misc]
    wait_for(lambda: report(running, id="after"), "room for a report")
    assert wait_for(lambda: [line for line in lines() if line["id"] == "after"], "the last decision")
    assert len({each["handler"] for line in lines() for each in line["handlers"]}) <= checked.MOST_NAMES
