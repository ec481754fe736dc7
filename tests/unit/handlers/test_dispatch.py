# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.errors import Reject, SpankError
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import log

HOOKS_WITH_VIEWS = [name for name, spec in HOOKS.items() if spec.arguments]


class View:
    """A view of one number, as dispatch knows it."""

    def __init__(self, refuses: bool = False) -> None:
        self.applied = 0
        self.value = 0
        self.closed = 0
        self.savepoints = 0
        self.refuses = refuses

    def savepoint(self) -> object:
        """Return the number."""
        self.savepoints += 1
        return self.value

    def rollback(self, savepoint: Any) -> None:
        """Take it back."""
        self.value = savepoint

    def commit(self) -> None:
        """Apply it."""
        if self.refuses:
            raise SpankError("ESPANK_ERROR", "spank_setenv", "no")
        self.applied = self.value

    def close(self) -> None:
        """Count."""
        self.closed += 1


class Repulsive:
    """A value whose repr() raises."""

    def __repr__(self) -> str:
        """Fail."""
        raise RuntimeError


def handler(
    function: Callable[..., object], hook: str = "job_submit", lenient: bool = False, label: str = "limits:handler"
) -> Handler:
    """Return a verified handler whose argument is the view."""
    names = HOOKS[hook].arguments[:1]
    return Handler(function, names, HOOKS[hook], label=label, path=__file__, line=7, lenient=lenient)


def run(*handlers: Handler, view: View | None = None) -> Outcome:
    """Run handlers on a view."""
    arguments: dict[str, object] = {spec.arguments[0]: view for spec in HOOKS.values() if spec.arguments}
    return dispatch.run(handlers, arguments, view)


def add(number: int) -> Callable[[View], None]:
    """Return a function for a handler that adds to the number."""

    def function(view: View) -> None:
        view.value += number

    return function


def test_no_handler_passes() -> None:
    """An event without handlers changes nothing and passes; the view is closed."""
    view = View()
    assert run(view=view).passed
    assert (view.applied, view.closed) == (0, 1)


def test_later_handlers_read_what_earlier_ones_wrote() -> None:
    """Handlers run one after the other on the same values, which are applied after all have passed."""
    view, seen = View(), []
    assert run(handler(add(1)), handler(lambda view: seen.append((view.value, view.applied))), view=view).passed
    assert seen == [(1, 0)]
    assert (view.applied, view.closed) == (1, 1)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("code", ["ESLURM_INVALID_ACOUNT", "", 3.5, 1 << 40, Repulsive()])
def test_a_wrong_code_refuses(code: Any, lenient: bool, said: SimpleNamespace) -> None:
    """Reject with an invalid code refuses, even with a lenient on_error; the mistake is logged once."""

    def refuse(view: View) -> None:
        view.value = 7
        raise Reject("no", code=code)

    one, other = handler(refuse, lenient=lenient), handler(refuse, lenient=lenient, label="limits:other")
    for _ in range(3):
        view = View()
        outcome = run(one, view=view)
        assert (outcome.passed, outcome.code, outcome.text, view.applied) == (False, None, "no", 0)
    assert not run(other, view=View()).passed
    assert [re.sub("[0-9a-f]{8}", "ID", line).partition(": ")[2].partition(" raised ")[0] for line in said.records] == [
        f"error ID: job_submit handler limits:handler ({__file__}:7)",
        f"error ID: job_submit handler limits:other ({__file__}:7)",
    ]
    if code == "ESLURM_INVALID_ACOUNT":
        assert (
            f"raised Reject(code={code!r}): Slurm has no such code; nearest: ESLURM_INVALID_ACCOUNT" in said.records[0]
        )


@pytest.mark.parametrize("code", [None, "ESLURM_INVALID_ACCOUNT", "ESPANK_NOT_AVAIL", 2045])
def test_reject_ends_the_event(code: str | int | None) -> None:
    """A refusal has text and code; no later handler runs, and no handler's writes are applied."""

    def refuse(view: View) -> None:
        view.value += 10
        raise Reject("please name a project", code=code)

    def never(view: View) -> None:
        raise AssertionError

    view = View()
    outcome = run(handler(add(1)), handler(refuse), handler(never), view=view)
    assert (outcome.passed, outcome.code, outcome.text) == (False, code, "please name a project")
    assert outcome.error_id is None
    assert (view.applied, view.closed) == (0, 1)


