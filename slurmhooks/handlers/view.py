# SPDX-License-Identifier: GPL-2.0-or-later
"""The common part of all views: writes are staged, and a view is valid only during the call that it was made for."""

from __future__ import annotations

from slurmhooks.errors import SlurmhooksError, StaleHandleError
from slurmhooks.values import variable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableMapping
    from typing import Any, Self
else:
    from _collections_abc import (
        Mapping,
        MutableMapping,
    )  # collections.abc, without the imports of the package collections


def stale(view: object) -> StaleHandleError:
    """Return the error for using a view after its call."""
    return StaleHandleError(
        f"this {type(view).__name__} was used after the call that it was made for; keep the values, not the view"
    )


class OfACall:
    """What a handler may use only during the call that it was made for."""

    __slots__ = ()

    _alive: bool

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)


class StagedMapping(OfACall, MutableMapping[str, str]):
    """A mutable mapping of text to text that stages its writes over a base.

    Subclasses read the base, and apply a write to it. The base is read only when a handler reads the mapping.

    Attributes:
        _alive: the call is not over.
        _staged: the writes by name; None deletes.
    """

    __slots__ = ("_alive", "_staged")

    def __init__(self) -> None:
        self._alive = True
        self._staged: dict[str, str | None] = {}

    def _load(self, name: str) -> str | None:
        """Return a value of the base; None if it is not set."""
        raise NotImplementedError

    def _names(self) -> Iterable[str]:
        """Return the names of the base."""
        raise NotImplementedError

    def _apply(self, name: str, value: str | None) -> None:
        """Write a value to the base; None deletes it."""
        raise NotImplementedError

    def _check(self, name: object, value: object = "") -> None:
        """Raise TypeError or ValueError for a name or value that an environment cannot hold."""
        self._living()
        variable_size(name, value)

    if not TYPE_CHECKING:  # Mapping has the types

        def get(self, name, default=None):
            """Return a value; the default if it is not set, or if no variable can have the name."""
            if not self._alive:
                raise stale(self)
            if not isinstance(name, str):
                return default
            if name in self._staged:
                value = self._staged[name]
            else:
                # C would end the name at a NUL byte, and for A=B=C it would return "C" under the name A=B.
                value = None if not name or "\0" in name or "=" in name else self._load(name)
            return default if value is None else value

    def __getitem__(self, name: str) -> str:
        """Return a value; KeyError if it is not set."""
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: str) -> None:
        """Set a value."""
        self._check(name, value)
        self._staged[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        if self.get(name) is None:
            raise KeyError(name)
        self._staged[name] = None

    def __contains__(self, name: Any) -> bool:
        """Tell whether a name is set."""
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Iterate over a copy of the names, so that a loop may delete some."""
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
        """Replace the whole content by that of another mapping; if that is invalid, change nothing."""
        if values is self:  # an assignment with |= ends with this call
            return
        wanted = dict(values)
        for name, value in wanted.items():
            self._check(name, value)
        for name in self:
            if name not in wanted:
                self._staged[name] = None
        self._staged.update(wanted)

    def clear(self) -> None:
        """Delete all names. The inherited method would list them once for each name."""
        self.replace({})

    def copy(self) -> dict[str, str]:
        """Return the content as a dictionary, which stays valid after the call."""
        return dict(self)

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:
        """Return a dictionary with the content of both; where they differ, the other one wins."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {**self, **other}

    def __ror__(self, other: Mapping[str, str]) -> dict[str, str]:
        """Return a dictionary with the content of both; where they differ, this one wins."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {**other, **self}

    def __ior__(self, other: Mapping[str, str]) -> Self:
        """Set all variables of another mapping; if one is invalid, set none."""
        if not isinstance(other, Mapping):
            return NotImplemented
        wanted = dict(other)
        for name, value in wanted.items():
            self._check(name, value)
        self._staged.update(wanted)
        return self

    def __repr__(self) -> str:
        """Return the content, or the reason why it cannot be read."""
        if not self._alive:
            return f"<{type(self).__name__} of a call that is over>"
        try:
            return repr(dict(self))
        except SlurmhooksError as error:  # some environments cannot be listed
            return f"<{type(self).__name__}: {error}>"

    def savepoint(self) -> object:
        """Return the staged writes."""
        return self._staged.copy()

    def rollback(self, savepoint: object) -> None:
        """Discard the writes since a savepoint."""
        assert isinstance(savepoint, dict)
        self._staged = dict(savepoint)  # a copy: the savepoint may be needed again

    def commit(self) -> None:
        """Apply the staged writes to the base."""
        if not self._staged:
            return
        for name, value in self._staged.items():
            self._apply(name, value)
        self._staged = {}

    def close(self) -> None:
        """Make every later use raise StaleHandleError."""
        self._alive = False
