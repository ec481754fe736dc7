# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit handler sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from slurmhooks.errors import StaleHandleError
from slurmhooks.job_submit.arrays import OF_AN_UPDATE, OF_NO_BATCH_JOB, Environment, Words
from slurmhooks.job_submit.fields import (
    AssociationFields,
    JobFields,
    LicenseFields,
    NodeFields,
    PartitionFields,
    QosFields,
    RecordFields,
    ReservationFields,
)
from slurmhooks.job_submit.rows import Computed, Field
from slurmhooks.slurmctld import NEEDS_SOURCES
from slurmhooks.values import text_to_c
from slurmhooks.view import nearest, stale

__all__ = [
    "Association",
    "Environment",
    "Job",
    "License",
    "Node",
    "Partition",
    "Qos",
    "Record",
    "Reservation",
    "Table",
    "Words",
]

if TYPE_CHECKING:
    from slurmhooks.job_submit.source import Struct


class _View:
    """A view of one struct of Slurm's; see binding.py.

    Attributes:
        _struct: what slurmctld sent.
        _writes: staged raw values by member.
    """

    __slots__ = ("_struct", "_writes")

    _struct: Struct
    _writes: dict[str, Any]

    _missing: ClassVar[dict[str, Field[Any]]] = {}
    _release: ClassVar[str] = ""

    def __init__(self, struct: Struct) -> None:
        """View a struct, without writes."""
        self._set(_struct=struct, _writes={})

    def _set(self, **values: object) -> None:
        """Set attributes of the view itself: an assignment would be one to a field."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Explain an attribute that does not exist, or a view that is over."""
        return self._explain(name)

    def _explain(self, name: str) -> Any:
        """Raise what there is to say of an attribute that does not exist."""
        if name in _View.__slots__:
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
        """Take an assignment to what is no writable row; binding.bind makes __setattr__."""
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
        for name in _View.__slots__:
            object.__delattr__(self, name)


class Job(JobFields, _View):
    """``job``: the request that slurmctld is about to take; what handlers write is applied once all have passed.

    Attributes:
        environment: the job's environment, a mapping that may be changed. Only batch jobs send theirs: for srun and
            salloc, and in updates, it is empty and cannot be changed.
        spank_job_env: the job control environment that SPANK plugins made, likewise, but of every submission.
        argv: the script's name and arguments, a list that may be changed.
        _argv: the staged words, or None.
        _mappings: the two environments, once they were asked for.
        _modify: it is an update.
        _owner: whose job it is, where the request does not say.
    """

    __slots__ = ("_argv", "_mappings", "_modify", "_owner")

    _argv: list[bytes] | None
    _mappings: dict[str, Environment]
    _modify: bool
    _owner: int | None

    def __init__(self, struct: Struct, *, modify: bool = False, owner: int | None = None) -> None:
        """View a request, without writes."""
        super().__init__(struct)
        self._set(_argv=None, _mappings={}, _modify=modify, _owner=owner)

    @property
    def environment(self) -> Environment:
        """The job's environment."""
        return self._mapping("environment")

    @environment.setter
    def environment(self, value: Mapping[str, str]) -> None:
        self._replace_mapping("environment", value)

    @property
    def spank_job_env(self) -> Environment:
        """The job control environment, as prolog and epilog see it with ``SPANK_`` before each name."""
        return self._mapping("spank_job_env")

    @spank_job_env.setter
    def spank_job_env(self, value: Mapping[str, str]) -> None:
        self._replace_mapping("spank_job_env", value)

    def _replace_mapping(self, name: str, value: object) -> None:
        mapping: Environment = getattr(self, name)
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} takes a mapping, not {value!r}")
        mapping.replace(value)

    def _mapping(self, member: str) -> Environment:
        struct = self._struct
        found = self._mappings.get(member)
        if found is None:
            found = self._mappings[member] = Environment(struct, member, self._frozen(member))
        return found

    def _frozen(self, member: str) -> str | None:
        """Return why an environment cannot be changed, or None."""
        if self._modify:
            return OF_AN_UPDATE
        if member == "environment" and not self._is_set("script"):
            return OF_NO_BATCH_JOB
        return None

    def _is_set(self, member: str) -> bool:
        """Tell whether a text is set, however long, without asking for it."""
        return self._writes[member] is not None if member in self._writes else self._struct.is_set(member)

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
        self._set(_argv=[text_to_c("argv", word) for word in value])

    def _words(self) -> list[bytes]:
        struct = self._struct
        return struct.array("argv") if self._argv is None else self._argv

    def _assign(self, name: str, value: object) -> None:
        if name in ("argv", "environment", "spank_job_env"):
            vars(Job)[name].fset(self, value)
        else:
            super()._assign(name, value)

    def savepoint(self) -> object:
        """Return the writes so far; for dispatch."""
        mappings = {name: mapping.savepoint() for name, mapping in self._mappings.items()}
        return dict(self._writes), self._argv, mappings

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        writes, argv, mappings = savepoint
        self._set(_writes=writes, _argv=argv)
        for name, mapping in self._mappings.items():
            mapping.rollback(mappings.get(name, {}))

    def commit(self) -> None:
        """Apply the writes; for dispatch. Values were checked when they were written: nothing here refuses one."""
        written = self._struct.written
        for member, raw in self._writes.items():
            # "" in a request means nothing; in an update it clears, as scontrol's own requests do.
            written[member] = None if raw == b"" and not self._modify else raw
        if self._argv is not None:
            written["argv"] = self._argv
        for mapping in self._mappings.values():
            mapping.commit()

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        for mapping in self._mappings.values():
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


class Node(NodeFields, _View):
    """A node; read-only."""

    __slots__ = ()


class License(LicenseFields, _View):
    """A license; read-only."""

    __slots__ = ()


class Qos(QosFields, _View):
    """A QOS; read-only."""

    __slots__ = ()


class Association(AssociationFields, _View):
    """An account, or a user with an account; read-only."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the class, and whose it is."""
        try:
            return f"<Association {self.id}: {self.account} {self.user or ''}>"
        except (AttributeError, StaleHandleError):  # a representation must not raise
            return "<Association>"


VIEWS: dict[str, type[_View]] = {
    "job": Job,
    "record": Record,
    "partition": Partition,
    "reservation": Reservation,
    "node": Node,
    "license": License,
    "qos": Qos,
    "association": Association,
}
"""What handlers see, by the names of the tables."""


class Table(Mapping[Any, Any]):
    """A read-only mapping of slurmctld's records, which looks nothing up before it is asked."""

    __slots__ = ("_alive", "_all", "_find", "_made", "_select")

    def __init__(
        self,
        find: Callable[[Any], _View | None],
        everything: Callable[[], dict[Any, _View]],
        select: Callable[[dict[str, Any]], list[Any]],
    ) -> None:
        """Take the three ways to look records up: by key, all, and by the values of fields."""
        self._find = find
        self._all = everything
        self._select = select
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

    def where(self, **fields: Any) -> list[Any]:
        """Return the records whose fields have these values; slurmctld sends no others.

        ``jobs.where(partition="debug", job_state=JobState.JOB_PENDING)``; at most eight fields.

        Raises:
            AttributeError: there is no such field.
            TypeError: records cannot be chosen by this field, or not by this value; likewise ValueError.
        """
        self._living()
        found = self._select(fields)
        self._made += found
        return found

    def of_user(self, user_id: int) -> list[Any]:
        """Return the jobs, or the associations, of a user: ``where(user_id=user_id)``."""
        return self.where(user_id=user_id)

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
