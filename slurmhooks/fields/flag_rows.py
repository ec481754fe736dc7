# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of ``fields`` whose members are numbers with names, or bits; see rows.py."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, TypeVar

from slurmhooks.fields.number_rows import Sized
from slurmhooks.fields.rows import Field, Release
from slurmhooks.values import NO_VAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from slurmhooks.fields.facts import Facts

Value = TypeVar("Value")
Flags = TypeVar("Flags", bound=IntFlag)
Choice = TypeVar("Choice", bound=IntEnum)


class Enumerated(Sized[Value]):
    """Numbers with names. Numbers without a name stay numbers."""

    __slots__ = ("kind", "mask", "optional")

    kind: type[Any]

    def __init__(
        self,
        bits: int,
        kind: type[Value],
        doc: str,
        *,
        member: str | tuple[str, ...] | None = None,
        mask: int | None = None,
        optional: bool = True,
        writable: bool = True,
        since: str | None = None,
        until: str | None = None,
        **facts: Unpack[Facts],
    ) -> None:
        """Describe the field.

        ``bits`` is the width of the C member; ``mask`` has those that belong to the field, by default all.
        ``optional``: NO_VAL means unset; otherwise NO_VAL is an ordinary number. For the others see Field.
        """
        super().__init__(bits, doc, member=member, writable=writable, since=since, until=until, **facts)
        self.kind = kind
        self.mask = mask
        self.optional = optional

    def decoder(self) -> Callable[[int], Value | None]:
        """See Field."""
        named = self._named()
        mask = (1 << self.bits) - 1 if self.mask is None else self.mask
        if not self.optional:
            return lambda raw: named[raw & mask]
        no_val = NO_VAL[self.bits]
        return lambda raw: named[raw & mask] if raw != no_val else None

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        raw, every = super().condition(value)
        return raw, every if self.mask is None else self.mask

    def _named(self) -> dict[int, Any]:
        """Return a mapping from every number to what a handler sees."""
        raise NotImplementedError

    def merge(self, old: Any, new: Any) -> Any:
        """See Field."""
        if self.mask is None or new == NO_VAL[self.bits]:
            return new
        return (0 if old == NO_VAL[self.bits] else old & ~self.mask) | new

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name, no_val, optional = self.name, NO_VAL[self.bits], self.optional
        largest = (1 << self.bits) - 1 if self.mask is None else self.mask
        what = f"{self.kind.__name__} or None" if optional else self.kind.__name__

        def encode(value: object) -> int:
            if value is None and optional:
                return no_val
            if not isinstance(value, int):
                raise TypeError(f"{name} takes {what}, not {value!r}")
            if not 0 <= value <= largest or value & ~largest or (optional and value == no_val):
                raise ValueError(f"{name} takes {what}, as a number 0 to {largest}; not {value!r}")
            return int(value)

        return encode


class _Cache(dict[int, Any]):
    """A mapping from numbers to named ones, filled on use."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, raw: int) -> Any:
        value = self._make(raw)
        if len(self) < 4096:  # values that users can choose must not let the cache grow without limit
            self[raw] = value
        return value


class Flag(Enumerated[Flags]):
    """A set of flags."""

    __slots__ = ()

    def _named(self) -> dict[int, Any]:
        return _Cache(self.kind)


class OneOf(Enumerated[Choice]):
    """One of several values."""

    __slots__ = ()

    def _named(self) -> dict[int, Any]:
        members: dict[int, Any] = dict(self.kind._value2member_map_)
        return _Cache(lambda raw: members.get(raw, raw))


class Bit(Field[bool]):
    """One bit of a member; read-only."""

    __slots__ = ("bit",)

    def __init__(self, bit: int, doc: str, *, member: str | tuple[str, ...], **facts: Unpack[Facts]) -> None:
        super().__init__(doc, member=member, writable=False, **facts)
        self.bit = bit

    def decoder(self) -> Callable[[int], bool]:
        """See Field."""
        bit = int(self.bit)
        return lambda raw: raw & bit != 0

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return (int(self.bit) if value else 0), int(self.bit)
