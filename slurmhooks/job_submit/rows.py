# SPDX-License-Identifier: GPL-2.0-or-later
"""What a row of fields.py means: how a member of a C struct is read and written.

A row is a class attribute, so that type checkers know the field; binding.py makes the properties that a process uses.
Raw values are those of slurmhooks.wire.message: numbers are ints, a text is bytes, texts are a list of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, IntFlag
from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from slurmhooks.values import (
    INFINITE,
    NO_VAL,
    UNLIMITED,
    ExitStatus,
    Unlimited,
    number_to_c,
    signed_to_c,
    text_from_c,
    text_to_c,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container

Value = TypeVar("Value")
Flags = TypeVar("Flags", bound=IntFlag)
Choice = TypeVar("Choice", bound=IntEnum)
Release = tuple[int, int]
"""Of Slurm, year and month."""
Condition = bytes | tuple[int, int]
"""What a raw value has to be: a text, or a number and the bits of it that count."""
ANY_RELEASE = (0, 0)

MEM_PER_CPU = 1 << 63
"""slurm.h: the bit of pn_min_memory that makes it a value for each CPU."""
CORE_SPEC_THREAD = 1 << 15
"""slurm.h: the bit of core_spec that makes it a count of threads."""
NICE_OFFSET = 1 << 31
"""slurm.h: what nice and site_factor are stored above."""
_DOUBLE = Struct("=d")
_NUMBER = Struct("=Q")
AUTH_NOBODY = 99
"""slurm_auth.h, slurm_protocol_defs.h: the user and group of a request that names none (NO_VAL before 23.02)."""


class Field(Generic[Value]):
    """One field of a view.

    Attributes:
        name: the attribute.
        doc: what it is, one line.
        unit: of a number; empty if it has none.
        members: candidates for the C member, the first that exists counts; paths with dots go through structs.
        writable: whether handlers may assign it.
        since: first release that has it, or None for "all that slurmhooks runs on".
        until: last release that has it, or None.
    """

    __slots__ = ("_member", "doc", "members", "name", "since", "unit", "until", "writable")

    bits = 0
    """Width of the C member, for numbers."""

    def __init__(
        self,
        doc: str,
        *,
        unit: str = "",
        member: str | tuple[str, ...] | None = None,
        writable: bool = True,
        since: str | None = None,
        until: str | None = None,
    ) -> None:
        """Keep the description; see the class. The member is the attribute's own name if none is given."""
        self.name = ""
        self.doc = doc
        self.unit = unit
        self._member = member
        self.members: tuple[str, ...] = ()
        self.writable = writable
        self.since = since
        self.until = until

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self.name = name
        member = self._member or name
        self.members = (member,) if isinstance(member, str) else member

    def member(self, release: Release, known: Container[str]) -> str | None:
        """Return the member that the row reads in a release, or None; for a computed row, its name.

        Args:
            release: of Slurm.
            known: the members that the struct has.
        """
        if (self.since and release_of(self.since) > release) or (self.until and release_of(self.until) < release):
            return None
        return next((path for path in self.members if path in known), None)

    def decoder(self) -> Callable[[Any], Value | None]:
        """Return the function from a raw value, other than None, to what a handler sees."""
        raise NotImplementedError

    def encoder(self, release: Release) -> Callable[[object], Any]:
        """Return the function from what a handler writes to a raw value; it raises what values.py raises."""
        raise NotImplementedError

    def merge(self, old: Any, new: Any) -> Any:
        """Return the raw value of the member after a write; rows that are a part of their member differ."""
        return new

    def condition(self, value: object) -> Condition:
        """Return what the raw value is where a handler sees this value: for :meth:`Table.where`.

        Raises:
            TypeError: records cannot be chosen by this field, or not by this value; likewise ValueError.
        """
        raise TypeError(f"records cannot be chosen by {self.name}")

    if TYPE_CHECKING:

        def __get__(self, view: object, owner: type | None = None) -> Value | None:
            """Return the value; None is unset."""

        def __set__(self, view: object, value: Value | None) -> None:
            """Stage a value."""