@pytest.mark.parametrize(
    ("text", "shown"), [(7, "7"), (None, ""), (["a", "b"], "['a', 'b']"), (Repulsive(), "<Repulsive>")]
)
def test_reject_with_a_text_that_is_none(text: Any, shown: str) -> None:
    """A subclass of Reject that sets an object as its text still refuses, and the user reads the object's text."""

    class NoError(Reject):
        def __init__(self) -> None:
            self.text = text

    def refuse(view: View) -> None:
        raise NoError

    view = View()
    outcome = run(handler(refuse, lenient=True), view=view)
    assert (outcome.passed, outcome.code, outcome.text, view.closed) == (False, None, shown, 1)


def test_reject_of_a_lenient_handler_is_a_refusal() -> None:
    """on_error applies to bugs only: a refusal counts in any case."""

    def refuse(view: View) -> None:
        raise Reject("no")

    assert not run(handler(refuse, lenient=True), view=View()).passed


class BadError(Exception):
    """An exception whose str() raises."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError


BUGS: dict[str, Callable[..., object]] = {}


def bug(function: Callable[..., object]) -> Callable[..., object]:
    """Register a bug that handlers can have."""
    BUGS[function.__name__] = function
    return function


@bug
def exception(view: View) -> None:
    """Raise an exception."""
    view.value += 10
    raise KeyError("x")


@bug
def system_exit(view: View) -> None:
    """Call sys.exit()."""
    view.value += 10
    raise SystemExit(0)


@bug
def keyboard_interrupt(view: View) -> None:
    """Raise KeyboardInterrupt."""
    view.value += 10
    raise KeyboardInterrupt


@bug
def recursion(view: View) -> None:
    """Recurse without end."""
    view.value += 10
    recursion(view)


@bug
def unprintable(view: View) -> None:
    """Raise an exception whose str() raises."""
    view.value += 10
    raise BadError


@bug
def returns_true(view: View) -> bool:
    """Return True."""
    view.value += 10
    return True


@bug
def returns_zero(view: View) -> int:
    """Return SLURM_SUCCESS."""
    view.value += 10
    return 0


PAIRS = list(zip(HOOKS_WITH_VIEWS, itertools.cycle(BUGS), strict=False))
"""Each hook with one of the bugs."""


@pytest.mark.parametrize(("hook", "what"), PAIRS)
def test_a_bug_fails_the_request(said: SimpleNamespace, hook: str, what: str) -> None:
    """By default a bug ends the event with the general failure code, an id for the user and a traceback in the log."""
    view = View()
    outcome = run(handler(add(1), hook), handler(BUGS[what], hook), view=view)
    assert (outcome.passed, outcome.code) == (False, None)
    assert outcome.error_id is not None
    assert outcome.text == (
        f"slurmhooks: {hook} handler limits:handler failed (error {outcome.error_id}); please tell your administrators"
    )
    assert said.records[0].startswith(
        f"slurmhooks: error {outcome.error_id}: {hook} handler limits:handler ({__file__}:7)"
    )
    assert all(f"error {outcome.error_id}: " in line and "\n" not in line for line in said.records)
    assert (view.applied, view.closed) == (0, 1)
    assert said.user == []


@pytest.mark.parametrize(("hook", "what"), PAIRS)
def test_a_bug_of_a_lenient_handler_is_undone(said: SimpleNamespace, hook: str, what: str) -> None:
    """With a lenient on_error the request continues without that handler's writes; the user gets a message."""
    view = View()
    outcome = run(handler(add(1), hook), handler(BUGS[what], hook, lenient=True), handler(add(2), hook), view=view)
    assert outcome.passed
    assert (view.applied, view.closed) == (3, 1)
    (shown,) = said.user
    assert re.fullmatch(rf"slurmhooks: {hook} handler limits:handler failed \(error [0-9a-f]{{8}}\); .*", shown)
    assert said.records


