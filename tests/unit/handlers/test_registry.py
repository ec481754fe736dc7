# SPDX-License-Identifier: GPL-2.0-or-later
import functools
import math
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.handlers.registry import (
    MAX_TIMEOUT,
    OPTION_NAME_LIMIT,
    STOP,
    TRY,
    Handler,
    Registry,
    parameters,
    verify,
    verify_options,
)
from slurmhooks.hooks.decorator import Mark
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import HOOKS

CALLED = [name for name, spec in HOOKS.items() if not spec.runs_in]
"""The hooks of which a handler is one; hook.job has tests of its own."""


def mark(function: Callable[..., Any], hook: str = "job_submit", **keywords: Any) -> Mark:
    """Return a mark as a decorator creates it."""
    given = {"order": 50, "on_error": None, "contexts": None, "sequence": 1, "owner": "site", **keywords}
    return Mark(function, hook, **given)


def accepted(function: Callable[..., Any], hook: str = "job_submit", **keywords: Any) -> Handler:
    """Return the handler of a valid mark."""
    handlers, findings = verify(mark(function, hook, **keywords), function, "limits", "limits.py")
    assert findings == []
    (handler,) = handlers
    return handler


def refused(function: Callable[..., Any], hook: str = "job_submit", **keywords: Any) -> str:
    """Return the finding for a mark with one error."""
    handlers, findings = verify(mark(function, hook, **keywords), function, "limits", "limits.py")
    assert handlers == []
    assert len(findings) == 1
    return findings[0]


def function_of(names: tuple[str, ...], body: str = "return (" + "{names}" + ")") -> Callable[..., Any]:
    """Return a function that returns its arguments, which have these names."""
    namespace: dict[str, Any] = {}
    listed = ", ".join(names)
    exec(f"def handler({listed}): return ({listed}{',' if names else ''})", namespace)
    made: Callable[..., Any] = namespace["handler"]
    return made


@pytest.mark.parametrize("hook", CALLED)
def test_any_subset_by_name_in_any_order(hook: str) -> None:
    """A handler takes any subset of its hook's arguments, in any order, and gets each under its name."""
    arguments: dict[str, object] = {name: f"the {name}" for name in HOOKS[hook].arguments}
    for size in range(len(arguments) + 1):
        for subset in combinations(arguments, size):
            for names in permutations(subset) if size < 4 else (subset, subset[::-1]):
                handler = accepted(function_of(names), hook)
                assert handler.names == names
                assert handler.call(arguments) == tuple(arguments[name] for name in names)


def test_positional_only_and_defaults_are_taken() -> None:
    """Positional-only arguments and defaults are accepted."""

    def handler(job: object, /, submit_uid: int = 0) -> object:
        return job, submit_uid

    assert accepted(handler).call({"job": 1, "submit_uid": 2}) == (1, 2)


@pytest.mark.parametrize("hook", HOOKS)
def test_an_unknown_argument_is_refused_with_the_possible_names(hook: str) -> None:
    """An unknown argument is a finding with file, line, handler and the possible names."""
    function = function_of(("jbo",))
    finding = refused(function, hook)
    allowed = ", ".join(HOOKS[hook].arguments) or "none"
    assert finding.startswith("<string>:1: handler limits:handler of hook." + hook)
    assert finding.endswith(f"takes 'jbo', which the hook does not have; it may take: {allowed}")


def test_all_unknown_arguments_are_told_at_once() -> None:
    """Two unknown arguments are one finding."""
    assert "takes 'jbo', 'uid', which" in refused(function_of(("jbo", "submit_uid", "uid")))


def test_file_and_line_are_those_of_the_function() -> None:
    """A finding has the line of the definition."""

    def handler(jbo: object) -> None: ...

    code = handler.__code__
    name = "test_file_and_line_are_those_of_the_function.<locals>.handler"
    assert refused(handler).startswith(f"{__file__}:{code.co_firstlineno}: handler limits:{name} of hook.job_submit ")


@pytest.mark.parametrize("source", ["*jobs", "**jobs", "job, *rest", "job, **rest"])
def test_arguments_must_be_named(source: str) -> None:
    """A handler with ``*args`` or ``**kwargs`` is refused, as it does not name its arguments."""
    namespace: dict[str, Any] = {}
    exec(f"def handler({source}): ...", namespace)
    assert "must name its arguments; it may take: job, submit_uid, " in refused(namespace["handler"])


def test_keyword_only_arguments_are_refused() -> None:
    """Keyword-only arguments are refused at load time, as arguments are passed by position."""

    def handler(*, job: object) -> None: ...

    assert "must not have keyword-only arguments" in refused(handler)


def generators() -> dict[str, Callable[..., Any]]:
    """Return functions whose bodies do not run when they are called."""

    def generator(job: object) -> Any:
        yield

    async def coroutine(job: object) -> None: ...

    async def both(job: object) -> Any:
        yield

    @functools.wraps(generator)
    def wrapped(*args: Any) -> Any:
        return generator(*args)

    def plain(job: object) -> None: ...

    @functools.wraps(plain)
    async def wrapper(job: object) -> None: ...

    return {
        "generator": generator,
        "async": coroutine,
        "async generator": both,
        "wrapped": wrapped,
        "async wrapper": wrapper,
    }


