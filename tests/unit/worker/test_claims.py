# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may run a periodic handler: the supervisor's side, with a folder that stands for StateSaveLocation."""

import errno
import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slurmhooks.files import durable
from slurmhooks.log import log
from slurmhooks.processes import control
from slurmhooks.processes.control import Message
from slurmhooks.worker import claims as module
from slurmhooks.worker.claims import Claim, Claims

Logged = Callable[[], list[str]]
opened: list[Claims | socket.socket] = []


class Asking:
    """The process of a generation that runs rules."""

    def __init__(self, claims: Claims, generation: int = 1) -> None:
        self._claims = claims
        if claims not in opened:
            opened.append(claims)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        claims.connect(generation, (theirs.fileno(),))
        theirs.close()
        opened.append(self._socket)
        self._socket.settimeout(10)

    def send(self, data: bytes) -> None:
        """Send a message, and have it read."""
        self._socket.send(data)
        self._claims.ready({end.fileno() for end in self._claims.sockets})

    def claim(self, run: int, rule: str = "a:b 10", *, take_over: bool = False) -> Message:
        """Ask for a run."""
        control.send(self._socket, Message(Claim.RUN, 0, run, int(take_over), rule))
        self._claims.ready({end.fileno() for end in self._claims.sockets})
        answer = control.receive(self._socket)
        assert answer is not None
        return answer

    def kind(self, run: int, rule: str = "a:b 10", *, take_over: bool = False) -> int:
        """Ask for a run; return only whether it may begin."""
        return self.claim(run, rule, take_over=take_over).kind

    def free(self) -> None:
        """Tell that nothing runs."""
        control.send(self._socket, Message(Claim.NONE, 0))
        self._claims.ready({end.fileno() for end in self._claims.sockets})

    def end(self) -> None:
        """End, without a word."""
        self._socket.close()
        self._claims.ready({end.fileno() for end in self._claims.sockets})


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close what a test has opened."""
    yield
    while opened:
        opened.pop().close()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for StateSaveLocation."""
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}/state\n")
    monkeypatch.setenv("SLURM_CONF", f"{tmp_path}/slurm.conf")
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
def logged() -> Iterator[Logged]:
    """Return what has been logged since the last call."""
    lines: list[str] = []

    def read() -> list[str]:
        found = lines[:]
        lines.clear()
        return found

    before = log.attach(lambda level, text: lines.append(text.removeprefix("slurmhooks: ")), lines.append)
    yield read
    log.attach(*before)


def on(host: str, monkeypatch: pytest.MonkeyPatch) -> Claims:
    """Return claims as on another host."""
    monkeypatch.setattr(module, "_host", lambda: host)
    return Claims()


@contextmanager
def elsewhere(run: int) -> Iterator[int]:
    """Another supervisor, which runs a rule; yield its process id. It is killed in the end."""
    waits, ends = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(ends, bytes([Asking(Claims()).kind(run)]))
        signal.pause()
    try:
        assert os.read(waits, 1) == bytes([Claim.GRANTED])
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(waits)
        os.close(ends)


def test_a_run_happens_once(state: Path) -> None:
    """A run that has begun, or a later one, begins never again, also after a restart; the next one does."""
    first = Asking(Claims())
    answer = first.claim(5)
    assert (answer.kind, answer.value) == (Claim.GRANTED, 0)
    first.free()
    for again in (first, Asking(Claims())):
        assert [again.kind(run) for run in (5, 4)] == [Claim.DONE, Claim.DONE]
    assert first.kind(5, "a:other 10") == Claim.GRANTED
    first.free()
    answer = Asking(Claims()).claim(8)
    assert (answer.kind, answer.value, answer.about) == (Claim.GRANTED, 1, 5)
    assert (state / "slurmhooks" / "every" / "runs.json").stat().st_mode & 0o777 == 0o600


def test_one_at_a_time(state: Path) -> None:
    """While a process runs a rule, others run none, until it says so or ends, or its generation does."""
    claims = Claims()
    old, new = Asking(claims, 1), Asking(claims, 2)
    for number in range(2):
        assert old.kind(3 * number) == Claim.GRANTED
        assert new.kind(3 * number + 1) == Claim.LOCKED
        if number:
            claims.drop(1)
        else:
            old.free()
        answer = new.claim(3 * number + 1)
        assert (answer.kind, answer.about) == (Claim.GRANTED, 3 * number)
        new.free()
    replaced = Asking(claims, 1)
    assert replaced.kind(10) == Claim.GRANTED
    restarted = Asking(claims, 1)  # a program that the former process has left may still have its socket
    assert restarted.kind(11) == Claim.GRANTED
    restarted.end()
    assert new.kind(12) == Claim.GRANTED