@pytest.mark.parametrize("value", [0, 1, True, False, "", "no", (0, "x")])
def test_a_returned_value_is_a_bug_that_says_what_to_do(said: SimpleNamespace, value: object) -> None:
    """A handler returns nothing; otherwise the log has the value and says how to refuse."""
    assert not run(handler(lambda view: value), view=View()).passed
    text = "\n".join(said.records)
    assert f"a handler returns nothing; this one returned {value!r}. To refuse, raise Reject(text)" in text


def test_an_unawaited_coroutine_is_never_a_pass(said: SimpleNamespace) -> None:
    """A coroutine that was not detected while loading fails the event."""

    class Coroutine:
        def __repr__(self) -> str:
            raise RuntimeError

    assert not run(handler(lambda view: Coroutine()), view=View()).passed
    assert any("Coroutine object at" in line for line in said.records)


def test_savepoints_only_where_they_are_needed() -> None:
    """No savepoint is made for a handler whose bug ends the event anyway."""
    view = View()
    run(handler(add(1)), handler(add(1)), view=view)
    assert view.savepoints == 0
    view = View()
    run(handler(add(1), lenient=True), view=view)
    assert view.savepoints == 1


def test_handlers_without_a_view(said: SimpleNamespace) -> None:
    """init and fini have no view; a bug in them is handled in the same way."""

    def fails() -> None:
        raise ValueError

    plain = Handler(fails, (), HOOKS["job_submit.init"], label="limits:fails", path=__file__, line=1)
    lenient = Handler(fails, (), HOOKS["job_submit.init"], label="limits:fails", path=__file__, line=1, lenient=True)
    assert not dispatch.run([plain], {}).passed
    assert dispatch.run([lenient], {}).passed
    assert len(said.user) == 1


def test_what_slurm_does_not_take_is_an_error_and_the_view_ends(said: SimpleNamespace) -> None:
    """A failing commit is not a bug in a handler: the exception goes to the entry point, which fails closed."""
    view = View(refuses=True)
    with pytest.raises(SpankError):
        run(handler(add(1)), view=view)
    assert view.closed == 1


def test_guarded_answers_what_the_body_does() -> None:
    """guarded() returns the result of the body."""
    assert dispatch.guarded("x", lambda: (0, b"text", 0), -1) == (0, b"text", 0)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(0), KeyboardInterrupt(), BadError()])
def test_guarded_never_raises_and_fails_closed(said: SimpleNamespace, error: BaseException) -> None:
    """A bug in slurmhooks itself results in the failure code, one line for the user and a traceback in the log."""

    def body() -> tuple[int, bytes | None, int]:
        raise error

    code, text, _ = dispatch.guarded("spank init", body, -3000)
    assert code == -3000
    assert text is not None
    assert re.fullmatch(rb"slurmhooks: spank init failed \(error [0-9a-f]{8}\); please tell your administrators", text)
    assert any(type(error).__name__ in line for line in said.records)


def test_ids_differ() -> None:
    """Each fault has its own id."""
    log.attach(lambda level, text: None, lambda text: None)
    assert len({dispatch.report_bug("x", ValueError())[1] for _ in range(50)}) == 50


def test_findings_are_logged_line_by_line(said: SimpleNamespace) -> None:
    """All findings and their consequence are logged under one id; the user sees only the id."""
    shown = dispatch.report_findings(["a.py:1: wrong\n    trace", "b.py:2: wrong"], "nothing runs")
    match = re.fullmatch(r"slurmhooks: the hooks could not be loaded \(error (\w+)\); please tell .*", shown)
    assert match is not None
    lines = ["a.py:1: wrong", "    trace", "b.py:2: wrong", "nothing runs; 'slurmhooks check' shows all that is wrong"]
    assert said.records == [f"slurmhooks: error {match[1]}: {line}" for line in lines]
