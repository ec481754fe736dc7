# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the handlers of one event, and turns their exceptions into outcomes.

A handler may have changed the root folder or the mounts of its process, and descriptors or memory may be used up. What
reports its bug therefore imports nothing, opens nothing, and has memory in reserve.
"""

from __future__ import annotations

import posix

from slurmhooks.errors import HandlerError, NotationError, Reject
from slurmhooks.handlers import codes, trace
from slurmhooks.log import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol

    from slurmhooks.handlers.registry import Handler

    class View(Protocol):
        """What handlers read and write. Writes are staged until all handlers have passed."""

        def savepoint(self) -> object:
            """Return an object for :meth:`rollback`."""

        def rollback(self, savepoint: object, /) -> None:
            """Discard the writes since a savepoint."""

        def commit(self) -> None:
            """Apply the staged writes."""

        def close(self) -> None:
            """Let every later use raise StaleHandleError."""


UNTIL = "until "
"""How the reason of an exemption begins that ends on a day; others are for good."""


class Exempted:
    """What a rule returns that did nothing because of an exemption, see UNTIL, although it is for such requests."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


NOT_CONCERNED = object()
"""What a rule returns that is not for such requests: nothing is noted about it."""


class Outcome:
    """The result of one event.

    Attributes:
        passed: every handler passed, and their writes were applied.
        code: for a refusal, the code of ``Reject``: a name, a number, or None for the hook's general failure code.
        text: for a refusal or a failure, the message to the user.
        error_id: for a failure, the id of the traceback in the log; also for a bug that lets the request pass.
        refused_by: for a refusal, the handler.
    """

    __slots__ = ("code", "error_id", "passed", "refused_by", "text")

    def __init__(
        self,
        *,
        passed: bool,
        code: str | int | None = None,
        text: str | None = None,
        error_id: str | None = None,
        refused_by: Handler | None = None,
    ) -> None:
        self.passed, self.code, self.text = passed, code, text
        self.error_id, self.refused_by = error_id, refused_by


PASSED = Outcome(passed=True)


PLAIN = (int, bool, float, complex, str, bytes)
"""Types of values that have no code of the site."""

SPARE = (65536, *[480] * 128)
"""Sizes in bytes of the blocks in reserve: a large one, as C takes them, and some small ones, as Python takes them."""
_spare: list[bytes] = []


def reserve_memory() -> None:
    """Keep memory for the next report; without effect if no memory is left."""
    if _spare:
        return
    try:
        _spare.extend([bytes(size) for size in SPARE])
    except MemoryError:
        return


reserve_memory()


class Around:
    """What happens around each handler of an event; here, nothing.

    Attributes:
        saves: whether ``end`` needs a savepoint of the view from before each handler.
    """

    __slots__ = ()
    saves = False

    def begin(self, handler: Handler) -> bool:
        """Prepare for a handler; return whether it runs."""
        return True

    def chosen(self, handlers: Iterable[Handler]) -> Iterable[Handler]:
        """Return those of some handlers that run, each prepared when it is its turn."""
        return filter(self.begin, handlers)

    def result(self, value: object) -> Exception | None:
        """Take what the handler returned, if it is not None; return an error, or None."""
        if type(value) is Exempted:
            self.exempted(value.why)
            return None
        if value is NOT_CONCERNED:
            self.not_concerned()
            return None
        return returned(value)

    def exempted(self, why: str) -> None:
        """Note why a rule did nothing, see Exempted."""

    def not_concerned(self) -> None:
        """Note that the handler is not for this request, see NOT_CONCERNED."""

    def end(self, handler: Handler, error: BaseException | None, view: View | None, before: object) -> Outcome | None:
        """Return the effect of a handler that has ended, see :func:`judge`; None if it has none.

        ``error`` is what it raised, or the error in its result; None: it passed. ``before`` is a savepoint of ``view``
        from before it ran, if ``saves`` or if its bugs let the request pass.
        """
        return None if error is None else judge(handler, error, view, before)

    def refused(
        self,
        outcome: Outcome,
        others: Iterable[Handler],
        arguments: dict[str, object],
        view: View | None,
        before: object,
    ) -> Outcome:
        """Return the outcome of an event that a handler has refused or failed.

        ``others`` are the handlers that come after it; ``before`` is a savepoint of ``view`` from before that handler.
        """
        return outcome

    def close(self) -> None:
        """Clean up: no other handler of the event runs."""


