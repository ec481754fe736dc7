# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from slurmhooks.errors import SlurmhooksError, StaleHandleError
from slurmhooks.handlers.view import StagedMapping, stale

BAD_NAMES = ["", "A=B", "A\0B", "\ud800"]
names = st.text(st.characters(codec="utf-8", exclude_characters="\0="), min_size=1)
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


class FunctionMapping(StagedMapping):
    """A staged mapping whose base is three functions."""

    def __init__(
        self,
        load: Callable[[str], str | None],
        names: Callable[[], Iterable[str]],
        apply: Callable[[str, str | None], None],
    ) -> None:
        super().__init__()
        self._functions = load, names, apply

    def _load(self, name: str) -> str | None:
        return self._functions[0](name)

    def _names(self) -> Iterable[str]:
        return self._functions[1]()

    def _apply(self, name: str, value: str | None) -> None:
        self._functions[2](name, value)


def over(base: dict[str, str]) -> FunctionMapping:
    """Return a staged mapping over a dict."""

    def apply(name: str, value: str | None) -> None:
        if value is None:
            base.pop(name, None)
        else:
            base[name] = value

    return FunctionMapping(base.get, lambda: base, apply)


def test_stale_says_what_to_do() -> None:
    """The error has the type of the view and the remedy."""
    assert "this dict was used after the call" in str(stale({}))


def test_it_is_a_mutable_mapping() -> None:
    """A staged mapping is a MutableMapping."""
    assert isinstance(over({}), MutableMapping)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_cannot_be_are_refused_on_writing(name: str) -> None:
    """Writing an invalid name raises, and stages nothing."""
    mapping = over({})
    with pytest.raises(ValueError, match="the name of an environment variable must"):
        mapping[name] = "x"
    assert mapping == {}


@pytest.mark.parametrize("name", [*BAD_NAMES[:3], 5, None])
def test_names_that_cannot_be_are_not_set(name: Any) -> None:
    """An invalid name is not set; the base is not read for it."""

    def never(name: str) -> str | None:
        raise AssertionError

    mapping = FunctionMapping(never, list, lambda name, value: None)
    assert name not in mapping
    assert mapping.get(name) is None
    assert mapping.get(name, "default") == "default"
    with pytest.raises(KeyError):
        mapping[name]
    with pytest.raises(KeyError):
        del mapping[name]


@pytest.mark.parametrize(
    ("value", "error"),
    [(5, TypeError), (None, TypeError), (b"x", TypeError), ("a\0b", ValueError), ("\ud800", ValueError)],
)
def test_values_that_cannot_be_are_refused(value: Any, error: type[Exception]) -> None:
    """Writing a value of another type, or with a NUL byte, raises with the name, and stages nothing."""
    mapping = over({"A": "1"})
    with pytest.raises(error, match="environment variable A "):
        mapping["A"] = value
    assert mapping == {"A": "1"}
    mapping.commit()
    assert mapping == {"A": "1"}


def test_replace_is_all_or_nothing() -> None:
    """replace() with an invalid value changes nothing."""
    mapping = over({"A": "1", "B": "2"})
    wrong: dict[str, Any] = {"C": "3", "D": 4}
    with pytest.raises(TypeError):
        mapping.replace(wrong)
    assert mapping == {"A": "1", "B": "2"}
    mapping.replace({"B": "3", "C": "4"})
    assert mapping == {"B": "3", "C": "4"}


def test_clear_lists_the_names_once() -> None:
    """clear() deletes all names, and its cost does not grow with the square of their number."""
    base = {str(number): "x" for number in range(9)}
    listed: list[int] = []

    def names() -> Iterable[str]:
        listed.append(1)
        return base

    mapping = FunctionMapping(base.get, names, lambda name, value: base.__delitem__(name))
    mapping.clear()
    assert len(listed) == 1
    assert mapping == {}
    mapping.commit()
    assert base == {}


def test_the_base_is_asked_only_on_use() -> None:
    """An unused mapping does not read the base; reading a name does not list all names."""
    asked: list[str] = []

    def load(name: str) -> str | None:
        asked.append(name)
        return "1"

    def listed() -> list[str]:
        raise AssertionError

    mapping = FunctionMapping(load, listed, lambda name, value: None)
    mapping.commit()
    assert asked == []
    assert mapping["A"] == "1"
    assert asked == ["A"]


