# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit handler sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from slurmhooks.errors import StaleHandleError
from slurmhooks.job_submit import bases
from slurmhooks.job_submit.fields import JobFields, PartitionFields, RecordFields, ReservationFields
from slurmhooks.job_submit.rows import Computed, Field
from slurmhooks.values import ENCODING, ERRORS, text_from_c, text_to_c
from slurmhooks.view import Staged, nearest, stale

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

NEEDS_SOURCES = (
    "this build has only Slurm's public headers; to have them, run 'slurmhooks build --slurm-source DIR' with the"
    " sources of exactly the installed release, and install the result"
)


class Arrays(Protocol):
    """How the string arrays of a request get in and out; see native.py and testing."""

    def read(self, struct: Any, name: str) -> list[bytes]:
        """Return the strings of an array member."""

    def find(self, struct: Any, name: str, start: bytes) -> bytes | None:
        """Return what follows the start in the first string of an array member that has it, or None."""

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """Replace an array member and the counter beside it."""


class _View(bases.View):
    """A view of one C struct."""

    __slots__ = ()

    _missing: ClassVar[dict[str, Field[Any]]] = {}
    _release: ClassVar[str] = ""

    def _explain(self, name: str) -> Any:
        """Explain an attribute that does not exist, or a view that is over."""
        if name in bases.SLOTS:
            raise stale(self)
        what = type(self).__name__.lower()
        row = self._missing.get(name)
        if isinstance(row, Computed) and row.private:
            raise AttributeError(f"{what}.{name} is what only slurmctld knows: {NEEDS_SOURCES}")
        if row is not None:
            span = [f"{word} Slurm {end}" for word, end in (("since", row.since), ("until", row.until)) if end]
            exists = " ".join(span) or "in other builds of Slurm"
            raise AttributeError(f"{what}.{name} exists {exists}; this is {self._release}")
        raise AttributeError(f"{what} has no {name!r}{nearest(name, self._names())}")

    def _assign(self, name: str, value: object) -> None:
        """Take an assignment to what is no writable row; rows.bind makes the rest of __setattr__."""
        self._living()
        if name not in self._missing and hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__.lower()}.{name} is read-only")
        self._explain(name)

    def _living(self) -> None:
        self._struct  # noqa: B018 - raises if the call is over

    def __dir__(self) -> list[str]:
        """Return the fields."""
        return sorted(self._names())

    def __repr__(self) -> str:
        """Return the class, and the name of what it views."""
        try:
            return f"<{type(self).__name__} {self.name!r}>"
        except (AttributeError, StaleHandleError):  # a representation must not raise
            return f"<{type(self).__name__}>"

    @classmethod
    def _names(cls) -> list[str]:
        hidden = {"commit", "close", "rollback", "savepoint", *cls._missing}
        return [name for name in dir(cls) if not name.startswith("_") and name not in hidden]

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        self._end()


FROZEN = (
    None,
    "an update of a job carries no environment, so none can be set",
    "only batch jobs carry their environment in the request; that of srun and salloc cannot be set",
)
"""Why an environment cannot be changed: Slurm would ignore what is put there. Indices are native/job_submit's too."""
CHANGEABLE, OF_AN_UPDATE, OF_NO_BATCH_JOB = range(len(FROZEN))


