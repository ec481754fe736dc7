# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the package fields: each says how a member of a C struct is read and written.

A row is a class attribute; classes.py makes the properties that a process uses. Type checkers and editors use the stubs
in stubs/, which tools/make_stubs.py writes. Raw values are those of slurmhooks.wire.message: numbers are ints, a text
is bytes, texts are a list of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from slurmhooks.values import (
    ENCODING,
    ERRORS,
    NO_VAL,
    ExitStatus,
    text_from_c,
    text_to_c,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from typing import Unpack

    from slurmhooks.fields.facts import Facts

Value = TypeVar("Value")
Release = tuple[int, int]
"""A release of Slurm: year and month."""
Condition = bytes | tuple[int, int]
"""A condition on a raw value: the text that it equals, or a number with a mask of the bits to compare."""
ANY_RELEASE = (0, 0)
NEWEST: Release = (26, 5)
"""The newest release that slurmhooks supports; without Slurm, hooks and scripts run as in this one."""


class Field(Generic[Value]):
    """One field of a view.

    Attributes:
        name: the attribute.
        doc: its description, in one line.
        unit: of a number; empty if it has none.
        members: candidates for the C member, of which the first that exists is used; paths with dots go through
            structs.
        writable: whether handlers may assign it.
        since: first release that has it, or None if all supported releases do.
        until: last release that has it, or None.
        facts: what is true of it for others than its view; see slurmhooks.fields.facts.
    """

    __slots__ = ("_member", "doc", "facts", "members", "name", "since", "unit", "until", "writable")

    bits = 0
    """Width of the C member, for numbers."""
    holds_text = False
    """Whether the values can hold a text of the user, such as a password."""

    def __init__(
        self,
        doc: str,
        *,
        unit: str = "",
        member: str | tuple[str, ...] | None = None,
        writable: bool = True,
        since: str | None = None,
        until: str | None = None,
        **facts: Unpack[Facts],
    ) -> None:
        """Store the description; see the class. By default, the member has the name of the attribute."""
        self.name = ""
        self.doc = doc
        self.unit = unit
        self._member = member
        self.members: tuple[str, ...] = ()
        self.writable = writable
        self.since = since
        self.until = until
        self.facts = facts

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name.

        Raises:
            TypeError: the row lacks a fact that its view asks for in ``ASKED_FOR``.
        """
        for fact in getattr(owner, "ASKED_FOR", ()):
            if fact not in self.facts and (fact != "secret" or self.holds_text):
                raise TypeError(f"{owner.__name__}.{name} needs {fact}=: see Facts in slurmhooks/fields/facts.py")
        self.name = name
        member = self._member or name
        self.members = (member,) if isinstance(member, str) else member

    @property
    def names_in_record(self) -> tuple[str, ...]:
        """The names that a field of a request has in the record of the job."""
        return self.facts.get("in_record", (self.name,))

    @property
    def label(self) -> str:
        """The name with the unit, for errors."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def member(self, release: Release, present: Container[str]) -> str | None:
        """Return the member that the row reads in a release, or None; for a computed row, its name."""
        if (self.since and release_of(self.since) > release) or (self.until and release_of(self.until) < release):
            return None
        return next((path for path in self.members if path in present), None)

    def decoder(self) -> Callable[[Any], Value | None]:
        """Return the function that converts a raw value, other than None, to the value that a handler sees."""
        raise NotImplementedError

    def encoder(self, release: Release) -> Callable[[object], Any]:
        """Return the function that converts what a handler writes to a raw value; it raises what values.py raises."""
        raise NotImplementedError

    def merge(self, old: Any, new: Any) -> Any:
        """Return the raw value of the member after a write; overridden by rows that are only a part of their member."""
        return new

    def condition(self, value: object) -> Condition:
        """Return the condition on the raw value under which a handler sees this value; for :meth:`Table.where`.

        Raises:
            TypeError: records cannot be selected by this field, or the value has the wrong type.
            ValueError: records cannot be selected by this value.
        """
        raise TypeError(f"records cannot be filtered by {self.name}")


class Text(Field[str]):
    """A ``char *``: None is a null pointer."""

    __slots__ = ()

    holds_text = True

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


class Lowered(Text):
    """A name that slurmctld converts to lower case after its plugins have run, so a handler sees it like that."""

    __slots__ = ()

    def decoder(self) -> Callable[[bytes], str]:
        """See Field; only ASCII letters have a lower case, as in xstrtolower() of Slurm."""
        return lambda raw: raw.lower().decode(ENCODING, ERRORS)

    def encoder(self, release: Release) -> Callable[[object], bytes | None]:
        """See Field."""
        encode = super().encoder(release)

        def lower(value: object) -> bytes | None:
            raw = encode(value)
            return None if raw is None else raw.lower()

        return lower

    def merge(self, old: Any, new: Any) -> Any:
        """See Field: the present name in another case is no change."""
        return old if old is not None and new is not None and old.lower() == new else new


EMPTY_ITEMS = frozenset({b"", b"gres", b"gres/", b"gres:", b"license", b"license/"})
"""Items of a list of TRES in which Slurm finds none; clients send ``gres/`` for ``--gres=``."""


class Tres(Text):
    """A list of TRES, which a handler may write in the notation of any release."""

    __slots__ = ()

    def decoder(self) -> Callable[[bytes], str]:
        """See Field: a list without an item reads as the empty text."""
        return lambda raw: "" if EMPTY_ITEMS.issuperset(raw.split(b",")) else text_from_c(raw)

    def encoder(self, release: Release) -> Callable[[object], bytes | None]:
        """See Field: before 23.11, write ``gres/gpu:a100=2`` as ``gres:gpu:a100:2``, which older releases read."""
        encode = super().encoder(release)
        if release >= (23, 11):
            return encode

        def with_colons(value: object) -> bytes | None:
            raw = encode(value)
            return raw and _with_colons(raw)

        return with_colons


def _with_colons(raw: bytes) -> bytes:
    """Return a list of TRES in the notation of older releases, in which only GRES differ."""
    return b",".join(
        b"gres:" + item[len(b"gres/") :].replace(b"=", b":") if item.startswith((b"gres/", b"gres:")) else item
        for item in raw.split(b",")
    )


class Gres(Tres):
    """GRES, which a handler may write without their prefix, as in ``gpu:2``."""

    __slots__ = ()

    def encoder(self, release: Release) -> Callable[[object], bytes | None]:
        """See Field: put ``gres/`` (before 23.11 ``gres:``) in front of each name that lacks it."""
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
    """A ``char *`` of names with commas between them; read-only. NULL is an empty list."""

    __slots__ = ()

    def __init__(self, doc: str, *, member: str | tuple[str, ...] | None = None) -> None:
        super().__init__(doc, member=member, writable=False)

    def decoder(self) -> Callable[[bytes], list[str]]:
        """See Field."""
        return lambda raw: text_from_c(raw).split(",") if raw else []

    def encoder(self, release: Release) -> Callable[[object], bytes]:
        """See Field; only for tests, because the field is read-only."""
        name = self.name

        def encode(value: object) -> bytes:
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise TypeError(f"{name} takes a list of str, not {value!r}")
            return b",".join(text_to_c(name, item) for item in value)

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


def sluid_number(text: str) -> int:
    """Return the number of a SLUID; the inverse of :func:`sluid_text`.

    Raises:
        ValueError: the text is not a SLUID.
    """
    digits = text.removeprefix("s")
    if len(digits) != 13 or len(text) != 14 or not set(digits) <= set(SLUID_DIGITS):
        raise ValueError(f"not a SLUID: {text!r}")
    number = 0
    for digit in digits:
        number = number << 5 | SLUID_DIGITS.index(digit)
    return number


class Sluid(Field[str]):
    """A job's id that is never used again; read-only."""

    __slots__ = ()

    def __init__(self, doc: str, *, member: str, since: str, **facts: Unpack[Facts]) -> None:
        super().__init__(doc, member=member, writable=False, since=since, **facts)

    def decoder(self) -> Callable[[int], str | None]:
        """See Field."""
        return lambda raw: sluid_text(raw) if raw else None


class Strings(Field[list[str]]):
    """An array of texts with a counter beside it; read-only, a copy."""

    __slots__ = ("count",)

    holds_text = True

    def __init__(self, doc: str, *, member: str, count: str, **facts: Unpack[Facts]) -> None:
        super().__init__(doc, member=member, writable=False, **facts)
        self.count = count

    def decoder(self) -> Callable[[list[bytes]], list[str]]:
        """See Field."""
        return lambda raw: [text_from_c(item) for item in raw]


class Computed(Field[Value]):
    """A fact that slurmctld or the name service knows, which is looked up on use; read-only."""

    __slots__ = ("holds_text", "kind", "private")

    def __init__(self, kind: type[Value], doc: str, *, private: bool = True, **facts: Unpack[Facts]) -> None:
        """Describe the field; a private one exists only if the build had Slurm's sources."""
        self.kind = kind  # for stubs and documentation
        self.holds_text = kind is str
        super().__init__(doc, writable=False, **facts)
        self.private = private

    def member(self, release: Release, present: Container[str]) -> str | None:
        """See Field: the row has no member; all releases since the first one have it."""
        return super().member(release, self.members)


def rows(view: type) -> Mapping[str, Field[Any]]:
    """Return the rows of a class and its bases, by name, without those that a method of a subclass replaces."""
    return _rows(view)


@cache  # a function of its own, because type checkers do not take every class for hashable
def _rows(view: Any) -> Mapping[str, Field[Any]]:
    result: dict[str, Field[Any]] = {}
    for base in reversed(view.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, Field):
                result[name] = value
            elif isinstance(value, FunctionType):
                result.pop(name, None)
    return result


def stored(view: type, release: Release, present: Container[str]) -> Iterator[tuple[Field[Any], str]]:
    """Yield the rows of a class that a struct has, in a release, each with its member; see :meth:`Field.member`."""
    for row in rows(view).values():
        member = None if isinstance(row, Computed) else row.member(release, present)
        if member is not None:
            yield row, member


@cache
def release_of(text: str) -> Release:
    """Return the numbers of a release such as "24.11" or "24.11.5"."""
    year, month = text.split(".")[:2]
    return int(year), int(month)