def test_the_lock_holds_for_other_supervisors(state: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another supervisor has the lock nothing runs, commands and the log tell who it is; its end frees it."""
    monkeypatch.setattr(module, "SHORT", -1.0)
    claims = Claims()
    asking = Asking(claims)
    with elsewhere(1) as pid:
        assert [asking.kind(2), asking.kind(2, take_over=True)] == [Claim.LOCKED] * 2
        (line,) = logged()
        assert (
            f"wait for the lock {state}/slurmhooks/every/lock of {os.uname().nodename}, process {pid}, for a:b" in line
        )
        assert claims.trouble == line
    answer = asking.claim(2)
    assert (answer.kind, answer.about) == (Claim.GRANTED, 1)
    assert claims.trouble is None
    assert logged() == ["this slurmctld runs the periodic handlers"]


def test_a_forked_process_does_not_free_the_lock(state: Path) -> None:
    """A process that the supervisor forks while a rule runs closes the lock, which stays."""
    claims = Claims()
    asking = Asking(claims)
    assert asking.kind(1) == Claim.GRANTED
    pid = os.fork()
    if not pid:
        claims.close()
        os._exit(Asking(Claims()).kind(2) != Claim.LOCKED)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_lock_whose_server_has_failed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a run ends the right to it, also if NFS says only then that the name of its holder is not written."""
    asking = Asking(Claims())
    assert asking.kind(1) == Claim.GRANTED

    def close(fd: int, close: Callable[[int], None] = os.close) -> None:
        close(fd)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close)
        asking.free()
    assert asking.kind(2) == Claim.GRANTED