class Variables(Staged):
    """An environment array of the request as a mapping; read on use, changed once all handlers have passed.

    Attributes:
        _base: all that is in the array, once somebody asked for all.
        _frozen: why it cannot be changed, an index into FROZEN.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _base: dict[str, str] | None
        _frozen: int

        def _items(self) -> list[bytes]:
            """Return the texts of the array."""

        def _store(self, items: list[bytes], /) -> None:
            """Replace the array and the counter beside it."""

    def _check(self, name: object, value: object = "") -> None:
        super()._check(name, value)
        reason = FROZEN[self._frozen]
        if reason is not None:
            raise ValueError(reason)

    def _names(self) -> Iterable[str]:
        return self._read()

    def _read(self) -> dict[str, str]:
        base = self._base
        if base is None:
            base = {}
            for item in self._items():
                name, equals, value = text_from_c(item).partition("=")
                if equals:
                    base.setdefault(name, value)  # the first of two counts, as for getenv()
            self._base = base
        return base

    def commit(self) -> None:
        """Replace the array if anything was written; what was not keeps its place, also if it is no NAME=value."""
        if not self._staged:
            return
        changes = {name.encode(ENCODING, ERRORS): value for name, value in self._staged.items()}
        items = []
        for item in self._items():
            name, equals, _ = item.partition(b"=")
            if not equals or name not in changes:
                items.append(item)
        for name, value in changes.items():
            if value is not None:
                items.append(name + b"=" + value.encode(ENCODING, ERRORS))
        self._store(items)
        self._staged = {}
        self._base = None


class Environment(Variables):
    """The same for stand-ins; native.py has that of slurmctld."""

    __slots__ = ("_alive", "_arrays", "_base", "_frozen", "_member", "_staged", "_struct")

    def __init__(self, arrays: Arrays, struct: Any, member: str, frozen: int = CHANGEABLE) -> None:
        """View one member.

        Args:
            arrays: how to get at it.
            struct: that it is a member of.
            member: its name.
            frozen: why it cannot be changed.
        """
        self._alive = True
        self._arrays = arrays
        self._base: dict[str, str] | None = None
        self._frozen = frozen
        self._member = member
        self._staged: dict[str, str | None] = {}
        self._struct = struct

    def _load(self, name: str) -> str | None:
        if self._base is not None:
            return self._base.get(name)
        try:
            start = name.encode(ENCODING, ERRORS) + b"="
        except UnicodeEncodeError:  # half of a surrogate pair, which stands for no byte
            return None
        found = self._arrays.find(self._struct, self._member, start)
        return None if found is None else text_from_c(found)

    def _items(self) -> list[bytes]:
        return self._arrays.read(self._struct, self._member)

    def _store(self, items: list[bytes], /) -> None:
        self._arrays.write(self._struct, self._member, items)


class Words(MutableSequence[str]):
    """``job.argv``: a list; what is changed in it waits until all handlers have passed."""

    __slots__ = ("_job",)

    def __init__(self, job: Job) -> None:
        """Read and write the words of a job."""
        self._job = job

    def _list(self) -> list[str]:
        return [text_from_c(word) for word in self._job._words()]

    def __getitem__(self, index: Any) -> Any:
        """Return a word, or a list of them."""
        return self._list()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Change a word, or several."""
        words = self._list()
        words[index] = value
        self._job.argv = words

    def __delitem__(self, index: Any) -> None:
        """Remove a word, or several."""
        words = self._list()
        del words[index]
        self._job.argv = words

    def insert(self, index: int, value: str) -> None:
        """Put a word before another."""
        words = self._list()
        words.insert(index, value)
        self._job.argv = words

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self._job._words())

    def __eq__(self, other: object) -> bool:
        """Compare with a list."""
        return self._list() == list(other) if isinstance(other, (list, Words)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the words, or that the call is over."""
        try:
            return repr(self._list())
        except StaleHandleError:
            return "<Words of a call that is over>"


class Job(JobFields, bases.Request, _View):
    """``job``: the request that slurmctld is about to take; what handlers write is applied once all have passed.

    Attributes:
        environment: the job's environment, a mapping that may be changed. Only batch jobs send theirs: for srun and
            salloc, and in updates, it is empty and cannot be changed.
        spank_job_env: the job control environment that SPANK plugins made, likewise, but of every submission.
        argv: the script's name and arguments, a list that may be changed.
    """

    __slots__ = ()

    _arrays: ClassVar[Arrays]
    _writers: ClassVar[dict[str, Callable[[Any, Any], None]]] = {}

    @property
    def environment(self) -> Environment:
        """The job's environment."""
        return self._mapping("_environment", "environment")

    @environment.setter
    def environment(self, value: Mapping[str, str]) -> None:
        self._replace_mapping("environment", value)

    @property
    def spank_job_env(self) -> Environment:
        """The job control environment, as prolog and epilog see it with ``SPANK_`` before each name."""
        return self._mapping("_spank_job_env", "spank_job_env")

    @spank_job_env.setter
    def spank_job_env(self, value: Mapping[str, str]) -> None:
        self._replace_mapping("spank_job_env", value)

    def _replace_mapping(self, name: str, value: object) -> None:
        mapping: Environment = getattr(self, name)
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} takes a mapping, not {value!r}")
        mapping.replace(value)

    def _mapping(self, slot: str, member: str) -> Environment:
        struct = self._struct
        found: Environment | None = getattr(self, slot)
        if found is None:
            found = Environment(self._arrays, struct, member, self._frozen(member))
            (_set_environment if slot == "_environment" else _set_spank_job_env)(self, found)
        return found

    def _frozen(self, member: str) -> int:
        """Return why an environment cannot be changed; native/job_submit/variables.c says the same."""
        if self._modify:
            return OF_AN_UPDATE
        return OF_NO_BATCH_JOB if member == "environment" and self.script is None else CHANGEABLE

    @property
    def argv(self) -> Words:
        """The script's name and arguments."""
        self._living()
        return Words(self)

    @argv.setter
    def argv(self, value: Sequence[str]) -> None:
        self._living()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TypeError(f"argv takes a list of str, not {value!r}")
        _set_argv(self, [text_to_c("argv", word) for word in value])

    def _words(self) -> list[bytes]:
        struct = self._struct
        words: list[bytes] | None = self._argv
        return self._arrays.read(struct, "argv") if words is None else words

    def _assign(self, name: str, value: object) -> None:
        if name in ("argv", "environment", "spank_job_env"):
            vars(Job)[name].fset(self, value)
        else:
            super()._assign(name, value)

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
        self._replace(writes)
        _set_argv(self, argv)
        for name in ("_environment", "_spank_job_env"):
            mapping = getattr(self, name)
            if mapping is not None:
                mapping.rollback(mappings.get(name, {}))

    def commit(self) -> None:
        """Apply the writes; for dispatch. Values were checked when they were written: nothing here refuses one."""
        self._commit_others(())

    def _commit_others(self, applied: Container[str]) -> None:
        """Apply the writes but those to some members, which native/job_submit/event.c has applied."""
        for member, raw in self._writes.items():
            if member not in applied:
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


# An assignment would go to the row of that name.
_set_argv = vars(bases.Request)["_argv"].__set__
_set_environment = vars(bases.Request)["_environment"].__set__
_set_spank_job_env = vars(bases.Request)["_spank_job_env"].__set__


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

    __slots__ = ("_alive", "_all", "_find", "_made")

    def __init__(self, find: Callable[[Any], _View | None], everything: Callable[[], dict[Any, _View]]) -> None:
        """Take the two ways to look records up."""
        self._find = find
        self._all = everything
        self._made: list[_View] = []
        self._alive = True

    def __getitem__(self, key: Any) -> Any:
        """Return a record; KeyError if there is none."""
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a record, or the default if there is none."""
        if not self._alive:
            raise stale(self)
        found = self._find(key)
        if found is None:
            return default
        self._made.append(found)
        return found

    def __contains__(self, key: object) -> bool:
        """Tell whether there is a record."""
        return self.get(key) is not None

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
