# SPDX-License-Identifier: GPL-2.0-or-later
"""What a row of fields.py means: how a member of a C struct is read and written.

A row is a class attribute, so that type checkers know the field. :func:`bind` makes the class that a process uses: for
each row whose member the release at hand has, a property with the member's offset already resolved.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from slurmhooks.values import ENCODING, ERRORS, INFINITE, NO_VAL, UNLIMITED, Unlimited, number_to_c, text_to_c

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


class Backend(Protocol):
    """How raw values get in and out of a struct: compiled (native.py) or a stand-in (testing)."""

    def has(self, path: str) -> bool:
        """Tell whether the struct has a member."""

    def string(self, pointer: Any, /) -> bytes:
        """Return the bytes of a text member that is set."""

    def write_text(self, struct: Any, member: str, raw: bytes | None) -> None:
        """Replace a text member."""


MEM_PER_CPU = 1 << 63
"""slurm.h: the bit of pn_min_memory that makes it a value for each CPU."""
NICE_OFFSET = 1 << 31
"""slurm.h: what nice and site_factor are stored above."""


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

    def decode(self, backend: Backend) -> Callable[[Any], Value | None]:
        """Return the function from a raw value to what a handler sees."""
        raise NotImplementedError

    def encode(self, value: object) -> Any:
        """Return the raw value of what a handler wrote; raises what values.py raises."""
        raise NotImplementedError

    def write(self, backend: Backend, struct: Any, member: str, raw: Any) -> None:
        """Put a raw value into the struct."""
        setattr(struct, member, raw)

    if TYPE_CHECKING:

        def __get__(self, view: object, owner: type | None = None) -> Value | None:
            """Return the value; None is unset."""

        def __set__(self, view: object, value: Value | None) -> None:
            """Stage a value."""


class Text(Field["str"]):
    """A ``char *``: None is a null pointer."""

    __slots__ = ()

    def decode(self, backend: Backend) -> Callable[[Any], str | None]:
        """See Field."""
        string = backend.string

        def decode(raw: Any) -> str | None:
            if not raw:
                return None if raw != b"" else ""
            return (raw if type(raw) is bytes else string(raw)).decode(ENCODING, ERRORS)

        return decode

    def encode(self, value: object) -> bytes | None:
        """See Field."""
        return None if value is None else text_to_c(self.name, value)

    def write(self, backend: Backend, struct: Any, member: str, raw: bytes | None) -> None:
        """See Field."""
        backend.write_text(struct, member, raw)


class Number(Field["int | Unlimited"]):
    """An unsigned integer of which two values mean unset and unlimited."""

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

    def decode(self, backend: Backend) -> Callable[[Any], int | Unlimited | None]:
        """See Field."""
        no_val, infinite = NO_VAL[self.bits], INFINITE[self.bits]

        def decode(raw: int) -> int | Unlimited | None:
            if raw < no_val:
                return raw
            return UNLIMITED if raw == infinite else None

        return decode

    def encode(self, value: object) -> int:
        """See Field."""
        return number_to_c(self.name, value, self.bits)


class Plain(Number):
    """An integer whose every value is a number: times, counters, flags."""

    __slots__ = ()

    def decode(self, backend: Backend) -> Callable[[Any], int]:
        """See Field."""
        return int

    def encode(self, value: object) -> int:
        """See Field."""
        if not isinstance(value, int):
            raise TypeError(f"{self.name} takes an int, not {value!r}")
        if not 0 <= value < 1 << self.bits:
            raise ValueError(f"{self.name} takes 0 to {(1 << self.bits) - 1}, not {value}")
        return int(value)


class Offset(Number):
    """A signed number that Slurm stores above ``NICE_OFFSET``."""

    __slots__ = ()

    def decode(self, backend: Backend) -> Callable[[Any], int | None]:
        """See Field."""
        no_val = NO_VAL[32]

        def decode(raw: int) -> int | None:
            return None if raw == no_val else raw - NICE_OFFSET

        return decode

    def encode(self, value: object) -> int:
        """See Field."""
        if value is None:
            return NO_VAL[32]
        limit = NICE_OFFSET - 3
        if not isinstance(value, int):
            raise TypeError(f"{self.name} takes an int or None, not {value!r}")
        if not -limit <= value <= limit:
            raise ValueError(f"{self.name} takes {-limit} to {limit}, not {value}")
        return value + NICE_OFFSET


class Memory(Number):
    """One of the two meanings of pn_min_memory, told apart by a bit; None when it has the other."""

    __slots__ = ("flag",)

    def __init__(self, doc: str, *, per_cpu: bool) -> None:
        """Say which of the two it is."""
        super().__init__(64, doc, unit="MiB", member="pn_min_memory")
        self.flag = MEM_PER_CPU if per_cpu else 0

    def decode(self, backend: Backend) -> Callable[[Any], int | Unlimited | None]:
        """See Field."""
        flag, no_val = self.flag, NO_VAL[64]

        def decode(raw: int) -> int | Unlimited | None:
            if raw == no_val or (raw & MEM_PER_CPU) != flag:
                return None
            return raw & ~MEM_PER_CPU

        return decode

    def encode(self, value: object) -> int:
        """See Field."""
        if value is None:
            return NO_VAL[64]
        if not isinstance(value, int):
            raise TypeError(f"{self.name} takes an int or None, not {value!r}")
        limit = NO_VAL[64] & ~MEM_PER_CPU  # with the flag, the two above would mean unset and unlimited
        if not 0 <= value < limit:
            raise ValueError(f"{self.name} takes 0 to {limit - 1} or None, not {value}")
        return value | self.flag


def rows(view: type) -> dict[str, Field[Any]]:
    """Return the rows of a class and its bases, by name."""
    return {
        name: row for base in reversed(view.__mro__) for name, row in vars(base).items() if isinstance(row, Field)
    }


def bind(view: type, backend: Backend) -> type:
    """Return the class whose fields read and write the structs of a backend.

    The class's instances hold the struct in ``_struct`` and staged raw values, by member, in ``_writes``. Rows without
    a member in this release are left out; ``view.__getattr__`` explains them.
    """
    bound: dict[str, Any] = {"__slots__": (), "__doc__": view.__doc__}
    setters: dict[str, Any] = {}
    writers: dict[str, Any] = {}
    missing: dict[str, Field[Any]] = {}
    for name, row in rows(view).items():
        member = next((path for path in row.members if backend.has(path)), None)
        if member is None:
            missing[name] = row
            bound[name] = _Missing()
            continue
        decode = row.decode(backend)
        bound[name] = property(_getter(member, _unless_null(decode) if "." in member else decode), doc=row.doc)
        setters[name] = _setter(member, row) if row.writable else _read_only(row)
        writers[member] = _writer(member, row, backend)
    bound.update(_setters=setters, _writers=writers, _missing=missing)
    return type(view.__name__, (view,), bound)


class _Missing:
    """Makes an attribute look as if it did not exist, so that ``__getattr__`` explains it."""

    __slots__ = ()

    def __get__(self, view: object, owner: type | None = None) -> None:
        raise AttributeError


def _reader(member: str) -> Callable[[Any], Any]:
    if "." not in member:
        return attrgetter(member)
    first, rest = member.split(".", 1)
    outer, inner = attrgetter(first), _reader(rest)

    def read(struct: Any) -> Any:
        nested = outer(struct)
        return inner(nested) if nested else None

    return read


def _unless_null(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Have a member of a struct that is not there read as unset."""
    return lambda raw: None if raw is None else decode(raw)


def _getter(member: str, decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    read = _reader(member)

    def get(self: Any) -> Any:
        writes = self._writes
        if member in writes:
            return decode(writes[member])
        return decode(read(self._struct))

    return get


def _setter(member: str, row: Field[Any]) -> Callable[[Any, object], None]:
    encode = row.encode

    def stage(self: Any, value: object) -> None:
        self._writes[member] = encode(value)

    return stage


def _read_only(row: Field[Any]) -> Callable[[Any, object], None]:
    def refuse(self: Any, value: object) -> None:
        raise AttributeError(f"{type(self).__name__.lower()}.{row.name} is read-only")

    return refuse


def _writer(member: str, row: Field[Any], backend: Backend) -> Callable[[Any, Any], None]:
    def write(struct: Any, raw: Any) -> None:
        row.write(backend, struct, member, raw)

    return write
