# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from slurmhooks.errors import HandlerError, Reject
from slurmhooks.hooks.decorator import MARKS, Collection
from slurmhooks.hooks.hook import hook
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import HOOKS


@pytest.fixture
def made() -> Iterator[Collection]:
    """Collect marks and options, as the loader does."""
    collection = Collection()
    with collection:
        yield collection


def decorator(name: str) -> Any:
    """Return the decorator that a site spells ``hook.NAME``."""
    attribute: Any = hook
    for part in name.split("."):
        attribute = getattr(attribute, part)
    return attribute


def test_every_hook_has_a_decorator_of_its_name() -> None:
    """Each row of HOOKS has a decorator, whose repr() is its spelling."""
    for name in HOOKS:
        assert repr(decorator(name)) == f"hook.{name}"


@pytest.mark.parametrize("name", HOOKS)
def test_decorating_changes_nothing(made: Collection, name: str) -> None:
    """A decorator, with or without arguments, returns the same function, which can still be called."""

    def handler(*given: object) -> tuple[object, ...]:
        return given

    plain: Any = handler
    period: Any = ("5m",) if HOOKS[name].is_periodic else ()
    assert (decorator(name)(*period)(plain) if period else decorator(name)(plain)) is handler
    assert decorator(name)(*period, order=1)(plain) is handler
    assert plain(1, 2) == (1, 2)
    assert [mark.hook for mark in made.marks] == [name, name]


def test_what_a_mark_says(made: Collection) -> None:
    """A mark has the given arguments; others are None or have their defaults."""

    def bare() -> None: ...

    def full() -> None: ...

    hook.spank.init(bare)
    hook.spank.init(order=-5, on_error="ignore", contexts=["local", "remote"])(full)
    first, second = made.marks
    assert (first.function, first.order, first.on_error, first.contexts) == (bare, 50, None, None)
    assert (second.function, second.order, second.on_error) == (full, -5, "ignore")
    assert second.contexts == ("local", "remote")
    assert first.sequence < second.sequence


def test_a_single_context_may_be_a_text(made: Collection) -> None:
    """contexts="remote" is one context, not six letters."""

    def handler() -> None: ...

    hook.spank.init(contexts="remote")(handler)
    assert made.marks[0].contexts == ("remote",)


def test_a_function_may_serve_several_hooks(made: Collection) -> None:
    """Several decorators of one function each add a mark."""

    @hook.spank.init
    @hook.spank.exit
    def handler() -> None: ...

    assert [mark.hook for mark in made.marks] == ["spank.exit", "spank.init"]
    assert getattr(handler, MARKS) == made.marks


@pytest.mark.parametrize("order", ["1", 1.0, None, True])
def test_order_is_an_int(order: Any) -> None:
    """Another type raises TypeError at once."""
    with pytest.raises(TypeError, match=r"hook\.job_submit: order takes an int, not"):
        hook.job_submit(order=order)


@pytest.mark.parametrize("given", [5, "name", object()])
def test_only_functions_are_decorated(given: Any) -> None:
    """An object that is not a function raises TypeError at once."""
    with pytest.raises(TypeError, match=r"hook\.job_submit decorates a function, not"):
        hook.job_submit(given)


def test_decorators_outside_a_load_are_harmless() -> None:
    """A hook file can also be imported without the loader, for example by a test."""

    @hook.job_submit
    def handler() -> None: ...

    assert len(getattr(handler, MARKS)) == 1


def test_collections_nest(made: Collection) -> None:
    """Marks of a load within a load belong to the inner one only."""

    def outer() -> None: ...

    def inner() -> None: ...

    within = Collection()
    with within:
        hook.job_submit(inner)
    hook.job_submit(outer)
    assert [mark.function for mark in within.marks] == [inner]
    assert [mark.function for mark in made.marks] == [outer]


