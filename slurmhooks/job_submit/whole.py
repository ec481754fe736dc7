# SPDX-License-Identifier: GPL-2.0-or-later
"""The view of handlers of hook.job: the job as it would be, at its submission and at each update."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.errors import UnknownError
from slurmhooks.fields import JobFields
from slurmhooks.fields.flag_rows import Bit, Enumerated
from slurmhooks.fields.number_rows import Plain, Time
from slurmhooks.fields.rows import Computed, release_of, rows
from slurmhooks.handlers.similar import nearest
from slurmhooks.hooks.points import CONTROL_PREFIX
from slurmhooks.job_submit import updates
from slurmhooks.job_submit.bounds import computing, defaults
from slurmhooks.job_submit.bounds.asked import FIELDS, in_record
from slurmhooks.job_submit.filled import Filled, is_filled
from slurmhooks.job_submit.model import Job, owner_of
from slurmhooks.slurmctld import NEEDS_SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slurmhooks.values import Unlimited

    Base = Job
else:
    Base = object

TIMES = ("time_limit", "end_time")
DEPENDS = {
    **updates.DEPENDS,
    "partitions": ("partition", "reservation"),
    "time_limit": TIMES,
    "bounds": (*FIELDS, *TIMES, "time_min", "deadline"),
}
"""The fields of a request on which what a handler reads depends, if these are others than the field itself."""
EXTRA = ("bounds", "partitions")
"""What a handler may read, and lock, besides fields."""
ARRAYS = ("environment", "spank_job_env", "argv")
JOBS_OWN = frozenset(name for name, row in rows(JobFields).items() if not isinstance(row, Computed)).union(
    EXTRA, ARRAYS, ("group_name", "interactive")
) - {"user_id"}
"""What an update alone does not say."""
IN_RECORDS: dict[str, set[str]] = {}
"""The fields of requests by their names in records."""
for _name, _row in rows(JobFields).items():
    for _each in _row.names_in_record:
        IN_RECORDS.setdefault(_each, set()).add(_name)
FILLED = ("account", "partition", "qos", "time_limit")
"""The fields that Slurm fills in."""


@cache
def depends(name: str) -> frozenset[str]:
    """Return the fields that an update may change in some release, and on which what a handler reads depends."""
    names = DEPENDS.get(name, (name,))
    return updates.fields() & frozenset().union(*map(updates.sharing, names))


class LacksRecord(BaseException):
    """Ends a handler that asks what the job of an update has, in a build that does not know jobs."""


class Looking:
    """What a view has besides its class.

    Attributes:
        job: the request.
        record: the job that an update changes; None for a submission.
        modify: it is an update.
        reads: what the handler has read or asked for.
        may_read: the fields that users cannot change after the submission, in a build that does not know jobs; None:
            updates are checked.
        lacked: the handler has asked for what a build that does not know jobs lacks; it may have caught LacksRecord.
    """

    __slots__ = ("_filled", "job", "lacked", "may_read", "modify", "reads", "record")

    def __init__(self, job: Job, may_read: frozenset[str] | None = None) -> None:
        self.job: Any = job
        self.record: Any = job._record
        self.modify = job._modify
        self.reads: set[str] = set()
        self.may_read = may_read
        self.lacked = False
        self._filled: Filled | None = None

    @property
    def filled(self) -> Filled:
        """The fields of the job as it would be, with what handlers have written so far."""
        if self._filled is None:
            # Only a build with Slurm's sources can ask slurmctld.
            default = None if "default_partition" not in self.job._missing else defaults.default_partition()
            self._filled = Filled(self.job, self.record, modify=self.modify, default_partition=default)
        return self._filled

    def note(self, name: str) -> None:
        """Note that the handler reads something."""
        if self.may_read is not None and not depends(name) <= self.may_read:
            raise UnknownError(
                f"job.{name} could be changed by an update, which cannot be checked without the record of the job; the"
                f" code of this handler does not name it, so users are not kept from it: name it there; {NEEDS_SOURCES}"
            )
        self.reads.add(name)

    def value(self, name: str) -> Any:
        """Return a field, or one of EXTRA.

        Raises:
            AttributeError: there is none of this name.
            UnknownError: slurmctld does not know it.
            LacksRecord: this build does not.
        """
        job = self.job
        if self.modify and self.record is None and name in JOBS_OWN:
            self.lacked = True
            raise LacksRecord
        if name in ARRAYS and self.modify:
            return self._array(name)
        if name == "partitions":
            return self.filled.partitions
        asked = getattr(job, name)  # raises if there is no such field, or the call is over
        if name == "user_id":
            return owner_of(job)
        if name == "partition":
            return ",".join(self.filled.partitions) or None
        if name in FILLED:
            if name == "time_limit" and self.record is not None and self.record.time_limit is None:
                self.reads.add("partition")
            return self._time_limit() if name == "time_limit" else getattr(self.filled, name)
        row = rows(JobFields).get(name)
        if not self.modify or row is None or isinstance(row, Computed):
            return self._of_group(name) if self.modify and name == "group_name" else asked
        if self.may_change(name):
            if self.is_set(name):
                return None if asked == "" else asked
            if self.is_replaced(name):
                return None
        return self._in_record(name)

    def _time_limit(self) -> int | Unlimited | None:
        """Return the time limit in minutes, by default what Slurm gives at most; None if it is not known."""
        named: int | Unlimited | None = self.filled.get("time_limit")
        if named is not None:
            return named
        partitions = computing.partitions_of(self.job, self.record, nodes=False)
        if any(partition.default_time is None for partition in partitions):
            return None
        return self.filled.time_limit.most

    def may_change(self, name: str) -> bool:
        """Tell whether an update may change a field."""
        return name in updates.fields(release_of(self.job._release))

    def may_write(self, name: str) -> bool:
        """Tell whether a handler may change a field in an update."""
        return self.may_change(name) and not updates.is_read_before(name)

    def is_replaced(self, name: str) -> bool:
        """Tell whether the update sets the member of a field in another form, such as memory per CPU for per node."""
        return any(self.is_set(other) for other in updates.sharing(name) - {name})

    def _in_record(self, name: str) -> Any:
        if name == "cron_job":
            flags = self.record.bitflags
            return bool(flags & type(flags).CRON_JOB)
        if name == "script":
            return self.record.script if self.record.batch_flag else None
        if not any(hasattr(self.record, each) for each in rows(JobFields)[name].names_in_record):
            self._unknown(name)
        value = in_record(self.record, name)
        return None if value == "" or is_filled(name, value, self.record) else value

    def _array(self, name: str) -> Any:
        """Return what is known of an array of texts at an update."""
        if name == "argv":
            return tuple(self.record.argv)
        if name == "environment":
            self._unknown(name)
        pairs = (entry.removeprefix(CONTROL_PREFIX).partition("=") for entry in self.record.spank_job_env or ())
        return MappingProxyType({key: text for key, _, text in pairs})

    def _of_group(self, name: str) -> str | None:
        import grp

        try:
            return grp.getgrgid(self.record.group_id).gr_name
        except KeyError:
            return None

    def _unknown(self, name: str) -> NoReturn:
        raise UnknownError(
            f"job.{name} is not known at an update, because slurmctld does not keep it: look at job.is_update first"
        )

    def is_set(self, name: str) -> bool:
        """Tell whether the request itself sets a field, with what handlers have written so far."""
        if name in ARRAYS:
            return not self.modify and bool(len(getattr(self.job, name)))
        value = getattr(self.job, name)
        row = rows(JobFields)[name]
        if self.modify:
            return self.may_change(name) and updates.sets(self.job, name)
        if isinstance(row, Computed):
            return False
        always = isinstance(row, Plain | Time | Bit) or (isinstance(row, Enumerated) and not row.optional)
        return bool(value) if always else value is not None

    def touches(self, names: Iterable[str]) -> bool:
        """Tell whether an update sets anything on which some fields depend."""
        fields = frozenset().union(*map(depends, names)) - self.job._missing.keys()
        return any(map(self.is_set, fields))

    def write(self, name: str, value: object) -> None:
        """Write a field; a write of what the view has anyway sends nothing."""
        if name in EXTRA or name == "is_update":
            raise AttributeError(f"job.{name} is read-only")
        row = rows(JobFields).get(name)
        if self.modify and (name in ARRAYS or (row is not None and row.writable and not self.may_write(name))):
            self.job._living()
            raise ValueError(f"job.{name} cannot be set: no handler changes it in an update")
        state = self.job._state
        state.comparing, lacked = True, self.lacked
        try:
            present = self.value(name)
        except (UnknownError, LacksRecord):
            present = self
        finally:
            state.comparing, self.lacked = False, lacked
        if not _is_same(present, value):
            setattr(self.job, name, value)
            self._filled = None


def _is_same(present: object, value: object) -> bool:
    """Tell whether a value that is written is the present one; another type, such as a float, is refused later."""
    plain = type(value) in (type(present), int, str)
    return plain and isinstance(value, bool) == isinstance(present, bool) and present == value


class WholeJob(Base):
    """``job`` of hook.job: the job as it would be; for an update, the job that exists with the change.

    What a submission leaves out has what Slurm fills in: partition (that of the reservation, or the default one),
    account, QOS, and the time limit that its first partition gives by default, or the longest of all if that has no
    DefaultTime; None where slurmctld does not say it.
    Fields that no update can change are those of the job. Those that slurmctld does not keep, such as ``environment``,
    raise UnknownError at an update.
    What handlers write is sent if it differs; nothing else of the view is.
    """

    __slots__ = ("_as",)

    _as: Looking

    def __init__(self, looking: Looking) -> None:
        object.__setattr__(self, "_as", looking)

    @property
    def is_update(self) -> bool:
        """Whether the request changes a job that exists."""
        self._as.job._living()
        return self._as.modify

    @property
    def partitions(self) -> tuple[str, ...]:
        """The names of all partitions in which the job may run; empty if slurmctld does not say it."""
        self._as.job._living()
        self._as.note("partitions")
        names: tuple[str, ...] = self._as.value("partitions")
        return names

    def sets(self, *names: str) -> bool:
        """Tell whether the request itself sets at least one of some fields; an update may set a field to nothing.

        Raises:
            AttributeError: a field does not exist.
        """
        self._asked(names)
        return any(map(self._as.is_set, names))

    def leaves_out(self, name: str) -> bool:
        """Tell whether the user leaves a field to Slurm: a submission without it, or an update that clears it.

        False for an update that does not touch the field: what was submitted has passed then.

        Raises:
            AttributeError: the field does not exist.
        """
        self._asked((name,))
        looking = self._as
        if not looking.modify:
            return not looking.is_set(name)
        return looking.is_set(name) and getattr(looking.job, name) == ""

    def _asked(self, names: Iterable[str]) -> None:
        self._as.job._living()
        for name in names:
            if name not in rows(JobFields) and name not in ARRAYS:
                raise AttributeError(f"job has no {name!r}{nearest(name, rows(JobFields))}")
            getattr(self._as.job, name)  # raises if the release lacks it
            self._as.note(name)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that explains: the attribute does not exist."""
            return self._as.job._explain(name)

    def __setattr__(self, name: str, value: object) -> None:
        """Write a field."""
        self._as.write(name, value)

    def __delattr__(self, name: str) -> None:
        """Raise an error that says how to unset a field."""
        self._as.job.__delattr__(name)

    def __dir__(self) -> list[str]:
        """Return the names of what can be read."""
        return sorted({*self._as.job._names(), *EXTRA, "is_update", "leaves_out", "sets"})

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over names and values of all fields that are known: ``dict(job)`` is a copy."""
        for name in self._as.job._names():
            try:
                value = getattr(self, name)
            except UnknownError:
                continue
            yield name, value.copy() if name in ARRAYS and not self._as.modify else value

    def __repr__(self) -> str:
        """Return the class."""
        return "<WholeJob>"


class SeenRecord:
    """``record`` of hook.job: the job as it is. What a handler reads of it counts like what it reads of ``job``."""

    __slots__ = ("_as", "_record")

    _as: Looking
    _record: Any

    def __init__(self, looking: Looking, record: Any) -> None:
        object.__setattr__(self, "_as", looking)
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        """Return a field of the record, or raise what the record raises."""
        self._as.reads.update(IN_RECORDS.get(name, ()))
        return getattr(self._record, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Raise what the record raises."""
        setattr(self._record, name, value)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate over names and values of all fields."""
        self._as.reads.update(*IN_RECORDS.values())
        return iter(self._record)

    def __dir__(self) -> list[str]:
        """Return the names of the fields."""
        return dir(self._record)

    def __repr__(self) -> str:
        """Return what the record returns."""
        return repr(self._record)


def _property(name: str, doc: str | None) -> property:
    def get(self: WholeJob) -> Any:
        looking = self._as
        looking.job._living()
        looking.note(name)
        return looking.value(name)

    return property(get, doc=doc)


for _name, _row in rows(JobFields).items():
    setattr(WholeJob, _name, _property(_name, _row.doc))
for _name in (*ARRAYS, "bounds"):
    setattr(WholeJob, _name, _property(_name, vars(Job)[_name].__doc__))