@pytest.mark.parametrize("kind", generators())
def test_what_would_not_run_is_refused(kind: str) -> None:
    """Generators and async functions, also inside or around wrappers, are refused, as they would do nothing."""
    assert "must be a plain function: a generator or an async function would never run" in refused(generators()[kind])


@pytest.mark.parametrize("what", [print, functools.partial(print), type("Handler", (), {}), len])
def test_only_functions_written_in_python(what: Any) -> None:
    """Callables that are not written in Python are refused."""
    assert "must be a function written in Python, not" in refused(what)


def test_wrappers_are_seen_through() -> None:
    """A wrapper made with functools.wraps has the arguments, file and line of the wrapped function, and is called."""

    def logged(function: Callable[..., None]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
            function(*args, **kwargs)
            return "wrapper ran"

        return wrapper

    def handler(submit_uid: int, job: object) -> None:
        assert (submit_uid, job) == (7, "job")

    wrapped = accepted(logged(logged(handler)))
    assert wrapped.names == ("submit_uid", "job")
    assert wrapped.call({"job": "job", "submit_uid": 7}) == "wrapper ran"
    assert wrapped.line == handler.__code__.co_firstlineno
    assert wrapped.where == f"{__file__}:{wrapped.line}"


@pytest.mark.parametrize("hook", CALLED)
def test_on_error_of_every_hook(hook: str) -> None:
    """A hook takes one of two words; the first is the default. Most take "fail" or "ignore"."""
    words = {
        **dict.fromkeys(("job_submit", "job_modify"), ("reject", "accept")),
        "node.health_check": ("keep", "drain"),
    }
    strict, lenient = words.get(hook, ("fail", "ignore"))
    function = function_of(())
    assert not accepted(function, hook).lenient
    assert not accepted(function, hook, on_error=strict).lenient
    assert accepted(function, hook, on_error=lenient).lenient
    for wrong in {"reject", "accept", "fail", "ignore", "Accept", "", 0} - {strict, lenient}:
        finding = refused(function, hook, on_error=wrong)
        assert finding.endswith(f': on_error takes "{strict}" or "{lenient}", not {wrong!r}')


def test_contexts_default_to_all_of_the_hook() -> None:
    """Without contexts a handler runs in all contexts in which Slurm makes the call."""
    assert accepted(function_of(()), "spank.init").contexts == ("local", "remote", "allocator", "slurmd")
    assert accepted(function_of(()), "spank.init", contexts=("remote",)).contexts == ("remote",)
    assert accepted(function_of(())).contexts == ()


def test_contexts_that_slurm_does_not_have_are_refused() -> None:
    """A context in which Slurm does not make the call is a finding that lists the possible contexts."""
    finding = refused(function_of(()), "spank.task_init", contexts=("local",))
    assert finding.endswith(": contexts may name remote; not 'local'")
    assert refused(function_of(()), contexts=("remote",)).endswith(
        ": contexts may name nothing: this hook has none; not 'remote'"
    )


def test_no_context_at_all_is_refused() -> None:
    """An empty list of contexts is refused, as the handler would never run."""
    assert refused(function_of(()), "spank.init", contexts=()).endswith(": contexts is empty, so it would never run")


@pytest.mark.parametrize("timeout", [math.inf, math.nan, 10**20, MAX_TIMEOUT + 1, 0, -1.0])
@pytest.mark.parametrize("hook", ["job_submit", "spank.init"])
def test_time_limits_that_no_timer_has(hook: str, timeout: float) -> None:
    """A time limit that would fail at each call is refused when the file is loaded."""
    text = refused(lambda: None, hook, timeout=timeout)
    assert f"timeout takes more than 0 and at most 2592000 seconds, not {timeout!r}" in text
    assert accepted(lambda: None, hook, timeout=MAX_TIMEOUT).timeout == MAX_TIMEOUT


@pytest.mark.parametrize("hook", CALLED)
def test_only_handlers_of_requests_promise_to_have_no_effects(hook: str) -> None:
    """effects=False is for hooks that decide about requests; by default no handler is tried after a refusal."""
    if hook in ("job_submit", "job_modify"):
        assert accepted(function_of(()), hook, effects=False).after_refusal == TRY
        assert accepted(function_of(()), hook).after_refusal == STOP
    else:
        text = refused(function_of(()), hook, effects=False)
        assert "effects is for handlers of job_submit, job_modify and job" in text


def test_all_faults_of_a_handler_are_told() -> None:
    """A handler with several faults has several findings."""
    handlers, findings = verify(
        mark(function_of(("jbo",)), "spank.init", on_error="accept", contexts=("local", "mars", "job_script")),
        function_of(("jbo",)),
        "limits",
        "limits.py",
    )
    assert handlers == []
    assert len(findings) == 4


def test_parameters_raises_what_follows_the_handlers_name() -> None:
    """The message of parameters() is written to follow a description of the handler."""
    with pytest.raises(TypeError, match=r"^takes 'x', which the hook does not have"):
        parameters(lambda x: None, HOOKS["job_submit"])


# Order.


def make(hook: str = "job_submit", **keywords: Any) -> Handler:
    """Return a handler."""
    return accepted(function_of(()), hook, **keywords)


@given(st.lists(st.integers(-3, 3)))
def test_low_orders_run_first_and_ties_keep_the_order_of_definition(orders: list[int]) -> None:
    """Handlers are sorted by order; with the same order, they stay in the order of definition."""
    handlers = [make(order=order) for order in orders]
    sorted_handlers = Registry(iter(handlers), ()).handlers("job_submit")
    expected = [handler for _, handler in sorted(enumerate(handlers), key=lambda pair: (pair[1].order, pair[0]))]
    assert list(sorted_handlers) == expected


def test_each_hook_has_its_own_handlers() -> None:
    """Each hook has its own handlers; all_handlers() lists them hook by hook."""
    handlers = [make("spank.init"), make("job_submit"), make("spank.init", order=1)]
    registry = Registry(iter(handlers), ())
    assert registry.handlers("spank.init") == (handlers[2], handlers[0])
    assert registry.handlers("job_submit") == (handlers[1],)
    assert registry.handlers("job_modify") == ()
    assert registry.all_handlers() == [handlers[1], handlers[2], handlers[0]]


def test_wanted_is_what_some_handler_takes() -> None:
    """wanted() returns the arguments that handlers of a hook take."""
    registry = Registry(
        [accepted(function_of(("job",))), accepted(function_of(("submit_uid", "job"))), make("job_modify")], ()
    )
    assert registry.wanted("job_submit") == {"job", "submit_uid"}
    assert registry.wanted("job_modify") == frozenset()


# Options.


def option(name: str = "greet", arginfo: str | None = "NAME", optional: bool = False, **keywords: Any) -> Option:
    """Return an option."""
    given: dict[str, Any] = {"type": str, "contexts": ("local",), "sequence": 1, "owner": "site", **keywords}
    return Option(name, arginfo, given.pop("usage", "usage"), optional, **given)


@pytest.mark.parametrize("name", ["x", "with-dash", "x" * OPTION_NAME_LIMIT, "ü" * 37])
def test_good_option_names(name: str) -> None:
    """Names that Slurm can handle are accepted."""
    assert verify_options([option(name)]) == []


@pytest.mark.parametrize("name", ["", "a=b", "a\0b", "a b", "a\tb", "x" * (OPTION_NAME_LIMIT + 1), "ü" * 38])
def test_bad_option_names(name: str) -> None:
    """Names that Slurm would truncate or could not parse are refused."""
    (finding,) = verify_options([option(name)])
    assert finding.startswith(f"hook.spank.option({name!r}): the name must have 1 to 75 bytes")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"name": "--greet"}, "the name comes without the dashes"),
        ({"name": 5}, "name takes a str, not 5"),
        ({"name": "a\udc80"}, "name must hold neither a NUL byte nor half of a surrogate pair"),
        ({"arginfo": 5}, "arginfo takes a str, not 5"),
        ({"arginfo": "A\0B"}, "arginfo must hold neither a NUL byte"),
        ({"usage": None}, "usage takes a str, not None"),
        ({"usage": b"x"}, "usage takes a str, not b'x'"),
        ({"usage": "\ud800"}, "usage must hold neither"),
        ({"type": 5}, "type takes a function, not 5"),
    ],
)
def test_what_c_cannot_take(keywords: dict[str, Any], message: str) -> None:
    """Values that C cannot use as texts are refused; the finding has file and line of the option."""
    (finding,) = verify_options([option(**{"where": "/hooks/a.py:3", **keywords})])
    assert finding.startswith(f"/hooks/a.py:3: hook.spank.option({keywords.get('name', 'greet')!r}): {message}")


def test_two_options_of_one_name() -> None:
    """Two options with one name are refused: Slurm would silently disable the second."""
    (finding,) = verify_options([option(), option()])
    assert "this name is given to two options, also at " in finding


def test_option_contexts_exist() -> None:
    """Each invalid context is a finding."""
    findings = verify_options([option(contexts=("local", "mars", "moon"))])
    assert [finding.rpartition(" ")[2] for finding in findings] == ["'mars'", "'moon'"]


def test_optional_needs_an_argument() -> None:
    """optional=True without an arginfo is refused."""
    (finding,) = verify_options([option(arginfo=None, optional=True)])
    assert "optional=True needs an arginfo" in finding


def test_all_faults_of_all_options_are_told() -> None:
    """Several faults are several findings."""
    assert len(verify_options([option("", None, True), option("a=b", contexts=("x",))])) == 4
