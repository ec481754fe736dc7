# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits what handlers do to the processes of a launch: srun, slurmstepd, prolog, epilog, scrun, slurmd.

When the time is over, :class:`~slurmhooks.DeadlineExceeded` is raised in the handler, wherever it is: in Python code,
in a system call, waiting for a program. It is raised again five seconds later, in case the handler caught it. If the
handler cannot be interrupted, for example in a loop in C, its process is ended after five more seconds; only slurmd
continues.

native/embed/guard.c undoes changes to the process that handlers must not leave behind.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # signal imports enum, which takes long
import sys

from slurmhooks.errors import DeadlineExceeded
from slurmhooks.handlers import dispatch, loader
from slurmhooks.hooks.points import ENDS
from slurmhooks.log import log, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.handlers.dispatch import Outcome, View
    from slurmhooks.handlers.registry import Handler

try:
    import _slurmhooks_deadline as native
except ImportError:  # the testing kit, where the test runner can be interrupted
    native = None  # type: ignore[assignment]

AGAIN = 5.0
"""Seconds between two attempts to end a handler: the time that it has to clean up."""
NOTHING, PROCESS, STEP, TASK = range(len(ENDS))
"""What is ended to stop a handler that cannot be interrupted. With STEP, scancel first cancels the step of slurmstepd
or the job of scrun, because Slurm does not notice the end of these processes. In a TASK no changes to the process are
undone, because it becomes the user's program."""
SWITCH = sys.getswitchinterval()
"""Seconds that a thread may hold the GIL while others wait for it."""
LOADING, LOAD = "loading the hook files", 60.0
"""What takes time, and the seconds that it may take."""
OPTION = 60.0
"""Seconds that the type and the checks of an option may take."""

_running: str | None = None  # describes the handler that may be interrupted, and its limit


def of_step(name: str) -> None:
    """Set the step of this slurmstepd, or the job of this scrun, that scancel cancels if the process is ended."""
    if native is not None:
        native.step(name)


class limit:  # noqa: N801 - used as a function
    """Limits the time of a ``with`` block. Blocks must not be nested."""

    __slots__ = ("_ends", "_seconds", "_what")

    def __init__(self, what: str, seconds: float, ends: int = PROCESS) -> None:
        """Set the limit in seconds; ``ends`` is what ends if nothing else helps: NOTHING, PROCESS, STEP or TASK."""
        self._what = what
        self._seconds = seconds
        self._ends = ends

    def __enter__(self) -> None:
        """Start the clock."""
        global _running
        if native is None:
            return
        try:
            _signal.signal(native.NUMBER, _interrupt)
            interrupts = True
        except ValueError:  # not the thread that runs Python's signal handlers
            interrupts = False
        _running = f"{self._what} took more than {self._seconds:g} s"
        native.begin(self._seconds, AGAIN, self._what, interrupts, self._ends)

    def __exit__(self, *exception: object) -> None:
        """Stop the clock."""
        global _running
        _running = None
        if native is None:
            return
        put_back = native.end()
        if put_back is not None:
            log.record(f"{self._what} has changed the process, and this was put back: {put_back}")
        if sys.getswitchinterval() != SWITCH:  # a thread of the handler could otherwise hold the GIL for long
            sys.setswitchinterval(SWITCH)


def loading(ends: int = PROCESS) -> limit:
    """Return the time limit of loading hook files."""
    return limit(LOADING, LOAD, ends)


def _begun(name: str) -> None:
    """Let the log name the file that was begun last, if the process ends while hook files are loaded."""
    native.describe(f"{LOADING} (last {visible(name)})")


if native is not None:
    loader.begun = _begun


def _interrupt(number: int, frame: object) -> None:
    """Raise the exception in the handler; Python calls this between two instructions of its byte code."""
    if _running is not None:
        raise DeadlineExceeded(_running)


def of(handler: Handler, ends: int = PROCESS) -> limit:
    """Return the time limit of a handler: its own, or the default of its hook."""
    seconds = handler.timeout or handler.spec.timeout
    assert seconds is not None
    return limit(f"{handler.spec.name} handler {handler.label}", seconds, ends)


def of_option(name: str, where: str) -> limit:
    """Return the time limit of the type and the checks of an option; they run outside every handler."""
    return limit(f"the check of --{name}", OPTION, STEP if where == "remote" else PROCESS)


class Limits(dispatch.Around):
    """Limits the time of each handler, and of the report about it."""

    __slots__ = ("_ends", "_limit")

    def __init__(self, ends: int) -> None:
        """Say what ends if nothing else helps: NOTHING, PROCESS, STEP or TASK."""
        self._ends = ends
        self._limit: limit | None = None

    def begin(self, handler: Handler) -> bool:
        """Start the clock."""
        self._limit = of(handler, self._ends)
        self._limit.__enter__()
        return True

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """Stop the clock after the report."""
        outcome = super().end(handler, error, view, before)
        self.close()
        return outcome

    def close(self) -> None:
        """Stop the clock."""
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.__exit__()


def run(
    handlers: Iterable[Handler], arguments: dict[str, object], view: View | None = None, ends: int = PROCESS
) -> Outcome:
    """Run handlers as :func:`slurmhooks.handlers.dispatch.run` does, each with its time limit.

    ``ends`` says what ends if nothing else helps: NOTHING, PROCESS, STEP or TASK.
    """
    return dispatch.run(handlers, arguments, view, Limits(ends))
