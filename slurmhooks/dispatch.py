# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the handlers of one event. Holds the one broad ``except`` of slurmhooks."""

from __future__ import annotations

from slurmhooks.errors import HandlerError, Reject
from slurmhooks.log import log
from slurmhooks.outcome import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from slurmhooks.registry import Handler

    class View(Protocol):
        """What handlers read and write: staged until all have passed."""

        def savepoint(self) -> object:
            """Return what :meth:`rollback` needs to undo later writes."""

        def rollback(self, savepoint: object, /) -> None:
            """Undo the writes since a savepoint."""

        def commit(self) -> None:
            """Apply what was written."""

        def close(self) -> None:
            """Make every later use raise StaleHandleError."""


PASSED = Outcome(passed=True)


def run(
    handlers: Iterable[Handler],
    arguments: dict[str, object],
    view: View | None = None,
    take: Callable[[object], Exception | None] | None = None,
) -> Outcome:
    """Run handlers one after the other, until one refuses, and apply what they wrote if none did.

    Args:
        handlers: in the order in which they run.
        arguments: by the names of the hook.
        view: what they may write to, or None.
        take: takes what each handler returns, and returns what is wrong with it; by default a handler returns nothing.

    Returns:
        the outcome, whatever a handler raises.

    Raises:
        SlurmhooksError: Slurm does not take what the handlers wrote; see the view's ``commit``.
    """
    try:
        for handler in handlers:
            savepoint = view.savepoint() if handler.lenient and view is not None else None
            try:
                result = handler.call(arguments)
            except BaseException as error:  # noqa: BLE001 - whatever it is, SystemExit too, it must not end a daemon
                outcome = judge(handler, error, view, savepoint)
            else:
                wrong = None if result is None and take is None else (take or returned)(result)
                outcome = None if wrong is None else judge(handler, wrong, view, savepoint)
            if outcome is not None:
                return outcome
        if view is not None:
            view.commit()
    finally:
        if view is not None:
            view.close()
    return PASSED


def judge(handler: Handler, error: BaseException, view: View | None = None, savepoint: object = None) -> Outcome | None:
    """Say what a handler's exception comes to.

    Args:
        handler: that raised.
        error: what it raised.
        view: what it may have written to, or None.
        savepoint: what the view was before it, for one whose bugs let the request pass.

    Returns:
        the outcome of the event, or None: it goes on with the next handler.
    """
    if isinstance(error, Reject):
        code = code_of(error, f"{handler.spec.name} handler {handler.label} ({handler.where})", handler)
        return Outcome(passed=False, code=code, text=log.message(error.text))
    text, error_id = report(handler, error)
    if not handler.lenient:
        return Outcome(passed=False, text=text, error_id=error_id)
    if view is not None:
        view.rollback(savepoint)
    log.user(text)
    return None


def code_of(error: Reject, what: str, handler: Handler | None = None) -> str | int | None:
    """Return the code of a refusal; None, the hook's general failure, for one that no release of Slurm has.

    That is a bug, but not one that ``on_error="accept"`` may let pass: a handler that means to refuse refuses.

    Args:
        error: the refusal.
        what: describes what raised it, for the log.
        handler: that raised it; its bug is logged only once. None: log it each time.
    """
    if error.code is None:
        return None
    try:
        from slurmhooks.codes import fault
    except ImportError:  # a task that has left this root file system: the entry point looks the number up
        return error.code
    wrong = fault(error.code)
    if wrong is None:
        return error.code
    if handler is None or not handler.told:
        import os

        call = f"Reject(code={_shown(error.code)})"
        log.record(
            f"{what} raised {call}: {wrong}; the request is refused without it", f"error {os.urandom(4).hex()}: "
        )
    if handler is not None:
        handler.told = True
    return None


def returned(result: object) -> HandlerError:
    """Return the error for what a handler returned that is not None."""
    return HandlerError(f"a handler returns nothing; this one returned {_shown(result)}. To refuse, raise Reject(text)")


def _shown(value: object) -> str:
    """Return how a value looks; a class of the site's own is not asked."""
    return repr(value) if type(value).__module__ == "builtins" else object.__repr__(value)


def guarded(
    what: str, function: Callable[[], tuple[int, bytes | None, int]], failed: int
) -> tuple[int, bytes | None, int]:
    """Run the body of an entry point so that it never raises.

    Args:
        what: describes it, for the log.
        function: the body.
        failed: the return code for Slurm if it raises.

    Returns:
        what the body returned, or the failure with one line for the user.
    """
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - a bug of slurmhooks itself: fail closed, and say so
        return bug(what, error, failed)


def bug(what: str, error: BaseException, failed: int) -> tuple[int, bytes, int]:
    """Return the answer of an entry point whose body raised: the failure, with one line for the user."""
    return failed, report_bug(what, error)[0].encode(), 0


def report(handler: Handler, error: BaseException) -> tuple[str, str]:
    """Log the traceback of a handler's bug; see :func:`report_bug`."""
    return report_bug(f"{handler.spec.name} handler {handler.label} ({handler.where})", error, handler.path)


def report_bug(what: str, error: BaseException, path: str | None = None) -> tuple[str, str]:
    """Log the traceback of a bug under a new id.

    Args:
        what: describes what raised.
        error: the exception.
        path: leave out the frames above this file.

    Returns:
        the one line for the user, and the id.
    """
    import os

    error_id = os.urandom(4).hex()
    lines = [f"{what} raised {type(error).__name__}", *format_traceback(error, path)]
    log.record("\n".join(lines), f"error {error_id}: ")
    return for_user(f"{what.split(' (')[0]} failed", error_id), error_id


def report_findings(findings: Iterable[str], consequence: str = "no hook runs until this is fixed") -> str:
    """Log what is wrong with the hook files or the configuration, under a new id.

    Args:
        findings: each may have several lines.
        consequence: what it means for now.

    Returns:
        the one line for the user.
    """
    import os

    error_id = os.urandom(4).hex()
    log.record("\n".join(findings), f"error {error_id}: ")
    log.record(f"error {error_id}: {consequence}; 'slurmhooks check' shows all that is wrong")
    return for_user("the hooks could not be loaded", error_id)


def for_user(what: str, error_id: str) -> str:
    """Return the one line that a user sees of a fault that is not theirs."""
    return log.message(f"slurmhooks: {what} (error {error_id}); please tell your administrators")


def format_traceback(error: BaseException, path: str | None = None) -> list[str]:
    """Return the lines of a traceback, beginning at the first frame in ``path`` if there is one."""
    import traceback

    trace = error.__traceback__
    start = trace
    while start is not None and start.tb_frame.f_code.co_filename != path:
        start = start.tb_next
    if start is None and not (isinstance(error, SyntaxError) and error.filename == path):
        start = trace
    chunks = traceback.format_exception(type(error), error, start)
    return "".join(chunks).rstrip("\n").split("\n")