def test_rules_stay_where_they_run(state: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller leaves a rule to the one that has run it the last time, until it asks to take it over."""
    one, two = on("one", monkeypatch), on("two", monkeypatch)
    first, second = Asking(one), Asking(two)
    assert first.kind(1) == Claim.GRANTED
    first.free()
    assert second.kind(2) == Claim.OTHERS
    assert first.kind(2) == Claim.GRANTED
    first.free()
    assert second.kind(2) == Claim.DONE
    assert two.trouble is not None
    assert (
        logged()
        == [two.trouble]
        == ["another slurmctld is in control, too, and runs the periodic handlers: that on one"]
    )
    assert second.kind(3, take_over=True) == Claim.GRANTED
    second.free()
    assert first.kind(4) == Claim.OTHERS
    assert logged() == ["this slurmctld runs the periodic handlers"]
    assert second.kind(3) == Claim.DONE
    assert two.trouble is None


def test_not_in_control_there_is_no_trouble(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps rules from running is forgotten when they are not to run here at all."""
    one, two = on("one", monkeypatch), on("two", monkeypatch)
    first, second = Asking(one), Asking(two)
    first.kind(1)
    first.free()
    assert second.kind(1) == Claim.DONE
    assert two.trouble
    second.free()
    assert two.trouble is None


def no_locks(*_: object) -> None:
    """Stand for a file system without locks."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


FAULTS = ("no folder", "a file", "no locks", "damaged", "nested", "other content", "too large", "a FIFO", "full")


@pytest.mark.parametrize("fault", FAULTS)
def test_without_lock_and_notes_nothing_runs(
    state: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """If they cannot be used, no rule runs; commands and the log say why, the log once; it ends with the fault."""
    claims = Claims()
    asking = Asking(claims)
    asking.kind(1)
    asking.free()
    with monkeypatch.context() as patch:
        runs, named = state / "slurmhooks" / "every" / "runs.json", "runs.json"
        before = runs.read_bytes()
        if fault in ("no folder", "a file"):
            state.rename(state.parent / "away")
            named = "state/slurmhooks"
            if fault == "a file":
                state.touch()
        elif fault == "no locks":
            patch.setattr(fcntl, "lockf", no_locks)
            named = "No locks available: '" + str(runs.parent / "lock")
        elif fault == "a FIFO":
            runs.unlink()
            os.mkfifo(runs)
        elif fault == "full":

            def full(*_: object, **__: object) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(runs))

            patch.setattr(durable, "write", full)
        else:
            content = {
                "damaged": b"{",
                "nested": b"[" * 100_000,
                "other content": b'{"a": 1}',
                "too large": b'{"a": [4294967296, "one"]}',
            }
            runs.write_bytes(content[fault])
        assert [asking.kind(2), asking.kind(2, take_over=True)] == [Claim.LOCKED] * 2
        (line,) = logged()
        assert "no periodic handler runs" in line
        assert named in line
        assert ("remove it" in line) == (fault in ("damaged", "nested", "other content", "too large"))
        assert claims.trouble == line
    if fault in ("no folder", "a file"):
        state.unlink(missing_ok=True) if fault == "a file" else None
        (state.parent / "away").rename(state)
    runs.unlink()
    runs.write_bytes(before)
    assert asking.kind(2) == Claim.GRANTED
    assert claims.trouble is None


def test_a_clock_that_was_ahead(state: Path, logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that another machine's clock, ahead of this one, has noted is not repeated; the log says what to do."""
    monkeypatch.setattr(module, "_host", lambda: "ahead")
    first = Asking(Claims())
    first.kind(1000)
    first.free()
    monkeypatch.setattr(module, "_host", lambda: "here")
    asking = Asking(Claims())
    assert asking.kind(5, take_over=True) == Claim.DONE
    (line,) = logged()
    assert "995 times this period" in line
    assert f"remove {state}/slurmhooks/every/runs.json" in line
    (state / "slurmhooks" / "every" / "runs.json").unlink()
    assert asking.kind(5) == Claim.GRANTED


def test_a_clock_that_was_put_back(state: Path) -> None:
    """Runs go on after this machine's own clock was ahead; a step within a period repeats none."""
    asking = Asking(Claims())
    for run, expected in (
        (1000, Claim.GRANTED), (999, Claim.DONE), (5, Claim.LOCKED), (5, Claim.GRANTED), (5, Claim.DONE)
    ):  # fmt: skip
        assert asking.kind(run) == expected
        asking.free()


def test_a_question_that_was_held_up(state: Path) -> None:
    """A question for a run of the past may be a late one, after which another process has gone on: it repeats none."""
    claims = Claims()
    late, other = Asking(claims, 1), Asking(claims, 2)
    for asking, run, expected in (
        (other, 1000, Claim.GRANTED), (late, 997, Claim.LOCKED), (late, 1001, Claim.GRANTED),
        (late, 998, Claim.LOCKED), (other, 1001, Claim.DONE), (late, 1002, Claim.GRANTED),
    ):  # fmt: skip
        assert asking.kind(run) == expected
        asking.free()


def test_notes_are_limited(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule that has not run for the longest time is forgotten, whatever names a process makes up."""
    monkeypatch.setattr(module, "MOST", 3)
    asking = Asking(Claims())
    for run, rule in enumerate("abcad"):
        assert asking.kind(run, rule) == Claim.GRANTED
        asking.free()
    runs = json.loads((state / "slurmhooks" / "every" / "runs.json").read_bytes())
    assert list(runs) == ["c", "a", "d"]


def test_hostile_processes(state: Path) -> None:
    """What is no socket is refused; one that sends anything, or reads nothing, holds up nobody."""
    claims = Claims()
    good = Asking(claims, 1)
    stream, other = socket.socketpair()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind("\0slurmhooks-test-" + os.urandom(8).hex())
    listening.listen()
    with stream, other, listening, open("/dev/null") as file:
        for fds in ((), (stream.fileno(),), (file.fileno(),), (listening.fileno(), listening.fileno())):
            with pytest.raises(ValueError, match="socket"):
                claims.connect(2, fds)
        claims.connect(2, (listening.fileno(),))
        claims.ready({end.fileno() for end in claims.sockets})
    bad = Asking(claims, 3)
    for data in (b"x", b"\xff" * 16, os.urandom(4000), control.HEADER.pack(Claim.RUN, 0, 0xFFFFFFFF, 7) + b"\xff\0"):
        bad.send(data)
    for _ in range(3000):
        bad.send(control.HEADER.pack(Claim.RUN, 0, 0xFFFFFFFF, 7) + b"same")
    claims.ready({end.fileno() for end in claims.sockets})  # nothing has come
    bad.free()
    assert good.kind(1) == Claim.GRANTED
