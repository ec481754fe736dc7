# SPDX-License-Identifier: GPL-2.0-or-later
"""What a row of fields.py means: how a member of a C struct is read and written.

A row is a class attribute, so that type checkers know the field. :func:`bind` makes the class that a process uses: for
each row whose member the release at hand has, a property. Its getter is written out as Python source and compiled,
because slurmctld answers nobody while a handler reads: a getter without calls of its own is three times as fast.
"""

from __future__ import annotations

import linecache
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from slurmhooks.values import (
    ENCODING,
    ERRORS,
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
    from collections.abc import Callable, Mapping

    Names = Mapping[str, Any]
    """What the source of an expression refers to, by name."""

Value = TypeVar("Value")
View = TypeVar("View")
Flags = TypeVar("Flags", bound=IntFlag)
Choice = TypeVar("Choice", bound=IntEnum)


class Backend(Protocol):
    """How raw values get in and out of a struct: compiled (native.py) or a stand-in (testing).

    Attributes:
        release: of Slurm, year and month.
    """

    release: tuple[int, int]

    def has(self, path: str) -> bool:
        """Tell whether the struct has a member."""

    def string(self, pointer: Any, /) -> bytes:
        """Return the bytes of a text member that is set; one that is not set is false, as NULL is."""

    def write_text(self, struct: Any, member: str, raw: bytes | None) -> None:
        """Replace a text member."""

    def strings(self, struct: Any, member: str, count: str) -> list[bytes]:
        """Return the strings of an array member, of which another member is the count."""

    def computed(self, name: str) -> Callable[[Any], Any] | None:
        """Return the function from a view to a computed field, or None if this build has it not."""

    def compiled(self, row: Field[Any], member: str) -> Any:
        """Return the compiled descriptor of a row, or None if it has to be one in Python."""


MEM_PER_CPU = 1 << 63
"""slurm.h: the bit of pn_min_memory that makes it a value for each CPU."""
CORE_SPEC_THREAD = 1 << 15
"""slurm.h: the bit of core_spec that makes it a count of threads."""
NICE_OFFSET = 1 << 31
"""slurm.h: what nice and site_factor are stored above."""
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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """Return the source of an expression from ``raw`` to what a handler sees, and the names that it uses."""
        raise NotImplementedError

    def staged(self, backend: Backend) -> tuple[str, Names]:
        """Return the same for what :meth:`encode` returned."""
        return self.expression(backend)

    def encoder(self, backend: Backend) -> Callable[[object], Any]:
        """Return the function from what a handler writes to a raw value; it raises what values.py raises."""
        raise NotImplementedError

    def merge(self, old: Any, new: Any) -> Any:
        """Return the raw value of the member after a write; rows that are a part of their member differ."""
        return new

    def writer(self, backend: Backend, member: str) -> Callable[[Any, Any], None]:
        """Return the function that puts a raw value into a struct."""

        def write(struct: Any, raw: Any) -> None:
            setattr(struct, member, raw)

        return write

    if TYPE_CHECKING:

        def __get__(self, view: object, owner: type | None = None) -> Value | None:
            """Return the value; None is unset."""

        def __set__(self, view: object, value: Value | None) -> None:
            """Stage a value."""


class Text(Field[str]):
    """A ``char *``: None is a null pointer."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return f"string(raw).decode({ENCODING!r}, {ERRORS!r}) if raw else None", {"string": backend.string}

    def staged(self, backend: Backend) -> tuple[str, Names]:
        """See Field: encoded text is bytes, of which the empty ones are false."""
        return "None if raw is None else text_from_c(raw)", {"text_from_c": text_from_c}

    def encoder(self, backend: Backend) -> Callable[[object], bytes | None]:
        """See Field."""
        name = self.name

        def encode(value: object) -> bytes | None:
            return None if value is None else text_to_c(name, value)

        return encode

    def writer(self, backend: Backend, member: str) -> Callable[[Any, bytes | None], None]:
        """See Field."""
        write_text = backend.write_text

        def write(struct: Any, raw: bytes | None) -> None:
            write_text(struct, member, raw)

        return write


class Gres(Text):
    """TRES of which the handler may leave out that they are GRES, as in ``gpu:2``."""

    __slots__ = ()

    def encoder(self, backend: Backend) -> Callable[[object], bytes | None]:
        """See Field: put ``gres/`` (before 23.11 ``gres:``) in front of each name that has it not."""
        encode = super().encoder(backend)
        prefix = b"gres/" if backend.release >= (23, 11) else b"gres:"

        def with_prefix(value: object) -> bytes | None:
            raw = encode(value)
            if not raw:
                return raw
            return b",".join(
                item if item.startswith((b"gres/", b"gres:")) else prefix + item for item in raw.split(b",")
            )

        return with_prefix


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


class Number(_Sized[int | Unlimited]):
    """An unsigned integer of which two values mean unset and unlimited."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        source = f"raw if raw < {NO_VAL[self.bits]} else UNLIMITED if raw == {INFINITE[self.bits]} else None"
        return source, {"UNLIMITED": UNLIMITED}

    def encoder(self, backend: Backend) -> Callable[[object], int]:
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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return "raw", {}

    def encoder(self, backend: Backend) -> Callable[[object], int]:
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

    def __init__(self, doc: str, *, member: str | tuple[str, ...] | None = None, writable: bool = True) -> None:
        """Keep the description; the unit is always the same."""
        super().__init__(doc, unit="seconds since the epoch", member=member, writable=writable)

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return "raw", {}

    def encoder(self, backend: Backend) -> Callable[[object], int]:
        """See Field."""
        name = self.name

        def encode(value: object) -> int:
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} takes 0 or more, not {value}")
            return signed_to_c(name, value, 64)

        return encode


