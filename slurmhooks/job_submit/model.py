# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit handler sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from slurmhooks.job_submit.fields import JobFields, PartitionFields, RecordFields, ReservationFields
from slurmhooks.job_submit.rows import Field
from slurmhooks.values import ENCODING, ERRORS, text_from_c, text_to_c
from slurmhooks.view import StagedMapping, nearest, stale

if TYPE_CHECKING:
    from collections.abc import Iterable

SLOTS = ("_struct", "_writes")


class Arrays(Protocol):
    """How the string arrays of a request get in and out; see native.py and testing."""

    def read(self, struct: Any, name: str) -> list[bytes]:
        """Return the strings of an array member."""

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """Replace an array member and the counter beside it."""


class _View:
    """A view of one C struct."""

    __slots__ = SLOTS

    _setters: ClassVar[dict[str, Callable[[Any, object], None]]] = {}
    _missing: ClassVar[dict[str, Field[Any]]] = {}
    _release: ClassVar[str] = ""

    def __init__(self, struct: Any) -> None:
        """Wrap a struct; for the entry point."""
        object.__setattr__(self, "_struct", struct)
        object.__setattr__(self, "_writes", {})

    def __getattr__(self, name: str) -> Any:
        """Explain an attribute that does not exist, or a view that is over."""
        if name in SLOTS:
            raise stale(self)
        what = type(self).__name__.lower()
        row = self._missing.get(name)
        if row is not None:
            since = f"since Slurm {row.since}" if row.since else ""
            until = f"until Slurm {row.until}" if row.until else ""
            raise AttributeError(f"{what}.{name} exists {' '.join(filter(None, (since, until)))}; this is {self._release}")
        raise AttributeError(f"{what} has no {name!r}{nearest(name, self._names())}")

    def __setattr__(self, name: str, value: object) -> None:
        """Stage a value."""
        setter = self._setters.get(name)
        if setter is None:
            if hasattr(type(self), name):
                raise AttributeError(f"{type(self).__name__.lower()}.{name} is read-only")
            self.__getattr__(name)
        else:
            setter(self, value)

    def __dir__(self) -> list[str]:
        """Return the fields."""
        return sorted(self._names())

    def __repr__(self) -> str:
        """Return the class, and the name of what it views."""
        try:
            return f"<{type(self).__name__} {self.name!r}>"
        except Exception:  # a representation must not raise
            return f"<{type(self).__name__}>"

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in dir(cls) if not name.startswith("_") and name not in ("commit", "close", "rollback", "savepoint")]

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        for name in SLOTS:
            object.__delattr__(self, name)


class Environment(StagedMapping):
    """An environment array of the request as a mapping; read on first use, rebuilt once all handlers have passed."""

    __slots__ = ("_arrays", "_base", "_member", "_struct")

    def __init__(self, arrays: Arrays, struct: Any, member: str) -> None:
        """View one member."""
        super().__init__()
        self._arrays = arrays
        self._struct = struct
        self._member = member
        self._base: dict[str, str] | None = None

    def _read(self) -> dict[str, str]:
        if self._base is None:
            pairs = (text_from_c(item).split("=", 1) for item in self._arrays.read(self._struct, self._member))
            self._base = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
        return self._base

    def _load(self, name: str) -> str | None:
        return self._read().get(name)

    def _names(self) -> Iterable[str]:
        return self._read()

    def commit(self) -> None:
        """Rebuild the array if anything was written."""
        if self._staged:
            items = [f"{name}={value}".encode(ENCODING, ERRORS) for name, value in self.items()]
            self._arrays.write(self._struct, self._member, items)
            self._staged = {}