def test_a_mark_names_the_module_that_runs(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that a helper of another module defines belongs to the module that calls the helper."""
    helper: dict[str, Any] = {"__name__": "helper", "hook": hook}
    source = "def add():\n    @hook.job_submit\n    def handler(): ...\n    hook.spank.option('x', usage='')\n"
    exec(compile(source, "helper.py", "exec"), helper)
    site = {"__name__": "site", "add": helper["add"]}
    exec(compile("add()\n", "site.py", "exec"), site)
    assert [mark.owner for mark in made.marks] == ["site"]
    assert [option.owner for option in made.options] == ["site"]


# Options.


class Policy:
    """Has a handler as a method."""

    def check(self, job: object) -> None:
        """Do nothing."""


def option(**keywords: Any) -> Option:
    """Return an option as a hook file makes it."""
    return hook.spank.option("greet", **{"arginfo": "NAME", "usage": "who to greet", **keywords})


@pytest.mark.parametrize("wrong", [Policy().check, len, "text".join], ids=["method", "builtin", "method of a builtin"])
def test_what_cannot_be_marked_is_refused(wrong: Any) -> None:
    """The message has the remedy, and nothing is marked."""
    with pytest.raises(TypeError, match=r"decorates a function, not .*: write a function that calls it"):
        hook.job_submit(wrong)
    assert not hasattr(Policy.check, MARKS)


def test_contexts_of_the_wrong_type() -> None:
    """The message names the decorator and the keyword."""
    with pytest.raises(TypeError, match=r"hook\.spank\.init: contexts takes a text or several, not 5"):
        hook.spank.init(contexts=5)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (lambda: hook.job_submitt, "hook has no 'job_submitt'; it has: .*job_submit, "),  # type: ignore[attr-defined]
        (lambda: hook.spank.slurmd_init, "hook.spank has no 'slurmd_init'; it has: exit, init, .*, slurmd_exit, "),  # type: ignore[attr-defined]
        (lambda: hook.scrun.start, "hook.scrun has no 'start'; it has: stage_in, stage_out"),  # type: ignore[attr-defined]
    ],
)
def test_a_hook_that_does_not_exist(find: Callable[[], object], message: str) -> None:
    """The message lists the existing hooks."""
    with pytest.raises(AttributeError, match=message):
        find()


def test_options_are_collected_in_order(made: Collection) -> None:
    """Options are collected even if they are not assigned to a variable."""
    first, second = option(), hook.spank.option("quiet", usage="say nothing")
    assert made.options == [first, second]
    assert repr(first) == "hook.spank.option('greet')"


def test_option_needs_a_usage() -> None:
    """usage is required, as --help shows it."""
    with pytest.raises(TypeError, match="needs usage=, the text for --help"):
        hook.spank.option("greet")  # type: ignore[call-overload]


def test_option_by_position() -> None:
    """Arguments can be given by position, in the order of struct spank_option."""
    greet: Option = hook.spank.option("greet", "NAME", "who to greet", True, int, ["local"])  # type: ignore[call-overload]
    assert (greet.name, greet.arginfo, greet.usage) == ("greet", "NAME", "who to greet")
    assert (greet.optional, greet.type, greet.contexts) == (True, int, ("local",))
    assert hook.spank.option("quiet", None, "say nothing").arginfo is None


def test_option_not_given_is_none() -> None:
    """An option has no value until the user gives one, and none after a reset."""
    greet = option()
    greet.reset()
    assert (greet.value, greet.given) == (None, False)
    greet.accept("alice")
    assert (greet.value, greet.given) == ("alice", True)
    greet.reset()
    assert (greet.value, greet.given) == (None, False)


@pytest.mark.parametrize("attribute", ["value", "given", "values"])
def test_option_outside_of_spank(attribute: str) -> None:
    """Where Slurm tells nothing of options, reading one says so, and what to read instead."""
    with pytest.raises(HandlerError, match=rf"--greet has no \.{attribute} here: .* use option\.of\(job\)"):
        getattr(option(), attribute)


def test_option_value_cannot_be_assigned() -> None:
    """Assigning to .value raises an exception."""
    with pytest.raises(AttributeError):
        option().value = "bob"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("kind", "text", "value"), [(str, "alice", "alice"), (int, "7", 7), (float, "0.5", 0.5), (len, "abc", 3)]
)
def test_option_type_converts(kind: Callable[[str], Any], text: str, value: object) -> None:
    """The type converts the text; without an argument the value is True."""
    assert option(type=kind).convert(text) == value
    assert option(type=kind).convert(None) is True


def test_option_type_refuses() -> None:
    """convert() raises the ValueError of the type."""
    with pytest.raises(ValueError, match="takes a whole number"):
        option(type=int).convert("many")


def test_checks_run_in_order_and_return_the_value() -> None:
    """Each check gets the result of the one before; the first gets that of the type."""
    greet = option(type=int)
    greet.check(lambda value: value + 1)
    greet.check(lambda value: value * 10)
    assert greet.convert("1") == 20


def test_check_may_refuse() -> None:
    """convert() raises the Reject of a check."""
    greet = option()

    @greet.check
    def never(value: str) -> str:
        raise Reject(f"not {value}")

    with pytest.raises(Reject, match="not alice"):
        greet.convert("alice")


def test_a_check_that_returns_nothing_keeps_the_value() -> None:
    """None would mean that the option is not given, so it is no value to use."""
    greet = option()

    @greet.check
    def only_refuses(value: str) -> None:
        if value == "nobody":
            raise Reject("greet somebody")

    @greet.check
    def changes(value: str) -> str:
        return value.upper()

    assert greet.convert("alice") == "ALICE"


@pytest.mark.parametrize(
    "check", [lambda: 1, lambda one, two: 1, lambda one, *, two: 1, lambda *, one: 1], ids=["0", "2", "named", "only"]
)
def test_a_check_takes_the_value(check: Callable[..., str]) -> None:
    """A function that cannot be called with one argument is refused when the file is loaded."""
    with pytest.raises(TypeError, match="a check takes one argument"):
        option().check(check)


@pytest.mark.parametrize(
    "check", [lambda one: one, lambda one, two=2: one, lambda *all: all[0], lambda one, *, two=2: one, str.upper]
)
def test_a_check_may_take_more(check: Callable[[str], str]) -> None:
    """Further arguments with defaults, and methods of types, are fine."""
    greet = option()
    greet.check(check)
    assert greet.convert("ADA") == "ADA"


def test_option_contexts() -> None:
    """By default an option exists in all contexts that have options; contexts= restricts it, and may be one text."""
    assert option().contexts == ("local", "remote", "allocator", "job_script")
    assert option(contexts="local").contexts == ("local",)
    assert option(contexts=["local", "remote"]).contexts == ("local", "remote")