class Text(Field[str]):
    """A ``char *``: None is a null pointer."""

    __slots__ = ()

    def decoder(self) -> Callable[[bytes], str]:
        """See Field."""
        return text_from_c

    def encoder(self, release: Release) -> Callable[[object], bytes | None]:
        """See Field."""
        name = self.name

        def encode(value: object) -> bytes | None:
            return None if value is None else text_to_c(name, value)

        return encode

    def condition(self, value: object) -> bytes:
        """See Field."""
        return text_to_c(self.name, value)


class Gres(Text):
    """TRES of which the handler may leave out that they are GRES, as in ``gpu:2``."""

    __slots__ = ()

    def encoder(self, release: Release) -> Callable[[object], bytes | None]:
        """See Field: put ``gres/`` (before 23.11 ``gres:``) in front of each name that has it not."""
        encode = super().encoder(release)
        prefix = b"gres/" if release >= (23, 11) else b"gres:"

        def with_prefix(value: object) -> bytes | None:
            raw = encode(value)
            if not raw:
                return raw
            return b",".join(
                item if item.startswith((b"gres/", b"gres:")) else prefix + item for item in raw.split(b",")
            )

        return with_prefix


class Names(Field[list[str]]):
    """A ``char *`` of names with commas between them; read-only. None are an empty list."""

    __slots__ = ()

    def __init__(self, doc: str, *, member: str | tuple[str, ...] | None = None) -> None:
        """Keep the description."""
        super().__init__(doc, member=member, writable=False)

    def decoder(self) -> Callable[[bytes], list[str]]:
        """See Field."""
        return lambda raw: text_from_c(raw).split(",") if raw else []

    def encoder(self, release: Release) -> Callable[[object], bytes]:
        """See Field; for tests, as nobody assigns them."""
        name = self.name

        def encode(value: object) -> bytes:
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise TypeError(f"{name} takes a list of str, not {value!r}")
            return b",".join(text_to_c(name, item) for item in value)

        return encode

    if TYPE_CHECKING:

        def __get__(self, view: object, owner: type | None = None) -> list[str]:
            """Return the names."""


class _Sized(Field[Value]):
    """A number of so many bits."""

    __slots__ = ("bits",)

    def __init__(
        self,
        bits: int,
        doc: str,
        *,
        unit: str = "",
        member: str | tuple[str, ...] | None = None,
        writable: bool = True,
        since: str | None = None,
        until: str | None = None,
    ) -> None:
        """Also keep the width of the C member."""
        super().__init__(doc, unit=unit, member=member, writable=writable, since=since, until=until)
        self.bits = bits

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return self.encoder(ANY_RELEASE)(value), (1 << self.bits) - 1


class Number(_Sized[int | Unlimited]):
    """An unsigned integer of which two values mean unset and unlimited."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | Unlimited | None]:
        """See Field."""
        no_val, infinite = NO_VAL[self.bits], INFINITE[self.bits]
        return lambda raw: raw if raw < no_val else UNLIMITED if raw == infinite else None

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name, bits, no_val = self.name, self.bits, NO_VAL[self.bits]

        def encode(value: object) -> int:
            if type(value) is int and 0 <= value < no_val:
                return value
            return number_to_c(name, value, bits)

        return encode


class Plain(_Sized[int]):
    """An unsigned integer whose every value is a number: counters, ports, masks."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int]:
        """See Field."""
        return int

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name, limit = self.name, 1 << self.bits

        def encode(value: object) -> int:
            if not isinstance(value, int):
                raise TypeError(f"{name} takes an int, not {value!r}")
            if not 0 <= value < limit:
                raise ValueError(f"{name} takes 0 to {limit - 1}, not {value}")
            return int(value)

        return encode


