# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of ``fields`` whose members are numbers; see rows.py."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from slurmhooks.fields.rows import ANY_RELEASE, Field, Release
from slurmhooks.values import INFINITE, NO_VAL, UNLIMITED, Unlimited, number_to_c, signed_to_c

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from slurmhooks.fields.facts import Facts

Value = TypeVar("Value")

MEM_PER_CPU = 1 << 63
"""slurm.h: the bit of pn_min_memory that makes it a value for each CPU."""
CORE_SPEC_THREAD = 1 << 15
"""slurm.h: the bit of core_spec that makes it a count of threads."""
NICE_OFFSET = 1 << 31
"""slurm.h: the number that Slurm adds to nice and site_factor when it stores them."""
_DOUBLE = Struct("=d")
_NUMBER = Struct("=Q")
AUTH_NOBODY = 99
"""slurm_auth.h, slurm_protocol_defs.h: the user and group of a request that names none (NO_VAL before 23.02)."""


def _ranged(name: str, least: int, most: int, *, added: int = 0, none: int | None = None) -> Callable[[object], int]:
    """Return an encoder of a range of numbers.

    ``added`` is what Slurm adds to a number when it stores it, ``none`` what it stores for None; without that, None is
    no value.
    """
    what = "an int" if none is None else "an int or None"

    def encode(value: object) -> int:
        if value is None and none is not None:
            return none
        if not isinstance(value, int):
            raise TypeError(f"{name} takes {what}, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"{name} takes {least} to {most}, not {value}")
        return value + added

    return encode


class Sized(Field[Value]):
    """A number with a width in bits."""

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
        **facts: Unpack[Facts],
    ) -> None:
        """Also keep the width of the C member."""
        super().__init__(doc, unit=unit, member=member, writable=writable, since=since, until=until, **facts)
        self.bits = bits

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return self.encoder(ANY_RELEASE)(value), (1 << self.bits) - 1


class Number(Sized[int | Unlimited]):
    """An unsigned integer of which two values mean unset and unlimited."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | Unlimited | None]:
        """See Field."""
        no_val, infinite = NO_VAL[self.bits], INFINITE[self.bits]
        return lambda raw: raw if raw < no_val else UNLIMITED if raw == infinite else None

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name, bits, no_val = self.label, self.bits, NO_VAL[self.bits]

        def encode(value: object) -> int:
            if type(value) is int and 0 <= value < no_val:
                return value
            return number_to_c(name, value, bits)

        return encode


class Switch(Number):
    """A number that means yes or no; slurmctld checks it when it reads its saved state, not when a plugin writes it."""

    __slots__ = ()

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        encode, name = super().encoder(release), self.label

        def encode_switch(value: object) -> int:
            raw = encode(value)
            if value is not None and raw > 1:
                raise ValueError(f"{name} takes 0 or 1, not {value}")
            return raw

        return encode_switch


class Plain(Sized[int]):
    """An unsigned integer whose every value is a number: counters, ports, masks."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int]:
        """See Field."""
        return int

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        return _ranged(self.label, 0, (1 << self.bits) - 1)


class Time(Sized[int]):
    """A ``time_t``; 0 means that no time is given."""

    __slots__ = ()

    def __init__(
        self,
        doc: str,
        *,
        member: str | tuple[str, ...] | None = None,
        writable: bool = True,
        since: str | None = None,
        **facts: Unpack[Facts],
    ) -> None:
        """Store the description; width and unit are always the same."""
        super().__init__(
            64, doc, unit="seconds since the epoch", member=member, writable=writable, since=since, **facts
        )

    def decoder(self) -> Callable[[int], int]:
        """See Field."""
        return lambda raw: raw - (1 << 64) if raw >> 63 else raw

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name = self.label

        def encode(value: object) -> int:
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} takes 0 or more, not {value}")
            return signed_to_c(name, value, 64)

        return encode


class Real(Sized[float | Unlimited]):
    """A ``double``, of which two values mean unset and unlimited; read-only."""

    __slots__ = ()

    def __init__(self, doc: str, *, unit: str = "", member: str | tuple[str, ...] | None = None) -> None:
        """Store the description; the width is always the same."""
        super().__init__(64, doc, unit=unit, member=member, writable=False)

    def decoder(self) -> Callable[[int], float | Unlimited | None]:
        """See Field: Slurm stores its 32-bit NO_VAL and INFINITE in these members."""
        special = {float(NO_VAL[32]): None, float(INFINITE[32]): UNLIMITED}

        def decode(raw: int) -> float | Unlimited | None:
            value: float = _DOUBLE.unpack(_NUMBER.pack(raw))[0]
            return special.get(value, value)

        return decode

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        name = self.label

        def encode(value: object) -> int:
            if value is None or value is UNLIMITED:
                value = (NO_VAL if value is None else INFINITE)[32]
            if not isinstance(value, (int, float)):
                raise TypeError(f"{name} takes a float, UNLIMITED or None, not {value!r}")
            (raw,) = _NUMBER.unpack(_DOUBLE.pack(value))
            return int(raw)

        return encode


class Identity(Sized[int]):
    """The number of a user or group; None in a request that names none, such as most updates of a job."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        none = (NO_VAL[self.bits], AUTH_NOBODY)
        return lambda raw: None if raw in none else raw

    def condition(self, value: object) -> tuple[int, int]:
        """See Field."""
        return number_to_c(self.label, value, self.bits), (1 << self.bits) - 1


class Offset(Sized[int]):
    """A signed number to which Slurm adds ``NICE_OFFSET``."""

    __slots__ = ()

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        return lambda raw: None if raw == NO_VAL[32] else raw - NICE_OFFSET

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        limit = NICE_OFFSET - 3  # NICE_ADJ_MAX of slurm_opt.h: larger numbers would be stored as NO_VAL and INFINITE
        return _ranged(self.label, -limit, limit, added=NICE_OFFSET, none=NO_VAL[32])


class Tagged(Sized[int]):
    """One of two meanings of a member, which its highest bit selects; None if the member has the other meaning."""

    __slots__ = ("tag", "tagged")

    def __init__(
        self,
        bits: int,
        doc: str,
        *,
        member: str | tuple[str, ...],
        tagged: bool,
        unit: str = "",
        writable: bool = True,
        **facts: Unpack[Facts],
    ) -> None:
        super().__init__(bits, doc, unit=unit, member=member, writable=writable, **facts)
        self.tag = 1 << (bits - 1)
        self.tagged = tagged

    def decoder(self) -> Callable[[int], int | None]:
        """See Field."""
        tag, no_val = self.tag, NO_VAL[self.bits]
        # Untagged values are below the tag; NO_VAL and INFINITE are not.
        if not self.tagged:
            return lambda raw: raw if raw < tag else None
        return lambda raw: raw - tag if tag <= raw < no_val else None

    def encoder(self, release: Release) -> Callable[[object], int]:
        """See Field."""
        no_val = NO_VAL[self.bits]
        # The tag with the two highest numbers is NO_VAL and INFINITE.
        if self.tagged:
            return _ranged(self.label, 0, self.tag - 3, added=self.tag, none=no_val)
        return _ranged(self.label, 0, self.tag - 1, none=no_val)
