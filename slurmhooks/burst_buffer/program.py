# SPDX-License-Identifier: GPL-2.0-or-later
"""What the burst_buffer.lua of a set runs: the handlers of one call, as SlurmUser, while Slurm waits.

``python -m slurmhooks.burst_buffer.program FUNCTION WORD...``. Standard output is the answer to burst_buffer.lua; the
exit code is 0 if all handlers have passed, and 1 if not. If the call takes too long, or slurmctld ends, Slurm kills the
process and its group.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from slurmhooks.burst_buffer.model import BurstBuffer
from slurmhooks.burst_buffer.script import FUNCTIONS
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import trusted
from slurmhooks.files.bounded import bound
from slurmhooks.files.watch import Watch
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import Around, Outcome
from slurmhooks.handover.records import record_of
from slurmhooks.hooks.points import POINTS
from slurmhooks.log import log, one_line
from slurmhooks.processes import daemon, deliverer, memory, process
from slurmhooks.site import reload
from slurmhooks.site import sources as site
from slurmhooks.slurmctld.around import end_leftovers
from slurmhooks.worker import worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.handlers.dispatch import View
    from slurmhooks.handlers.registry import Handler, Registry

PASSED = b"passed\n"
"""Begins the answer if all handlers have passed: a handler may end the process with any exit code."""
BUSY = "BUSY"
"""The answer of test_data_in and test_data_out with which Slurm calls them again (SLURM_BB_BUSY)."""
LONGEST = 1000
"""Bytes of the reason of a job."""
MOST_STATUS = 1 << 16
"""Bytes of an answer to ``scontrol show bbstat``."""


class Answers(Around):
    """Collects what handlers return; ``text`` is the answer to Slurm."""

    __slots__ = ("_kind", "_most", "_process", "text")

    def __init__(self, kind: str) -> None:
        self._process = os.getpid()
        self._kind = kind.removesuffix(" | None")
        self._most = -1
        self.text = ""

    def result(self, value: object) -> Exception | None:
        """Take what a handler returned: if several handlers do, Slurm gets the largest size, and all texts."""
        if value is None or type(value).__name__ != self._kind:
            return super().result(value)
        if value is True:
            self.text = BUSY
        elif type(value) is int and value > self._most:
            self._most, self.text = value, f"{value}"
        elif type(value) is str:
            self.text += value if value.endswith("\n") else f"{value}\n"
        return None

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """See Around; a child that the handler has forked, and that came back, ends: it would answer, too."""
        end_leftovers(handler, self._process)
        return super().end(handler, error, view, before)


def run(registry: Registry, hook: str, buffer: BurstBuffer, record: object) -> tuple[Outcome, str]:
    """Run the handlers of a hook; return the outcome, and the answer to Slurm: the reason if they have not passed.

    ``record`` is that of the job; None: slurmctld does not know the job any more.
    """
    handlers = registry.handlers(hook)
    answers = Answers(next(spec.result for spec in POINTS["burst_buffer"].hooks if spec.name == hook))
    outcome = dispatch.run(handlers, {"buffer": buffer, "record": record}, around=answers)
    return outcome, answers.text if outcome.passed else outcome.text or "refused"


def answer(function: str, words: Sequence[str]) -> tuple[int, bytes | None, int]:
    """Load the handlers of the set in force, and run those of a call; return the exit code and the answer."""
    spec = FUNCTIONS[function]
    trusted.guard()
    hooks = tuple(each.name for each in POINTS["burst_buffer"].hooks)
    try:
        _, registry = reload.load(site.config_path(), Watch(), lambda _: [], hooks=hooks)
    except (ConfigError, LoadError) as error:
        return 1, dispatch.report_findings(error.findings).encode(), 0
    buffer = BurstBuffer.of(function, words)
    needs_record = any("record" in handler.names for handler in registry.handlers(spec.name))
    outcome, text = run(registry, spec.name, buffer, record_of(buffer.job_id) if needs_record else None)
    if outcome.passed:
        return 0, PASSED + log.message(text).encode()[:MOST_STATUS], 0
    log.error("%s of job %d: %s", spec.name, buffer.job_id, text)
    return 1, text.encode(), 0


def main(arguments: list[str]) -> None:
    """Answer a call, and end the process, whatever threads handlers have started."""
    function, *words = arguments or ("",)
    if function not in FUNCTIONS:
        sys.stderr.write(f"usage: python -m slurmhooks.burst_buffer.program {'|'.join(FUNCTIONS)} WORD...\n")
        sys.exit(2)
    daemon.follow()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # 22.05 would wait for whoever has its pipe
    process.reset_signals()
    memory.prefer_to_kill()
    # Slurm waits for whoever has it. A file is closed once, also if such a process forks again.
    to_slurm = open(os.dup(1), "wb", buffering=0)  # noqa: SIM115
    os.register_at_fork(after_in_child=to_slurm.close)
    worker.ends_timers = True
    try:
        _open_log()
    except OSError as error:
        code, text = 1, f"slurmhooks: the log cannot be written: {error}".encode()
    else:
        code, given, _ = dispatch.guarded(f"hook.{FUNCTIONS[function].name}", lambda: answer(function, words), 1)
        text = given or b""
    if code:
        text = one_line(text.decode("utf-8", "surrogateescape"), LONGEST).encode()
    while text:
        text = text[to_slurm.write(text) :]
    os._exit(code)


def _open_log() -> None:
    """Write what handlers log and print to the log, which all calls share.

    Raises:
        OSError: it cannot be opened.
    """
    folder = deliverer.folder("burst_buffer")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    bound(folder / deliverer.LOG, deliverer.MAX_LOG)
    file = os.open(folder / deliverer.LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    sys.stdout = sys.stderr  # which writes each line at once
    deliverer.attach_log()


if __name__ == "__main__":
    main(sys.argv[1:])
