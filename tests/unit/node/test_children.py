# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks run in a child, and nothing that they do keeps the others from running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import Reject
from slurmhooks.handlers.registry import Handler
from slurmhooks.node import children
from slurmhooks.node.model import BUG, HUNG, LEFT, PASSED, REFUSED, Result
from slurmhooks.processes import memory
from tests.forks import become_a_daemon, keeps_files_in_forks
from tests.unit.node.making import check

FOREVER = 600.0


def run(
    checks: list[Handler], seconds: float = 60.0, show: Callable[[bytes], None] = lambda text: None
) -> list[Result]:
    """Run checks without a limit that matters."""
    return children.run(checks, {}, seconds, lambda: None, show)


def refuse() -> None:
    """Refuse."""
    raise Reject("disk is full")


def hang() -> None:
    """Hang, and ignore polite requests to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(FOREVER)


def test_results_keep_their_order() -> None:
    """Each check has its own result, also after one that hangs, dies, or is wrong."""
    checks = [
        check(lambda: None),
        check(refuse),
        check(hang, "h:hang", timeout=0.2),
        check(lambda: 1 / 0),
        check(lambda: os._exit(0)),
        check(lambda: os.kill(os.getpid(), signal.SIGKILL)),
        check(lambda: sys.exit(3)),
        check(lambda: 17),
        check(lambda: None),
    ]
    results = run(checks)
    assert [result.kind for result in results] == [PASSED, REFUSED, HUNG, BUG, BUG, BUG, BUG, BUG, PASSED]
    assert results[1].text == "disk is full"
    assert results[2].text == "h:hang did not end within 0.2 s"


def test_the_kernel_kills_checks_before_slurmd() -> None:
    """If the machine runs out of memory, the process of checks goes first, also if slurmd is protected."""

    def tell() -> None:
        raise Reject(Path("/proc/self/oom_score_adj").read_text())

    (result,) = run([check(tell)])
    assert int(result.text) >= int(memory.SCORE)


def test_a_forked_child_that_comes_back_answers_nothing() -> None:
    """If a check forks and its child returns, each check has its own result nevertheless, not one of the child."""

    def refuse_after_the_child() -> None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            refuse()

    checks = [check(refuse_after_the_child), check(refuse), check(lambda: None), check(refuse)]
    assert [result.kind for result in run(checks)] == [REFUSED, REFUSED, PASSED, REFUSED]


def test_a_check_that_becomes_a_daemon_does_not_hang() -> None:
    """A process that a check has forked keeps nothing open, so the end of the check's own process is seen at once."""
    began = time.monotonic()
    results = run([check(become_a_daemon, timeout=8.0), check(lambda: None)])
    assert [result.kind for result in results] == [BUG, PASSED]
    assert time.monotonic() - began < 8


def test_files_of_processes_that_checks_fork() -> None:
    """A process that a forked one forks keeps its files, whatever their numbers are."""

    def ask() -> None:
        if not keeps_files_in_forks():
            refuse()

    assert [result.kind for result in run([check(ask), check(lambda: None)])] == [PASSED, PASSED]


@pytest.mark.parametrize("text", ["", "two\nlines", "tab\tand \\n", "ü\udcff", "x" * 5000])
def test_a_reason_is_one_short_line(text: str) -> None:
    """Slurm shows reasons in one line."""

    def refuse_with() -> None:
        raise Reject(text)

    (result,) = run([check(refuse_with)])
    assert result.kind == REFUSED
    assert result.text
    assert result.text.isprintable()
    assert len(result.text) <= 1000


def test_a_killed_check_leaves_no_processes(tmp_path: Path) -> None:
    """What a hanging check has started ends with it."""

    def start() -> None:
        (tmp_path / "new").write_text(str(subprocess.Popen(["sleep", str(FOREVER)]).pid))
        (tmp_path / "new").rename(tmp_path / "id")
        hang()

    timeout = 0.5
    while not (tmp_path / "id").exists():  # a busy machine may not have started it in time
        timeout *= 2
        run([check(start, timeout=timeout)])
    identity = children.identity(int((tmp_path / "id").read_text()))
    end = time.monotonic() + 30
    while children.alive(identity):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_cannot_be_killed_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that is stuck in the kernel holds up neither the other checks nor the end of the run; it is named."""
    kill = os.killpg
    monkeypatch.setattr(children, "GRACE", 0.05)
    monkeypatch.setattr("posix.killpg", lambda group, number: None)
    hung, passed = run([check(hang, timeout=0.1), check(lambda: None)])
    assert (hung.kind, passed.kind) == (HUNG, PASSED)
    assert children.alive(hung.process)
    process = int(hung.process.split()[0])
    kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert not children.alive(hung.process)  # also before its parent has reaped it
    os.waitpid(process, 0)
    assert not children.alive(hung.process)


def test_the_whole_run_has_an_end() -> None:
    """Checks that are left when the time is over did neither pass nor refuse."""
    results = run([check(lambda: None), check(hang), check(lambda: None)], seconds=0.5)
    assert results[0].kind in (PASSED, LEFT)  # the machine may be busy
    assert [result.kind for result in results[1:]] == [LEFT, LEFT]


def test_output_goes_to_the_log() -> None:
    """What a check and its programs print is shown."""
    shown: list[bytes] = []

    def talk() -> None:
        subprocess.run(["echo", "from a program"], check=True)
        os.write(2, b"from the check\n")

    run([check(talk, timeout=FOREVER)], seconds=FOREVER, show=shown.append)
    assert b"".join(shown) == b"from a program\nfrom the check\n"


def test_a_background_process_does_not_hold_up_the_run() -> None:
    """A program that a check leaves behind, with its output still open, is ended with the run."""

    def leave() -> None:
        subprocess.Popen(["sleep", str(FOREVER)])

    start = time.monotonic()
    (result,) = run([check(leave)])
    assert result.kind == PASSED
    assert time.monotonic() - start < FOREVER


def test_processes_are_told_apart() -> None:
    """A number that the kernel has given to another process is not the process that hung."""
    assert children.alive(children.identity(os.getpid()))
    assert not children.alive(f"{os.getpid()} 1")
    assert not children.alive("")
    assert children.identity(2**22 + 1) == ""
