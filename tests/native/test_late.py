# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions of handlers that run after the answer: a thread of slurmctld answers them, and nobody waits for it."""

from pathlib import Path
from typing import Any

import pytest

from tests.native.test_workers import Start, start  # noqa: F401 - a fixture
from tests.native.workers import Exchanger, below, wait_for

pytestmark = pytest.mark.slow

ASKS = """
def note(text):
    with open(FOLDER + "/notes", "a") as file:
        file.write(text + "\\n")
running.begin(0, "tests:observes", 20)
try:
    note("asks")
    note(query(b"w" * 16 + data).decode())
except Exception as error:
    note(type(error).__name__)
running.end()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the observer's notes."""
    return tmp_path


@pytest.fixture
def host(start: Start, folder: Path) -> Exchanger:  # noqa: F811 - the fixture
    """Return a host with a worker and an observer, which asks the questions in a request."""
    return start(observe=f"FOLDER = {str(folder)!r}{ASKS}")


def noted(folder: Path, *last: str) -> list[str]:
    """Wait until the observer's last notes are these; return all."""

    def true() -> Any:
        lines = (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else []
        return lines if lines[-len(last) :] == list(last) else None

    result: list[str] = wait_for(true, f"notes {last}")
    return result


def threads(host: Exchanger) -> int:
    """Return the number of threads of a host."""
    return int(host.ask("facts").split()[1]) - 2  # without "." and ".."


def test_questions_after_the_answer(host: Exchanger, folder: Path) -> None:
    """Questions are answered in order; an invalid one ends only the channel; the thread ends with the observer."""
    host.exchange("observed = 'one'")
    noted(folder, "asks", "you asked one")
    host.exchange("observed = 'x' * 5000")
    noted(folder, "asks", "you asked " + "x" * 5000)
    before = threads(host)
    host.exchange("observed = 'bad'")
    noted(folder, "asks", "StaleHandleError")
    wait_for(lambda: threads(host) == before - 1, "the end of the thread")
    assert host.exchange("echo") == ("OK", "echo")
    for each in below(host.pid, "slurmhooks-obs"):
        each.kill()
    wait_for(lambda: threads(host) == before, "the thread of the next observer")
    host.exchange("observed = 'two'")
    noted(folder, "asks", "you asked two")
    host.stop()


def test_nobody_waits_for_a_thread_that_waits(host: Exchanger, folder: Path) -> None:
    """While slurmctld holds its locks, requests are served, and slurmctld can end; the question is not answered."""
    assert host.ask("lock") == "locked"
    host.exchange("observed = 'one'")
    noted(folder, "asks")
    assert host.exchange("echo") == ("OK", "echo")
    assert host.ask("stop") == "stopped"
    wait_for(lambda: not below(host.pid), "the end of all processes")
    assert threads(host) == 2  # the main thread, and the thread that waits for the lock
    assert host.ask("unlock") == "unlocked"
    wait_for(lambda: threads(host) == 1, "the end of the thread")
    assert noted(folder, "asks") == ["asks"]


def observers(host: Exchanger) -> list[int]:
    """Return the process ids of the observers of a host."""
    return [each.pid for each in below(host.pid, "slurmhooks-obs") if each.state != "Z"]


def test_each_generation_has_its_own(host: Exchanger, folder: Path) -> None:
    """The old observer handles all requests that it was sent before it ends; later requests go to the new one."""
    host.exchange("observed = 'one'")
    noted(folder, "asks", "you asked one")
    (old,) = observers(host)
    host.set(version=2, observe=f"FOLDER = {str(folder)!r}{ASKS}")
    wait_for(lambda: old not in observers(host) and observers(host), "the observer of the new generation")
    assert host.exchange("answer = version; observed = 'two'") == ("OK", "2")
    noted(folder, "asks", "you asked two")
    assert "observer" not in host.log
    host.stop()


def test_an_observer_that_hangs_ends_with_its_host(
    start: Start,  # noqa: F811 - the fixture
    folder: Path,
) -> None:
    """Neither a reload nor the end of slurmctld waits for a running observation."""
    hangs = (
        f"import time; open({str(folder / 'hangs')!r}, 'a').close(); running.begin(0, 'hangs', 1000); time.sleep(1000)"
    )
    host = start(observe=hangs)
    host.exchange("observed = 'one'")
    wait_for((folder / "hangs").exists, "a handler that hangs")
    host.set(version=2)
    line = "was killed, as other hooks are in force; no request is affected"
    wait_for(lambda: line in host.log, "the end of the observer")
    assert not observers(host)
    assert host.exchange("answer = version") == ("OK", "2")
    host.set(version=3, observe=hangs)
    wait_for(lambda: host.exchange("answer = version") == ("OK", "3"), "the new generation")
    (folder / "hangs").unlink()
    host.exchange("observed = 'one'")
    wait_for((folder / "hangs").exists, "a handler that hangs")
    host.stop()
