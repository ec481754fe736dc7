# SPDX-License-Identifier: GPL-2.0-or-later
"""What the views that handlers get have in common: staged writes, and an end."""

from __future__ import annotations

from slurmhooks.errors import SlurmhooksError, StaleHandleError
from slurmhooks.values import variable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
else:
    from _collections_abc import MutableMapping  # collections.abc, without the imports of the package collections


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


class StagedMapping(MutableMapping[str, str]):
    """A mutable mapping of text to text whose writes wait until all handlers have passed.

    The base is asked only on use. Subclasses say how to read the base and how to apply one write.

    Attributes:
        _alive: the call is not over.
        _staged: what was written, by name; None is deleted.
    """

    __slots__ = ("_alive", "_staged")

    def __init__(self) -> None:
        """Start without writes."""
        self._alive = True
        self._staged: dict[str, str | None] = {}

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
        variable_size(name, value)

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)

    def _find(self, name: object) -> str | None:
        """Return a value, or None if it is not set; a name that cannot be is not set."""
        self._living()
        if not isinstance(name, str):
            return None
        if name in self._staged:
            return self._staged[name]
        # C would take the name to end at a NUL byte, and find "B=C" of A=B=C under the name A=B.
        return None if not name or "\0" in name or "=" in name else self._load(name)

    def __getitem__(self, name: str) -> str:
        """Return a value; KeyError if it is not set."""
        value = self._find(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: str) -> None:
        """Set a value."""
        self._check(name, value)
        self._staged[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        if self._find(name) is None:
            raise KeyError(name)
        self._staged[name] = None

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is set."""
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Return the names; a copy, so that a loop may delete what it meets."""
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

    def replace(self, values: Mapping[str, str]) -> None:
        """Make the content that of another mapping; nothing changes if it holds what an environment cannot."""
        wanted = dict(values)
        for name, value in wanted.items():
            self._check(name, value)
        for name in self:
            if name not in wanted:
                self._staged[name] = None
        self._staged.update(wanted)

    def __repr__(self) -> str:
        """Return the content, or why there is none."""
        if not self._alive:
            return f"<{type(self).__name__} of a call that is over>"
        try:
            return repr(dict(self))
        except SlurmhooksError as error:  # Slurm does not list every environment
            return f"<{type(self).__name__}: {error}>"

    def savepoint(self) -> object:
        """Return the writes so far."""
        return dict(self._staged)

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint."""
        assert isinstance(savepoint, dict)
        self._staged = savepoint

    def commit(self) -> None:
        """Apply the writes."""
        if not self._staged:
            return
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