NOTHING = Around()


def run(
    handlers: Iterable[Handler], arguments: dict[str, object], view: View | None = None, around: Around = NOTHING
) -> Outcome:
    """Run handlers one after the other until one refuses or fails; if none does, apply their writes.

    Raises:
        SlurmhooksError: Slurm refused a write; see the view's ``commit``.
    """
    if not _spare:
        reserve_memory()
    others = iter(handlers)
    try:
        for handler in around.chosen(others):
            before = view.savepoint() if view is not None and (handler.lenient or around.saves) else None
            error = called(handler, arguments, around)
            outcome = around.end(handler, error, view, before)
            error = None  # the traceback refers to this frame: break the cycle, so that it is freed now
            if outcome is not None and not outcome.passed:
                return around.refused(outcome, others, arguments, view, before)
        if view is not None:
            view.commit()
    finally:
        around.close()
        if view is not None:
            view.close()
    return PASSED


def called(handler: Handler, arguments: dict[str, object], around: Around) -> BaseException | None:
    """Call a handler; return what it raised, or the error in its result, see :func:`tamed`."""
    try:
        result = handler.call(arguments)
        return None if result is None else around.result(result)
    except BaseException as error:  # noqa: BLE001 - nothing may end a daemon, not even SystemExit
        return tamed(error, handler.spec.has_texts)


def tamed(error: BaseException, has_texts: bool = True) -> BaseException:
    """Return what code of the site has raised in a form whose type, text and code anybody can read.

    The class of an exception may have properties, and its text and code objects may have methods: reading them may
    raise anything, where it no longer counts as a bug of the handler. For ``has_texts`` see NotationError.
    """
    refuses = issubclass(type(error), Reject)  # not isinstance(), which reads __class__
    if not refuses and trace.tried(lambda: error.__class__ is type(error), lambda _: False):
        return error
    text = trace.tried(lambda: _plain_text(error), lambda second: f"<no text: {second}>") if refuses else ""
    if issubclass(type(error), NotationError) and not has_texts:
        plain: BaseException = HandlerError(f"{text}; no user wrote this text: catch NotationError")
    elif refuses:
        plain = Reject(text)
        plain.code = trace.tried(lambda: _plain_code(error), lambda second: f"<no code: {second}>")
    else:
        plain = HandlerError(f"{trace.type_name(error)}, an exception that hides its class")
    return plain.with_traceback(trace.own(error, "__traceback__"))


def _plain_text(error: Any) -> str:
    """Return the text of a refusal; a subclass without ``super().__init__`` may have set any object."""
    if (text := error.text) is None:
        return ""
    # str() may return an instance of a subclass.
    shown: str = trace.tried(lambda: "".join((str(text),)), lambda _: f"<{trace.type_name(text)}>")
    return shown


def _plain_code(error: Any) -> Any:
    """Return the code of a refusal, of one of the types in PLAIN; an invalid one if it has another type."""
    code = error.code
    if code is None or type(code) in PLAIN:
        return code
    if issubclass(type(code), str):
        return "".join((code,))
    return int.__index__(code) if issubclass(type(code), int) else f"<{trace.type_name(code)}>"


def judge(handler: Handler, error: BaseException, view: View | None = None, savepoint: object = None) -> Outcome:
    """Return the effect of an exception that a handler raised: a pass if the next handler is to run.

    ``view`` is the argument that it can write to, ``savepoint`` that of the view from before the handler, for one whose
    bugs let the request pass.
    """
    _spare.clear()
    if isinstance(error, Reject):
        code = code_of(error, f"{handler.spec.name} handler {handler.label} ({handler.where})", handler)
        return Outcome(passed=False, code=code, text=text_of(error), refused_by=handler)
    text, error_id = report(handler, error)
    if not handler.lenient:
        return Outcome(passed=False, text=text, error_id=error_id)
    if view is not None:
        view.rollback(savepoint)
    log.user(text)
    return Outcome(passed=True, text=text, error_id=error_id)