class Job(JobFields, _View):
    """``job``: the request that slurmctld is about to take; what handlers write is applied once all have passed.

    Attributes:
        environment: the job's environment (batch jobs only; empty for srun and salloc), a mapping that may be changed.
        spank_job_env: the job control environment that SPANK plugins made, likewise.
        argv: the script's name and arguments, a list; assign a new one to change it.
    """

    __slots__ = ("_argv", "_environment", "_modify", "_spank_job_env")

    _arrays: ClassVar[Arrays]
    _writers: ClassVar[dict[str, Callable[[Any, Any], None]]] = {}

    def __init__(self, struct: Any, *, modify: bool = False) -> None:
        """Wrap a struct; for the entry point.

        Args:
            struct: the ``job_desc_msg_t``.
            modify: it is an update of a job.
        """
        super().__init__(struct)
        for name, value in (("_argv", None), ("_environment", None), ("_spank_job_env", None), ("_modify", modify)):
            object.__setattr__(self, name, value)

    @property
    def environment(self) -> Environment:
        """The job's environment."""
        return self._mapping("_environment", "environment")

    @property
    def spank_job_env(self) -> Environment:
        """The job control environment, as prolog and epilog see it with ``SPANK_`` before each name."""
        return self._mapping("_spank_job_env", "spank_job_env")

    def _mapping(self, slot: str, member: str) -> Environment:
        struct = self._struct
        found: Environment | None = getattr(self, slot)
        if found is None:
            found = Environment(self._arrays, struct, member)
            object.__setattr__(self, slot, found)
        return found

    @property
    def argv(self) -> list[str]:
        """The script's name and arguments; a copy: assign to change it."""
        struct = self._struct
        items: list[bytes] | None = self._argv
        return [text_from_c(item) for item in (self._arrays.read(struct, "argv") if items is None else items)]

    def __setattr__(self, name: str, value: object) -> None:
        """Stage a value."""
        if name == "argv":
            self._living()
            if isinstance(value, str) or not isinstance(value, (list, tuple)):
                raise TypeError(f"argv takes a list of str, not {value!r}")
            object.__setattr__(self, "_argv", [text_to_c("argv", word) for word in value])
        elif name in ("environment", "spank_job_env"):
            self._living()
            if not isinstance(value, Mapping):
                raise TypeError(f"{name} takes a mapping, not {value!r}")
            getattr(self, name).replace(value)
        else:
            super().__setattr__(name, value)

    def _living(self) -> None:
        self._struct  # noqa: B018 - raises if the call is over

    def savepoint(self) -> object:
        """Return the writes so far; for dispatch."""
        mappings = {}
        for name in ("_environment", "_spank_job_env"):
            mapping = getattr(self, name)
            if mapping is not None:  # not its truth: one whose names were all deleted is empty
                mappings[name] = mapping.savepoint()
        return dict(self._writes), self._argv, mappings

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        writes, argv, mappings = savepoint
        object.__setattr__(self, "_writes", writes)
        object.__setattr__(self, "_argv", argv)
        for name in ("_environment", "_spank_job_env"):
            mapping = getattr(self, name)
            if mapping is not None:
                mapping.rollback(mappings.get(name, {}))

    def commit(self) -> None:
        """Apply the writes; for dispatch. Values were checked when they were written: nothing here refuses one."""
        for member, raw in self._writes.items():
            # "" in a request means nothing; in an update it clears, as scontrol's own requests do.
            self._writers[member](self._struct, None if raw == b"" and not self._modify else raw)
        if self._argv is not None:
            self._arrays.write(self._struct, "argv", self._argv)
        for mapping in (self._environment, self._spank_job_env):
            if mapping is not None:
                mapping.commit()

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        for mapping in (self._environment, self._spank_job_env):
            if mapping is not None:
                mapping.close()
        super().close()


class Record(RecordFields, _View):
    """``record``: the job as slurmctld knows it; read-only."""

    __slots__ = ()


class Partition(PartitionFields, _View):
    """A partition that the user may use; read-only."""

    __slots__ = ()


class Reservation(ReservationFields, _View):
    """A reservation; read-only."""

    __slots__ = ()


class Table(Mapping[Any, Any]):
    """A read-only mapping of slurmctld's records, which looks nothing up before it is asked."""

    __slots__ = ("_all", "_alive", "_find", "_made")

    def __init__(self, find: Callable[[Any], _View | None], everything: Callable[[], dict[Any, _View]]) -> None:
        """Take the two ways to look records up."""
        self._find = find
        self._all = everything
        self._made: list[_View] = []
        self._alive = True

    def __getitem__(self, key: Any) -> Any:
        """Return a record; KeyError if there is none."""
        self._living()
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        self._made.append(found)
        return found

    def __iter__(self) -> Iterator[Any]:
        """Return the keys."""
        self._living()
        return iter(self._everything())

    def __len__(self) -> int:
        """Return how many records there are."""
        self._living()
        return len(self._everything())

    def items(self) -> Any:
        """Return keys and records, looked up once."""
        self._living()
        return self._everything().items()

    def values(self) -> Any:
        """Return the records, looked up once."""
        self._living()
        return self._everything().values()

    def _everything(self) -> dict[Any, _View]:
        found = self._all()
        self._made += found.values()
        return found

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)

    def close(self) -> None:
        """Refuse every later use, also of the records that came from here."""
        self._alive = False
        for view in self._made:
            view.close()
        self._made = []