class Identity(_Sized[int]):
    """The number of a user or group; None in a request that names none, as most updates of a job."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return f"None if raw == {NO_VAL[self.bits]} or raw == {AUTH_NOBODY} else raw", {}


class Offset(_Sized[int]):
    """A signed number that Slurm stores above ``NICE_OFFSET``."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return f"None if raw == {NO_VAL[32]} else raw - {NICE_OFFSET}", {}

    def encoder(self, backend: Backend) -> Callable[[object], int]:
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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        # Untagged values are below the tag, NO_VAL and INFINITE are not.
        if not self.tagged:
            return f"raw if raw < {self.tag} else None", {}
        return f"raw - {self.tag} if {self.tag} <= raw < {NO_VAL[self.bits]} else None", {}

    def encoder(self, backend: Backend) -> Callable[[object], int]:
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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        named = self._named()
        raw = "raw" if self.mask is None else f"(raw & {self.mask})"
        if not self.optional:
            return f"named[{raw}]", {"named": named}
        return f"named[{raw}] if raw != {NO_VAL[self.bits]} else None", {"named": named}

    def _named(self) -> dict[int, Any]:
        """Return a mapping from every number to what a handler sees."""
        raise NotImplementedError

    def merge(self, old: Any, new: Any) -> Any:
        """See Field."""
        if self.mask is None or new == NO_VAL[self.bits]:
            return new
        return (0 if old == NO_VAL[self.bits] else old & ~self.mask) | new

    def encoder(self, backend: Backend) -> Callable[[object], int]:
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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return f"raw & {int(self.bit)} != 0", {}


