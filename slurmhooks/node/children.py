# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs health checks in a child, which is killed when one exceeds its time: a hanging file system hangs no other check.

All checks run in one child, one after the other. If it has to be killed, or dies, another one runs the checks that are
left. A child that is stuck in the kernel does not die of SIGKILL; nobody waits for it.
"""

from __future__ import annotations

import posix
from select import POLLIN, poll
from time import monotonic, sleep

from slurmhooks.errors import Reject
from slurmhooks.handlers import dispatch
from slurmhooks.log import log
from slurmhooks.node.model import BUG, HUNG, LEFT, PASSED, REFUSED, Result, reason_of
from slurmhooks.node.rows import packed, unpacked
from slurmhooks.processes import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slurmhooks.handlers.registry import Handler

GRACE = 0.5
"""Seconds that a killed child has to die."""


def run(
    checks: Sequence[Handler],
    arguments: dict[str, object],
    seconds: float,
    prepare: Callable[[], None],
    show: Callable[[bytes], None],
) -> list[Result]:
    """Run checks, and return their results in the same order.

    ``seconds`` is what all of them may take together. ``prepare`` is called in each child before its checks, ``show``
    with what they write to their standard output and error, for the log.
    """
    end = monotonic() + seconds
    results: list[Result] = []
    while len(results) < len(checks) and monotonic() < end:
        child = _Child(checks[len(results) :], arguments, prepare)
        try:
            results += child.results(end, show)
        finally:
            child.close()
    return [*results, *(Result(LEFT) for _ in checks[len(results) :])]


def alive(process: str) -> bool:
    """Tell whether a process that SIGKILL did not end is still there; see :attr:`Result.process`."""
    number = process.partition(" ")[0]
    return bool(number) and identity(int(number)) == process


def identity(number: int) -> str:
    """Return process id and start time of a process, by which it can be found again; "" if there is none."""
    try:
        file = posix.open(f"/proc/{number}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fields = posix.read(file, 4096).rpartition(b")")[2].split()
    except OSError:
        return ""
    finally:
        posix.close(file)
    return "" if fields[0] in b"ZX" else f"{number} {fields[19].decode()}"


class _Child:
    """A process that runs checks."""

    def __init__(self, checks: Sequence[Handler], arguments: dict[str, object], prepare: Callable[[], None]) -> None:
        self._checks = checks
        self._pipe, answers = posix.pipe()
        self._output, output = posix.pipe()
        self._process = posix.fork()
        if not self._process:
            _serve(checks, arguments, prepare, answers, output)
        posix.close(answers)
        posix.close(output)

    def results(self, end: float, show: Callable[[bytes], None]) -> Iterator[Result]:
        """Yield the results up to the last check, or the one for which the child was killed or died."""
        rest = b""
        for check in self._checks:
            over = monotonic() + _limit(check)
            while b"\n" not in rest:
                data = self._read(min(over, end), show)
                if data is None:
                    left = self._kill()
                    late = f"{check.label} did not end within {_limit(check):g} s"
                    yield Result(LEFT, process=left) if end < over else Result(HUNG, late, left)
                    return
                if not data:
                    yield Result(BUG, f"the process of health check {check.label} ended")
                    return
                rest += data
            line, _, rest = rest.partition(b"\n")
            yield Result(*unpacked(line))
        while self._read(monotonic() + GRACE, show):
            pass

    def _read(self, until: float, show: Callable[[bytes], None]) -> bytes | None:
        """Return what the child says, b"" if it has ended, None when the time is over; show its output."""
        poller = poll()
        poller.register(self._pipe, POLLIN)
        poller.register(self._output, POLLIN)
        while True:
            left = until - monotonic()
            ready = dict(poller.poll(max(0, int(left * 1000) + 1)))
            if self._output in ready:
                text = posix.read(self._output, 65536)
                if text:
                    show(text)
                else:
                    poller.unregister(self._output)
            if self._pipe in ready:
                return posix.read(self._pipe, 65536)
            if left <= 0:
                return None

    def _kill(self) -> str:
        """Kill the child and what it has started; return its identity if it does not die."""
        before = identity(self._process)
        try:
            posix.killpg(self._process, 9)
        except ProcessLookupError:
            posix.kill(self._process, 9)
        end = monotonic() + GRACE
        while True:
            if posix.waitpid(self._process, posix.WNOHANG)[0]:
                self._process = 0
                return ""
            if monotonic() > end:
                self._process = 0
                return before
            sleep(0.005)

    def close(self) -> None:
        posix.close(self._pipe)
        posix.close(self._output)
        if self._process:
            self._kill()


def _limit(check: Handler) -> float:
    seconds = check.timeout or check.spec.timeout
    assert seconds is not None
    return seconds


def _serve(
    checks: Sequence[Handler], arguments: dict[str, object], prepare: Callable[[], None], answers: int, output: int
) -> None:
    """Run the checks in the child; does not return."""
    try:
        posix.setpgid(0, 0)
        memory.prefer_to_kill()
        empty = posix.open("/dev/null", posix.O_RDONLY)
        for number, source in ((0, empty), (1, output), (2, output)):
            posix.dup2(source, number)
        prepare()
        process = posix.getpid()
        # A process that a check has forked may stay after this one has ended, which would not be seen. A file is closed
        # once, also if such a process forks again.
        posix.register_at_fork(after_in_child=open(answers, "wb", buffering=0).close)  # noqa: SIM115
        for check in checks:
            answer = result(check, arguments)
            if posix.getpid() != process:
                log.error(
                    "health check %s has forked and its child came back, which ends here: have it call os._exit()",
                    check.label,
                )
                return  # an answer of it would count as that of the next check
            posix.write(answers, packed((answer.kind, answer.text)))
    finally:
        posix._exit(0)  # must not return into the parent's code


def result(check: Handler, arguments: dict[str, object]) -> Result:
    """Run one check in this process."""
    try:
        value = check.call(arguments)
        if value is None:
            return Result(PASSED)
        error: BaseException = dispatch.returned(value)
    except BaseException as raised:  # noqa: BLE001 - code of the site may raise anything, even SystemExit
        error = dispatch.tamed(raised)
    if isinstance(error, Reject):
        return Result(REFUSED, reason_of(dispatch.text_of(error)) or f"{check.label} refused")
    return Result(BUG, dispatch.report(check, error)[0])
