# SPDX-License-Identifier: GPL-2.0-or-later
"""Generations of workers with the real client: when hook files load, change or do not load."""

import os
import sys
import threading
from pathlib import Path

import pytest

from slurmhooks import identity
from slurmhooks.worker import commands
from tests.native import test_workers
from tests.native.test_workers import Start
from tests.native.workers import below, wait_for

pytestmark = pytest.mark.slow

start = test_workers.start


def test_hooks_that_do_not_load(start: Start) -> None:
    """Requests are refused at once, the log has all findings, and requests are served after the files have changed."""
    host = start(ready=False, findings=["a.py:3: wrong", "b.py:7: wrong, too"])
    result, detail = host.exchange("echo")
    assert (result, "the hooks could not be loaded" in detail) == ("UNAVAILABLE", True)
    assert "a.py:3: wrong" in host.log
    assert "b.py:7: wrong, too" in host.log
    host.set(settings={"on_unavailable": "accept"})
    wait_for(lambda: host.exchange("echo") == ("OK", "echo"), "that the hooks load")
    assert host.ask("accepts") == "1"
    host.stop()


def test_what_on_unavailable_says_while_nothing_has_loaded(start: Start) -> None:
    """Files that do not load are no reason to refuse what on_unavailable = "accept" accepts, from the start on."""
    host = start(ready=False, settings={"on_unavailable": "accept"}, findings=["a.py:3: wrong"])
    assert host.exchange("echo")[0] == "UNAVAILABLE"
    assert host.ask("accepts") == "1"
    host.set(settings={"on_unavailable": "reject"}, findings=["a.py:3: wrong"], version=2)
    wait_for(lambda: host.ask("accepts") == "0", "the new configuration")
    host.stop()


def test_a_configuration_that_cannot_be_read(start: Start) -> None:
    """A slurmctld that has never read one accepts nothing."""
    host = start(ready=False, settings={"timeout": "no number", "on_unavailable": "accept"})
    assert host.exchange("echo")[0] == "UNAVAILABLE"
    assert host.ask("accepts") == "0"
    host.stop()


def test_changed_files_go_into_service(start: Start, tmp_path: Path) -> None:
    """Changed files go into service; if they do not load, the old ones stay; reload waits for its own generation."""
    host = start(version=1)
    host.set(version=2)
    wait_for(lambda: host.exchange("answer = version") == ("OK", "2"), "that the new files serve")
    for version in range(3, 8):
        host.set(version=version)
        assert "generation" in commands.ask("reload", str(tmp_path), os.getuid(), 30)[0]
        assert host.workers == 1, "a worker of the old files may get a request"
        assert host.exchange("answer = version") == ("OK", str(version))
    host.set(findings=["a.py:3: wrong"])
    assert commands.ask("reload", str(tmp_path), os.getuid(), 30) == [{"findings": ["a.py:3: wrong"]}]
    assert host.exchange("answer = version") == ("OK", "7")
    assert "the hooks that were loaded before stay in force" in host.log
    host.set(load="import os; os.kill(os.getpid(), 9)")
    assert "findings" in commands.ask("reload", str(tmp_path), os.getuid(), 30)[0]
    host.set(start="raise ValueError('not today')")
    assert "before it could serve" in commands.ask("reload", str(tmp_path), os.getuid(), 30)[0]["findings"][0]
    assert host.exchange("answer = version") == ("OK", "7")
    wait_for(lambda: len(below(host.pid)) == 3, "the end of all generations except one")
    host.stop()


def test_a_set_that_is_prepared(start: Start, tmp_path: Path) -> None:
    """A set is loaded to see whether it can be, without serving; a failure is answered, and leaves what serves."""
    host = start(version=1, still=True)
    ask = f"{commands.PREPARE}0123456789abcdef"
    host.set(version=2, still=True)
    assert commands.ask(ask, str(tmp_path), os.getuid(), 30) == [{}]
    host.set(findings=["a.py:3: wrong"], still=True)
    assert commands.ask(ask, str(tmp_path), os.getuid(), 30) == [{"findings": ["a.py:3: wrong"]}]
    host.set(load="import os; os.kill(os.getpid(), 9)", still=True)
    assert "ended unexpectedly" in commands.ask(ask, str(tmp_path), os.getuid(), 30)[0]["findings"][0]
    assert host.exchange("answer = version") == ("OK", "1")
    wait_for(lambda: len(below(host.pid)) == 3, "the end of all generations except one")
    host.stop()


