# SPDX-License-Identifier: GPL-2.0-or-later
"""What the views that handlers get have in common: staged writes, and an end."""

from __future__ import annotations

from slurmhooks.errors import StaleHandleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MISSING = object()
"""Stands for "nothing here" where None means unset."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ``"; nearest: a, b"`` for the names most like one that does not exist, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, list(names), 3, 0.6)
    return f"; nearest: {', '.join(close)}" if close else ""


def stale(view: object) -> StaleHandleError:
    """Return the error for a view that outlived its call."""
    return StaleHandleError(
        f"this {type(view).__name__} was used after the call that it was made for; keep the values, not the view"
    )


class StagedMapping:
    """A mutable mapping of text to text whose writes wait until all handlers have passed.

    The base is asked only on use. Subclasses say how to read the base and how to apply one write.
    """

    __slots__ = ("_alive", "_staged")

    def __init__(self) -> None:
        """Start without writes."""
        self._staged: dict[str, str | None] = {}
        self._alive = True

    def _load(self, name: str) -> str | None:
        """Return the base's value, or None."""
        raise NotImplementedError

    def _names(self) -> Iterable[str]:
        """Return the base's names."""
        raise NotImplementedError

    def _apply(self, name: str, value: str | None) -> None:
        """Write one value to the base; None deletes."""
        raise NotImplementedError

    def _check(self, name: object, value: object = "") -> None:
        """Refuse what an environment cannot hold."""
        self._living()
        for what, text in (("a name", name), ("a value", value)):
            if not isinstance(text, str):
                raise TypeError(f"{what} in an environment is a str, not {text!r}")
            if "\0" in text:
                raise ValueError(f"{what} in an environment must not hold a NUL byte: {text!r}")
        if not name or "=" in str(name):
            raise ValueError(f"a name in an environment must not be empty nor hold '=': {name!r}")

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)

    def __getitem__(self, name: str) -> str:
        """Return a value; KeyError if it is not set."""
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return a value, or the default if it is not set."""
        self._living()
        value = self._staged.get(name, MISSING)
        if value is MISSING:
            value = self._load(name)
        return default if value is None else value  # type: ignore[return-value]

    def __setitem__(self, name: str, value: str) -> None:
        """Set a value."""
        self._check(name, value)
        self._staged[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        if self.get(name) is None:
            raise KeyError(name)
        self._staged[name] = None

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is set."""
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        self._living()
        names = dict.fromkeys(self._names())
        for name, value in self._staged.items():
            if value is None:
                names.pop(name, None)
            else:
                names[name] = None
        return iter(names)

    def __len__(self) -> int:
        """Return how many names are set."""
        return sum(1 for _ in self)

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self)

    def values(self) -> list[str]:
        """Return the values."""
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, str]]:
        """Return the pairs."""
        return [(name, self[name]) for name in self]

    def setdefault(self, name: str, default: str) -> str:
        """Return a value, after setting it to the default if it is not set."""
        value = self.get(name)
        if value is None:
            self[name] = value = default
        return value

    def pop(self, name: str, default: str | None = None) -> str | None:
        """Delete a name and return its value, or the default if it is not set."""
        value = self.get(name)
        if value is None:
            return default
        del self[name]
        return value

    def update(self, other: dict[str, str] | Iterable[tuple[str, str]] = (), **more: str) -> None:
        """Set several values."""
        for name, value in (dict(other) | more).items():
            self[name] = value

    def __repr__(self) -> str:
        """Return the content, or that the call is over."""
        return repr(dict(self.items())) if self._alive else f"<{type(self).__name__} of a call that is over>"

    def __eq__(self, other: object) -> bool:
        """Compare with any mapping."""
        return dict(self.items()) == dict(other) if hasattr(other, "keys") else NotImplemented  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]

    def savepoint(self) -> object:
        """Return the writes so far."""
        return dict(self._staged)

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint."""
        assert isinstance(savepoint, dict)
        self._staged = savepoint

    def commit(self) -> None:
        """Apply the writes."""
        for name, value in self._staged.items():
            self._apply(name, value)
        self._staged = {}

    def close(self) -> None:
        """Refuse every later use."""
        self._alive = False


class FunctionMapping(StagedMapping):
    """A staged mapping over functions; what tests and the SPANK environments use."""

    __slots__ = ("_functions",)

    def __init__(
        self,
        load: Callable[[str], str | None],
        names: Callable[[], Iterable[str]],
        apply: Callable[[str, str | None], None],
    ) -> None:
        """Take the three functions that :class:`StagedMapping` needs."""
        super().__init__()
        self._functions = (load, names, apply)

    def _load(self, name: str) -> str | None:
        return self._functions[0](name)

    def _names(self) -> Iterable[str]:
        return self._functions[1]()

    def _apply(self, name: str, value: str | None) -> None:
        self._functions[2](name, value)