class Time(Field[int]):
    """A ``time_t``; 0 is "none given"."""

    __slots__ = ()

    bits = 64

    def __init__(
        self,
        doc: str,
        *,
        member: str | tuple[str, ...] | None = None,
        writable: bool = True,
        since: str | None = None,
    ) -> None:
        """Keep the description; the unit is always the same."""
        super().__init__(doc, unit="seconds since the epoch", member=member, writable=writable, since=since)

    def decoder(self) -> Callable[[int], int]:
        """See Field."""
        return lambda raw: raw - (1 << 64) if raw >> 63 else raw

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name = self.name

        def encode(value: object) -> int:
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} takes 0 or more, not {value}")
            return signed_to_c(name, value, 64)

        return encode

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return self.encoder(ANY_RELEASE)(value), (1 << self.bits) - 1


class Identity(_Sized[int]):
    """The number of a user or group; None in a request that names none, as most updates of a job."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        none = (NO_VAL[self.bits], AUTH_NOBODY)
        return lambda raw: None if raw in none else raw

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return number_to_c(self.name, value, self.bits), (1 << self.bits) - 1


class Offset(_Sized[int]):
    """A signed number that Slurm stores above ``NICE_OFFSET``."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        return lambda raw: None if raw == NO_VAL[32] else raw - NICE_OFFSET

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name = self.name
        limit = NICE_OFFSET - 3  # NICE_ADJ_MAX of slurm_opt.h: the values beside it are NO_VAL and INFINITE

        def encode(value: object) -> int:
            if value is None:
                return NO_VAL[32]
            if not isinstance(value, int):
                raise TypeError(f"{name} takes an int or None, not {value!r}")
            if not -limit <= value <= limit:
                raise ValueError(f"{name} takes {-limit} to {limit}, not {value}")
            return value + NICE_OFFSET

        return encode


class Tagged(_Sized[int]):
    """One of two meanings of a member, told apart by its highest bit; None when the member has the other one."""

    __slots__ = ("tag", "tagged")

    def __init__(
        self, bits: int, doc: str, *, member: str | tuple[str, ...], tagged: bool, unit: str = "", writable: bool = True
    ) -> None:
        """Say which of the two it is."""
        super().__init__(bits, doc, unit=unit, member=member, writable=writable)
        self.tag = 1 << (bits - 1)
        self.tagged = tagged

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        tag, no_val = self.tag, NO_VAL[self.bits]
        # Untagged values are below the tag, NO_VAL and INFINITE are not.
        if not self.tagged:
            return lambda raw: raw if raw < tag else None
        return lambda raw: raw - tag if tag <= raw < no_val else None

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name, no_val = self.name, NO_VAL[self.bits]
        limit = self.tag - 2 if self.tagged else self.tag
        tag = self.tag if self.tagged else 0

        def encode(value: object) -> int:
            if value is None:
                return no_val
            if not isinstance(value, int):
                raise TypeError(f"{name} takes an int or None, not {value!r}")
            if not 0 <= value < limit:
                raise ValueError(f"{name} takes 0 to {limit - 1}, not {value}")
            return value | tag

        return encode


class _Enumerated(_Sized[Value]):
    """Numbers with names. Numbers without one stay numbers."""

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
    ) -> None:
        """Describe the field.

        Args:
            bits: width of the C member.
            kind: the enumeration.
            doc: what it is.
            member: see Field.
            mask: the part of the member that it is, if it is not all of it.
            optional: NO_VAL means unset; else it is a number as others.
            writable: see Field.
            since: see Field.
            until: see Field.
        """
        super().__init__(bits, doc, member=member, writable=writable, since=since, until=until)
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
        made = self._make(raw)
        if len(self) < 4096:  # what users can choose must not grow slurmctld
            self[raw] = made
        return made


class Flag(_Enumerated[Flags]):
    """A set of flags."""

    __slots__ = ()

    def _named(self) -> dict[int, Any]:
        return _Cache(self.kind)


class OneOf(_Enumerated[Choice]):
    """One of several values."""

    __slots__ = ()

    def _named(self) -> dict[int, Any]:
        known: dict[int, Any] = dict(self.kind._value2member_map_)
        return _Cache(lambda raw: known.get(raw, raw))