def test_workers_that_cannot_start_again(start: Start, tmp_path: Path) -> None:
    """If a worker cannot be replaced, requests are refused at once after three attempts, until the next reload."""
    flag = tmp_path / "flag"
    host = start(start=f"import os; os.path.exists({str(flag)!r}) and 1 / 0")
    flag.touch()
    assert host.exchange("import os; os._exit(3)")[0] == "WORKER_DIED"
    result, detail = host.exchange("echo")
    assert (result, "before it could serve" in detail) == ("UNAVAILABLE", True), detail
    assert host.log.count("before it could serve") == 3
    flag.unlink()
    assert "generation" in commands.ask("reload", str(tmp_path), os.getuid(), 30)[0]
    assert host.exchange("echo") == ("OK", "echo")
    host.stop()


def test_what_is_no_longer_in_force(start: Start, tmp_path: Path) -> None:
    """The log says which handlers of the set in service the next one does not have."""
    host = start(version=1)
    for state in ({"version": 2}, {"version": 3, "findings": ["wrong"]}, {"version": 4}):
        host.set(**state)
        commands.ask("reload", str(tmp_path), os.getuid(), 30)
    assert "loaded changed hooks: 1 handlers" in host.log
    assert "no longer in force: job_submit handler tests:v1" in host.log
    assert "no longer in force: job_submit handler tests:v3" not in host.log
    host.stop()


def test_status(start: Start, tmp_path: Path) -> None:
    """A supervisor reports handlers and processes in service, and since when and why newer files do not load."""
    host = start(version=1, settings={"workers": 2})
    wait_for(lambda: host.workers == 2, "two workers")
    (serving,) = commands.ask("status", str(tmp_path), os.getuid(), 30)
    assert serving == {
        "point": "worker_service",
        "supervisor": below(host.pid, test_workers.SUPERVISOR)[0].pid,
        "generation": 1,
        "workers": sorted(each.pid for each in below(host.pid, test_workers.WORKER)),
        "handlers": [["job_submit", "tests:v1", str(tmp_path / "state.json"), ""]],
        "fault": None,
        "configuration": None,
        "periodic": None,
        "log": None,
        "build": identity.here(),
    }
    long = "x" * 1_000_000
    faults = []
    for version in (2, 3):
        host.set(version=version, findings=[f"a.py:{version}: wrong", long])
        commands.ask("reload", str(tmp_path), os.getuid(), 30)
        (status,) = commands.ask("status", str(tmp_path), os.getuid(), 30)
        faults.append(status["fault"])
        assert status == serving | {"fault": faults[-1]}
        assert faults[-1]["findings"] == [f"a.py:{version}: wrong", long]
    assert faults[0]["since"] == faults[1]["since"], "the time is not that of the first failure"
    host.set(version=4)
    commands.ask("reload", str(tmp_path), os.getuid(), 30)
    (after,) = commands.ask("status", str(tmp_path), os.getuid(), 30)
    assert (after["generation"] > 1, after["handlers"][0][1], after["fault"]) == (True, "tests:v4", None)
    host.stop()


def test_status_without_handlers(start: Start, tmp_path: Path) -> None:
    """If nothing has loaded yet, the status says why."""
    host = start(ready=False, findings=["a.py:3: wrong"])
    assert host.exchange("echo")[0] == "UNAVAILABLE"
    (status,) = commands.ask("status", str(tmp_path), os.getuid(), 30)
    assert (status["generation"], status["workers"], status["handlers"]) == (None, [], [])
    assert status["fault"]["findings"] == ["a.py:3: wrong"]
    host.stop()


@pytest.mark.soak
def test_reload_under_load(start: Start, tmp_path: Path) -> None:
    """No request fails while generations replace each other."""
    host = start(settings={"workers": 2})
    over = threading.Event()

    def reload() -> None:
        while not over.is_set():
            commands.ask("reload", str(tmp_path), os.getuid(), 30)

    thread = threading.Thread(target=reload)
    thread.start()
    try:
        results = host.many(8, 300, "echo slowly")
    finally:
        over.set()
        thread.join()
    assert (results["OK"], results["WRONG"]) == (2400, 0)
    host.stop()


NEVER = 1 << 30
"""Milliseconds of a deadline that no test lives to see: an answer before it has not waited for it."""


@pytest.mark.parametrize("broken", ["missing", "useless"])
def test_without_python_nobody_waits(start: Start, tmp_path: Path, broken: str) -> None:
    """If no supervisor can run, requests are refused at once with the reason, and served once one can."""
    python = tmp_path / "python"
    if broken == "useless":
        python.write_text("#!/bin/sh\nexit 3\n")
        python.chmod(0o755)
    host = start(ready=False, python=str(python))
    result, detail = host.exchange("echo", NEVER)
    assert result == "UNAVAILABLE"
    assert ("cannot start" if broken == "missing" else "ended with exit code 3") in detail
    repaired = tmp_path / "repaired"
    repaired.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    repaired.chmod(0o755)
    repaired.replace(python)
    wait_for(lambda: host.exchange("echo") == ("OK", "echo"), "that Python is back")
    host.stop()