def test_a_loop_may_delete_what_it_meets() -> None:
    """Names can be deleted while iterating."""
    mapping = over({"A": "1", "B": "2"})
    for name in mapping:
        del mapping[name]
    assert len(mapping) == 0


USES: dict[str, Callable[[FunctionMapping], object]] = {
    "read": lambda mapping: mapping["A"],
    "get": lambda mapping: mapping.get("A"),
    "in": lambda mapping: "A" in mapping,
    "not a name": lambda mapping: mapping.__contains__(5),
    "iterate": list,
    "length": len,
    "items": lambda mapping: list(mapping.items()),
    "write": lambda mapping: mapping.__setitem__("A", "2"),
    "bad write": lambda mapping: mapping.__setitem__("A=", "2"),
    "delete": lambda mapping: mapping.__delitem__("A"),
    "update": lambda mapping: mapping.update({"A": "2"}),
    "replace": lambda mapping: mapping.replace({}),
    "clear": lambda mapping: mapping.clear(),
    "pop": lambda mapping: mapping.pop("A", None),
    "setdefault": lambda mapping: mapping.setdefault("A", "2"),
    "compare": lambda mapping: mapping == {},
}


@pytest.mark.parametrize("use", USES)
def test_every_use_after_the_call_is_an_error(use: str) -> None:
    """After close(), every use raises StaleHandleError."""
    mapping = over({"A": "1"})
    mapping.close()
    with pytest.raises(StaleHandleError):
        USES[use](mapping)


def test_repr_never_raises() -> None:
    """repr() works after the call, and if the base cannot be listed."""
    mapping = over({"A": "1"})
    assert repr(mapping) == "{'A': '1'}"
    mapping.close()
    assert repr(mapping) == "<FunctionMapping of a call that is over>"

    def unlisted() -> list[str]:
        raise SlurmhooksError("cannot be listed")

    assert repr(FunctionMapping(lambda name: None, unlisted, lambda name, value: None)) == (
        "<FunctionMapping: cannot be listed>"
    )


class Environment(RuleBasedStateMachine):
    """A staged mapping behaves like a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.base = {"PATH": "/bin", "HOME": "/root"}
        self.model, self.committed = dict(self.base), dict(self.base)
        self.mapping = over(self.base)
        self.saved: list[tuple[object, dict[str, str]]] = []

    @rule(name=names | st.sampled_from(["PATH", "HOME"]), value=values)
    def write(self, name: str, value: str) -> None:
        """Set a name."""
        self.mapping[name] = self.model[name] = value

    @rule(name=names | st.sampled_from(["PATH", "HOME"]))
    def pop(self, name: str) -> None:
        """Delete a name, if it is there."""
        assert self.mapping.pop(name, None) == self.model.pop(name, None)

    @rule(name=names | st.sampled_from(["PATH", "HOME"]), value=values)
    def setdefault(self, name: str, value: str) -> None:
        """Set a name, if it is not there."""
        assert self.mapping.setdefault(name, value) == self.model.setdefault(name, value)

    @rule(content=st.dictionaries(names, values, max_size=3))
    def replace(self, content: dict[str, str]) -> None:
        """Replace the content."""
        self.mapping.replace(content)
        self.model = dict(content)

    @rule()
    def clear(self) -> None:
        """Empty it."""
        self.mapping.clear()
        self.model.clear()

    @rule()
    def save(self) -> None:
        """Take a savepoint."""
        self.saved.append((self.mapping.savepoint(), dict(self.model)))

    @rule()
    def roll_back(self) -> None:
        """Return to the last savepoint."""
        if self.saved:
            savepoint, self.model = self.saved.pop()
            self.mapping.rollback(savepoint)

    @rule()
    def commit(self) -> None:
        """Apply."""
        self.mapping.commit()
        self.saved.clear()
        self.committed = dict(self.model)

    @rule(other=st.dictionaries(names | st.just("PATH"), values, max_size=3))
    def unite(self, other: dict[str, str]) -> None:
        """Unite it with a dictionary, which has names of its own and perhaps one of both."""
        assert self.mapping | other == self.model | other
        assert other | self.mapping == other | self.model

    @invariant()
    def same(self) -> None:
        """Both mappings have the same content, and only a commit changes the base."""
        assert self.base == self.committed
        assert self.mapping == self.model
        assert set(self.mapping) == set(self.model)
        assert len(self.mapping) == len(self.model)
        assert dict(self.mapping.items()) == self.model


TestEnvironment = Environment.TestCase
TestEnvironment.settings = settings(max_examples=40, stateful_step_count=25)
