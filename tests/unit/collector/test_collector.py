# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector, a process for which no other process waits."""

import errno
import json
import os
import random
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.collector import collector, decision_log
from slurmhooks.collector.collector import Collector
from slurmhooks.config.model import Config
from slurmhooks.config.sections import Decisions, Metrics
from slurmhooks.processes.control import Message
from slurmhooks.wire.protocol import Control, Result
from tests.native.workers import wait_for
from tests.unit.collector.conftest import DECISION, Lines, orders, report


def test_a_decision_becomes_a_line(running: Collector, lines: Lines, file: Path) -> None:
    """The log has each decision, with the user's name and the time with its zone; only its owner can read it."""
    report(running)
    (line,) = wait_for(lines, "a line in the log")
    assert line["hook"] == "job_submit"
    assert line["user"] == "root"
    assert time.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.500%z")
    assert {name: line[name] for name in ("id", "verdict", "handlers")} == {
        "id": DECISION.id,
        "verdict": DECISION.verdict,
        "handlers": [{"handler": "limits:account", "outcome": "passed", "microseconds": 30}],
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_report_cannot_pass_for_another_event(running: Collector, lines: Lines) -> None:
    """Time and event of a line come first, and from the collector, whatever the report has under these keys."""
    report(running, more={"event": "unserved", "time": 0})
    (line,) = wait_for(lines, "a line in the log")
    assert list(line)[:2] == ["time", "event"]
    assert line["event"] == "decision"


def test_a_line_does_not_continue_an_unfinished_one(running: Collector, file: Path) -> None:
    """What a full disk has left of a line makes no other line unreadable."""
    file.parent.mkdir(mode=0o700)
    file.write_text('{"hook": "job_sub')
    report(running)
    wait_for(lambda: file.read_text().endswith("}\n"), "the next line")
    unfinished, line = file.read_text().splitlines()
    assert unfinished == '{"hook": "job_sub'
    assert json.loads(line)["id"] == DECISION.id


def test_a_log_that_cannot_be_written(running: Collector, file: Path) -> None:
    """The supervisor, and so `status`, knows why lines are lost, until they can be written again."""
    file.parent.mkdir()
    file.parent.chmod(0o770)
    report(running)
    wait_for(lambda: running.trouble is not None, "the trouble")
    assert running.trouble is not None
    assert f"{file}: the decision log cannot be written: " in running.trouble
    assert running.trouble is not None, "it is still true"
    file.parent.chmod(0o700)
    report(running)
    wait_for(lambda: running.trouble is None, "its end")


def test_metrics_do_not_need_the_decision_log(running: Collector, file: Path, errors: Path, tmp_path: Path) -> None:
    """If the decision log cannot be written, the log says so once, and the metrics go on."""
    file.parent.mkdir()
    file.parent.chmod(0o777)
    report(running)
    wait_for(lambda: "the decision log cannot be written" in errors.read_text(), "the error")
    textfile = tmp_path / "metrics" / "job_submit.prom"
    textfile.parent.mkdir(mode=0o755)
    metrics = {"textfile": str(textfile), "interval": 0.1, "readers": "everyone"}
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
    metrics = {"textfile": textfile, "interval": 1.0, "readers": "everyone"}
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
    running.tend(lambda: None)
    wait_for(lambda: len(lines()) == 2, "the line that was reported meanwhile")
    assert [line["id"] for line in lines()] == ["first", "second"]


def test_losses_are_told(running: Collector, lines: Lines) -> None:
    """A collector that has been too slow says in the log how many decisions are missing there."""
    os.kill(running.pid, signal.SIGSTOP)
    sent = 0
    while report(running, more={"filler": "x" * 60000}):
        sent += 1
    report(running)
    os.kill(running.pid, signal.SIGCONT)
    wait_for(lambda: len(lines()) == sent, "all that found room")
    report(running)
    wait_for(lambda: len(lines()) == sent + 2, "the loss")
    assert [line["count"] for line in lines() if "count" in line] == [2]


@pytest.mark.parametrize("running", [{"max_size": 1000}], indirect=True)
def test_files_are_rotated(running: Collector, file: Path) -> None:
    """The log takes no more room than the configuration allows; the newest lines stay."""
    for number in range(40):
        report(running, id=f"{number:012}")
    running.finish()
    assert f"{39:012}" in file.read_text()
    assert sorted(each.name for each in file.parent.iterdir()) == [f"{file.name}{end}" for end in ("", ".1", ".2")]
    assert all(each.stat().st_size <= 1000 for each in file.parent.iterdir())
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in file.parent.iterdir())


def away(path: Path) -> None:
    """Move a file or folder away, as logrotate does."""
    path.rename(path.with_name(f"{path.name}-20270501"))