class Bit(Field[bool]):
    """One bit of a member; read-only."""

    __slots__ = ("bit",)

    def __init__(self, bit: int, doc: str, *, member: str | tuple[str, ...]) -> None:
        """Say which bit it is."""
        super().__init__(doc, member=member, writable=False)
        self.bit = bit

    def decoder(self) -> Callable[[int], bool]:
        """See Field."""
        bit = int(self.bit)
        return lambda raw: raw & bit != 0

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return (int(self.bit) if value else 0), int(self.bit)


class Real(_Sized[float | Unlimited]):
    """A ``double``, of which two values mean unset and unlimited; read-only."""

    __slots__ = ()

    def __init__(self, doc: str, *, unit: str = "", member: str | tuple[str, ...] | None = None) -> None:
        """Keep the description; the width is always the same."""
        super().__init__(64, doc, unit=unit, member=member, writable=False)

    def decoder(self) -> Callable[[int], float | Unlimited | None]:
        """See Field: Slurm assigns its numbers of 32 bits."""
        special = {float(NO_VAL[32]): None, float(INFINITE[32]): UNLIMITED}

        def decode(raw: int) -> float | Unlimited | None:
            value: float = _DOUBLE.unpack(_NUMBER.pack(raw))[0]
            return special.get(value, value)

        return decode

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name = self.name

        def encode(value: object) -> int:
            if value is None or value is UNLIMITED:
                value = (NO_VAL if value is None else INFINITE)[32]
            if not isinstance(value, (int, float)):
                raise TypeError(f"{name} takes a float, UNLIMITED or None, not {value!r}")
            (raw,) = _NUMBER.unpack(_DOUBLE.pack(value))
            return int(raw)

        return encode


class Truth(Field[bool]):
    """A ``bool``; read-only."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], bool]:
        """See Field."""
        return bool

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return int(bool(value)), 0xFF


class Status(Field[ExitStatus]):
    """How a job ended; read-only."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], ExitStatus | None]:
        """See Field."""
        return lambda raw: ExitStatus(raw) if raw < NO_VAL[32] else None


SLUID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def sluid_text(raw: int) -> str:
    """Return a SLUID as Slurm's tools print it: "s" and thirteen digits of five bits."""
    return "s" + "".join(SLUID_DIGITS[raw >> shift & 31] for shift in range(60, -1, -5))


class Sluid(Field[str]):
    """A job's id that is never used again; read-only."""

    __slots__ = ()

    def __init__(self, doc: str, *, member: str, since: str) -> None:
        """Keep the description."""
        super().__init__(doc, member=member, writable=False, since=since)

    def decoder(self) -> Callable[[int], str | None]:
        """See Field."""
        return lambda raw: sluid_text(raw) if raw else None


class Strings(Field[list[str]]):
    """An array of texts with a counter beside it; read-only, a copy."""

    __slots__ = ("count",)

    def __init__(self, doc: str, *, member: str, count: str) -> None:
        """Say which member is the counter."""
        super().__init__(doc, member=member, writable=False)
        self.count = count

    def decoder(self) -> Callable[[list[bytes]], list[str]]:
        """See Field."""
        return lambda raw: [text_from_c(item) for item in raw]


class Computed(Field[Value]):
    """What slurmctld or the name service knows, asked for on use; read-only."""

    __slots__ = ("private",)

    def __init__(self, kind: type[Value], doc: str, *, private: bool = True, since: str | None = None) -> None:
        """Describe the field.

        Args:
            kind: what it returns.
            doc: what it is.
            private: only where the build had Slurm's sources.
            since: see Field.
        """
        del kind  # for type checkers
        super().__init__(doc, writable=False, since=since)
        self.private = private

    def member(self, release: Release, known: Container[str]) -> str | None:
        """See Field: no member has it, and all releases since the first one do."""
        return super().member(release, self.members)


def rows(view: type) -> dict[str, Field[Any]]:
    """Return the rows of a class and its bases, by name."""
    return {name: row for base in reversed(view.__mro__) for name, row in vars(base).items() if isinstance(row, Field)}


def release_of(text: str) -> Release:
    """Return the numbers of a release such as "24.11" or "24.11.5"."""
    year, month = text.split(".")[:2]
    return int(year), int(month)