class Truth(Field[bool]):
    """A ``bool``; read-only."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return "bool(raw)", {}


class Status(Field[ExitStatus]):
    """How a job ended; read-only."""

    __slots__ = ()

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return f"ExitStatus(raw) if raw < {NO_VAL[32]} else None", {"ExitStatus": ExitStatus}


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

    def expression(self, backend: Backend) -> tuple[str, Names]:
        """See Field."""
        return "sluid_text(raw) if raw else None", {"sluid_text": sluid_text}


class Strings(Field[list[str]]):
    """An array of texts with a counter beside it; read-only, a copy."""

    __slots__ = ("count",)

    def __init__(self, doc: str, *, member: str, count: str) -> None:
        """Say which member is the counter."""
        super().__init__(doc, member=member, writable=False)
        self.count = count


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


def rows(view: type) -> dict[str, Field[Any]]:
    """Return the rows of a class and its bases, by name."""
    return {name: row for base in reversed(view.__mro__) for name, row in vars(base).items() if isinstance(row, Field)}


def bind(view: type[View], backend: Backend) -> type[View]:
    """Return the class whose fields read and write the structs of a backend.

    The class's instances hold the struct in ``_struct`` and staged raw values, by member, in ``_writes``. Rows without
    a member in this release are left out; ``view._explain`` explains them.
    """
    bound: dict[str, Any] = {"__slots__": (), "__doc__": view.__doc__}
    setters: dict[str, tuple[str, Callable[[object], Any]]] = {}
    parts: dict[str, Callable[[Any, object], None]] = {}
    writers: dict[str, Any] = {}
    missing: dict[str, Field[Any]] = {}
    members = {name: _member(row, backend) for name, row in rows(view).items()}
    written = {members[name] for name, row in rows(view).items() if row.writable}
    for name, row in rows(view).items():
        member = members[name]
        getter = _getter(row, member, backend, member in written) if member is not None else None
        if member is None or getter is None:
            missing[name] = row
            bound[name] = _Missing()
            continue
        compiled = backend.compiled(row, member)
        bound[name] = property(getter, doc=row.doc) if compiled is None else compiled
        if not row.writable:
            continue
        if isinstance(row, _Enumerated) and row.mask is not None:
            parts[name] = _part_setter(member, row, backend)
        else:
            setters[name] = (member, row.encoder(backend))
        writers[member] = row.writer(backend, member)

    unknown: Callable[[Any, str, object], None] = getattr(view, "_assign")  # noqa: B009 - for the type checker

    def assign(self: Any, name: str, value: object) -> None:
        setter = setters.get(name)
        if setter is not None:
            self._writes[setter[0]] = setter[1](value)
        elif name in parts:
            parts[name](self, value)
        else:
            unknown(self, name, value)

    # The compiled base takes assignments itself and hands on what it does not know.
    bound["__setattr__" if view.__setattr__ is object.__setattr__ else "_assign"] = assign
    bound.update(_writers=writers, _missing=missing)
    made: type[View] = type(view.__name__, (view,), bound)
    return made


class _Missing:
    """Makes an attribute look as if it did not exist, so that ``_explain`` explains it."""

    __slots__ = ()

    def __get__(self, view: object, owner: type | None = None) -> None:
        raise AttributeError


def _member(row: Field[Any], backend: Backend) -> str | None:
    """Return the member that a row reads in this release; its name if it reads none."""
    release = backend.release
    if (row.since and _release(row.since) > release) or (row.until and _release(row.until) < release):
        return None
    if isinstance(row, Computed):
        return row.name
    return next((path for path in row.members if backend.has(path)), None)


def _release(text: str) -> tuple[int, int]:
    year, month = text.split(".")
    return int(year), int(month)


def _getter(row: Field[Any], member: str, backend: Backend, written: bool) -> Callable[[Any], Any] | None:
    if isinstance(row, Computed):
        compute = backend.computed(row.name)
        # The struct is looked at so that a view that is over says so.
        return compute and _compile(row.name, ["self._struct", "return compute(self)"], {"compute": compute})
    if isinstance(row, Strings):
        names: Names = {"strings": backend.strings, "text_from_c": text_from_c}
        source = f"[text_from_c(item) for item in strings(self._struct, {member!r}, {row.count!r})]"
        return _compile(row.name, [f"return {source}"], names)
    value, names = row.expression(backend)
    lines = []
    if written:
        staged, more = row.staged(backend)
        names = {**names, **more}
        lines += [
            "writes = self._writes",
            f"if {member!r} in writes:",
            f"    raw = writes[{member!r}]",
            f"    return {staged}",
        ]
    *outer, last = member.split(".")
    lines.append("record = self._struct")
    for name in outer:
        lines += [f"record = record.{name}", "if not record:", "    return None"]
    lines += [f"raw = record.{last}", f"return {value}"]
    return _compile(row.name, lines, names)


def _compile(name: str, lines: list[str], names: Names) -> Callable[[Any], Any]:
    """Return a getter of these lines, which a traceback can show."""
    source = "\n    ".join([f"def {name}(self):", *lines, ""])
    file = f"<getter of {name} #{len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = dict(names)
    exec(compile(source, file, "exec"), namespace)
    getter: Callable[[Any], Any] = namespace[name]
    return getter


def _part_setter(member: str, row: Field[Any], backend: Backend) -> Callable[[Any, object], None]:
    encode = row.encoder(backend)

    def stage(self: Any, value: object) -> None:
        raw = encode(value)
        old = self._writes[member] if member in self._writes else getattr(self._struct, member)
        self._writes[member] = row.merge(old, raw)

    return stage