def text_of(error: Reject) -> str:
    """Return the text of a refusal for the user; it is tamed."""
    return log.message(error.text)


def code_of(error: Reject, what: str, handler: Handler | None = None) -> str | int | None:
    """Return the code of a tamed refusal; None if it is invalid: Slurm then gets the hook's general failure code.

    An invalid code is a bug, but ``on_error="accept"`` does not apply to it: the handler wanted to refuse.

    The bug of a handler is logged only once; without ``handler``, each time.
    """
    if error.code is None:
        return None
    reason = codes.fault(error.code)
    if reason is None:
        return error.code
    if handler is None or not handler.logged_code:
        call = f"Reject(code={plainly(error.code)})"
        log.record(f"{what} raised {call}: {reason}; the request is refused without it", f"error {_new_id()}: ")
    if handler is not None:
        handler.logged_code = True
    return None


def returned(result: object) -> HandlerError:
    """Return the error for a handler that returned something other than None."""
    return HandlerError(
        f"a handler returns nothing; this one returned {plainly(result)}. To refuse, raise Reject(text)"
    )


def plainly(value: object) -> str:
    """Return the repr() of a built-in value; of another one, or if code of the site raises in it, that of object."""
    return str(
        trace.tried(
            lambda: repr(value) if type(value).__module__ == "builtins" else object.__repr__(value),
            lambda _: object.__repr__(value),
        )
    )


def guarded(
    what: str, function: Callable[[], tuple[int, bytes | None, int]], failed: int
) -> tuple[int, bytes | None, int]:
    """Run the body of an entry point; never raise, but return ``failed`` and a line for the user."""
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - a bug in slurmhooks itself must fail the call
        return bug(what, error, failed)


def answer(what: str, function: Callable[[], tuple[int, bytes | None, int]], failed: int) -> tuple[int, None, int]:
    """Run the body of an entry point as :func:`guarded` does, and show its text to the user: Slurm does not."""
    code, text, _ = guarded(what, function, failed)
    if text is not None:
        log.user(text.decode())
    return code, None, 0


def bug(what: str, error: BaseException, failed: int) -> tuple[int, bytes, int]:
    """Return the result of an entry point whose body raised: the failure, and a line for the user."""
    return failed, report_bug(what, error)[0].encode(), 0


def report(handler: Handler, error: BaseException) -> tuple[str, str]:
    """Log the traceback of a bug in a handler; see :func:`report_bug`."""
    return report_bug(f"{handler.spec.name} handler {handler.label} ({handler.where})", error, handler.path)


def report_bug(what: str, error: BaseException, path: str | None = None) -> tuple[str, str]:
    """Log the traceback of a bug under a new id; return the line for the user, and the id.

    Frames above the first one in the file ``path`` are omitted.
    """
    _spare.clear()
    error_id = _new_id()
    start = f"{what} raised {trace.type_name(error)}"
    try:
        lines = trace.lines(error, path)
    except BaseException as second:  # noqa: BLE001 - memory or time are used up; report what is known
        lines = [f"no traceback: {trace.type_name(second)}"]
    log.record("\n".join([start, *lines]), f"error {error_id}: ")
    return for_user(f"{what.split(' (')[0]} failed", error_id), error_id


def report_findings(
    findings: Iterable[str],
    consequence: str = "no hook runs until this is fixed",
    what: str = "the hooks could not be loaded",
) -> str:
    """Log the errors in hook files or the configuration under a new id; return the line for the user.

    ``consequence`` is the state until they are corrected, for the log; ``what`` the same for users.
    """
    error_id = _new_id()
    log.record("\n".join(findings), f"error {error_id}: ")
    log.record(f"error {error_id}: {consequence}; 'slurmhooks check' shows all that is wrong")
    return for_user(what, error_id)


def for_user(what: str, error_id: str) -> str:
    """Return the line that a user sees for a fault that is not theirs."""
    return log.message(f"slurmhooks: {what} (error {error_id}); please tell your administrators")


def _new_id() -> str:
    return posix.urandom(4).hex()