@pytest.mark.parametrize(
    "take",
    [away, Path.unlink, lambda file: file.write_bytes(b""), lambda file: away(file.parent)],
    ids=["renamed", "removed", "emptied", "with its folder"],
)
def test_a_log_that_others_rotate(take: Callable[[Path], object], running: Collector, file: Path, lines: Lines) -> None:
    """The next line is in the file of the configuration, whatever has become of the one before."""
    report(running, id=f"{1:012}")
    wait_for(lines, "the first line")
    take(file)
    report(running, id=f"{2:012}")
    wait_for(lambda: file.exists() and lines(), "the second line")
    assert [line["id"] for line in lines()] == [f"{2:012}"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("running", [{"sample": 0.0}], indirect=True)
def test_samples(running: Collector, lines: Lines) -> None:
    """With sample = 0, only requests that passed without a message and without an exemption are left out."""
    report(running)
    report(running, handlers=[("rule:a", "passed", 30, None, {"exempt": "until 2027-01-31"})])
    report(running, verdict="refused")
    report(running, more={"text": "limited to 60 minutes"})
    report(running, verdict="accepted on error")
    wait_for(lambda: len(lines()) == 4, "what is always logged")
    assert [line["verdict"] for line in lines()] == ["accepted", "refused", "accepted", "accepted on error"]


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
    running.tend(lambda: None)
    assert not running.pid


def test_it_ends_with_the_supervisor(file: Path, lines: Lines) -> None:
    """A supervisor that is killed leaves no collector behind."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        found = Collector()
        found.order(orders(file))
        found.tend(lambda: None)
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
    measured = collector.wanted(Config(decisions=off, metrics=Metrics(textfiles="/var/t")), "prep")
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


def test_lines_are_json_that_begins_with_time_and_event(tmp_path: Path) -> None:
    """structlog makes a line of bytes that depend on the content alone: compact JSON in ASCII, time and event first."""
    log = decision_log.DecisionLog(orders(tmp_path / "log" / "job_submit.jsonl"))
    content = {"id": "57dad26a", "text": "\x9b \udc80", "numbers": [1, 2.5], "event": "unserved", "time": 1800000000.25}
    log.event(content)
    log.close()
    (line,) = (tmp_path / "log" / "job_submit.jsonl").read_bytes().splitlines(keepends=True)
    local = datetime.fromtimestamp(1800000000.25).astimezone().isoformat(timespec="milliseconds")
    expected = {"time": local, "event": "unserved"} | content | {"time": local}
    assert line == json.dumps(expected, separators=(",", ":")).encode() + b"\n"


def test_a_user_is_known_again_after_an_outage_of_the_name_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user is asked for again a minute after the name service knew nobody, and not more often; a name is kept."""
    asked: list[int] = []
    clock, is_up = [1000.0], [False]

    def getpwuid(uid: int) -> SimpleNamespace:
        asked.append(uid)
        if not is_up[0] or uid > 9:
            raise KeyError(uid)
        return SimpleNamespace(pw_name=f"user{uid}")

    monkeypatch.setattr("pwd.getpwuid", getpwuid)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    names = decision_log.UserNames()
    assert [names.get(7) for _ in range(3)] == [None] * 3
    is_up[0] = True
    clock[0] += decision_log.REPEAT - 1
    assert names.get(7) is None
    assert asked == [7]
    clock[0] += 2
    assert names.get(7) == "user7"
    is_up[0] = False
    clock[0] += 1e6
    assert names.get(7) == "user7"
    assert asked == [7, 7]
    for uid in range(10, 10 + 2 * decision_log.USERS):
        names.get(uid)
    assert len(names._names) <= decision_log.USERS


@pytest.mark.parametrize("seed", range(20))
def test_what_a_full_disk_has_cost_is_counted(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After lines could not be written, or only in part, the next line says how many are missing."""
    path = tmp_path / "log" / "job_submit.jsonl"
    wanted = orders(path)
    wanted["decisions"]["max_size"], wanted["decisions"]["keep"] = 3000, 100
    chance, write = random.Random(seed), os.write

    def write_or_not(fd: int, data: bytes) -> int:
        if fd == 2:  # the log of this process, if an earlier test has attached one
            return write(fd, data)
        what = chance.random()
        if what < 0.3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data[: chance.randrange(1, len(data) - 1)] if what < 0.6 and len(data) > 2 else data)

    log = decision_log.DecisionLog(wanted)
    monkeypatch.setattr("os.write", write_or_not)
    for _ in range(50):
        for _ in range(chance.randrange(4)):
            log.decision(DECISION)
            wanted["total"] = wanted.get("total", 0) + 1
        log.turn()
        if chance.random() < 0.1:
            log.order(wanted)
    monkeypatch.setattr("os.write", write)
    log.decision(DECISION)
    log.close()
    lines = []
    for text in (line for each in path.parent.iterdir() for line in each.read_text().splitlines()):
        with suppress(ValueError):
            lines.append(json.loads(text))
    kept = sum(line["event"] == "decision" for line in lines)
    assert 0 < kept < wanted["total"]
    assert kept + sum(line["count"] for line in lines if line["event"] == "dropped") == wanted["total"] + 1


def test_a_server_that_takes_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS may say only when a file is closed that its lines are lost: then the log does, and goes on anew."""
    path = tmp_path / "log" / "job_submit.jsonl"
    log = decision_log.DecisionLog(orders(path))
    log.decision(DECISION)
    log.turn()
    path.unlink()

    def close(fd: int, close: Callable[[int], None] = os.close) -> None:
        close(fd)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close)
        log.decision(DECISION)
        log.turn()
        log.order(orders(path))
    assert os.strerror(errno.EDQUOT) in str(log.trouble)
    log.decision(DECISION)
    log.close()
    assert len(path.read_bytes().splitlines()) == 2
    assert log.trouble is None
