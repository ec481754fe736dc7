# SPDX-License-Identifier: GPL-2.0-or-later
"""The views for handlers of job_submit and job_modify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import JobFields
from slurmhooks.job_submit.state import JobState
from slurmhooks.job_submit.text_arrays import Environment, Words
from slurmhooks.slurmctld import model as records
from slurmhooks.slurmctld.model import (
    Association,
    License,
    Members,
    Node,
    Partition,
    Qos,
    Record,
    Reservation,
    View,
)
from slurmhooks.slurmctld.table import Table
from slurmhooks.values import text_to_c

__all__ = [
    "VIEWS",
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
    "View",
    "Words",
]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.job_submit.bounds import Bounds
    from slurmhooks.job_submit.bounds.cluster import Cluster
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.wire.message import Raw


class Job(JobFields, View):
    """``job``: a request, before slurmctld accepts it. Writes of handlers are applied when all handlers have passed.

    Attributes:
        environment: the environment of the job, a mutable mapping. Only requests of batch jobs have it: for srun and
            salloc, and in updates, it is empty and read-only.
        spank_job_env: the job control environment of SPANK plugins, a mutable mapping; in updates empty and read-only.
        argv: the script's name and arguments, a mutable list.
    """

    __slots__ = ()

    _state: JobState

    def __init__(
        self,
        struct: Struct,
        modify: bool = False,
        owner: int | None = None,
        sender: int | None = None,
        record: Record | None = None,
        cluster: Callable[[], Cluster] | None = None,
    ) -> None:
        object.__setattr__(self, "_state", JobState(struct, modify, owner, sender, record, cluster))

    @property
    def _keeps_empty(self) -> bool:
        """An update clears a field by an empty text; in a submission, Slurm treats such a field as unset."""
        return self._state.modify

    @property
    def _modify(self) -> bool:
        """Whether the request is an update."""
        return self._state.modify

    @property
    def _owner(self) -> int | None:
        """User id of the job's owner, if the request does not have it."""
        return self._state.owner

    @property
    def _sender(self) -> int | None:
        """User id of the sender, which Slurm has checked; None: not known."""
        return self._state.sender

    @property
    def _record(self) -> Record | None:
        """The job that an update changes; None for submissions, and if slurmctld did not send it."""
        return self._state.record

    @property
    def _not_concerned(self) -> dict[object, Any]:
        """Has the scopes of handlers that are not for the request as it is now; see slurmhooks.slurmctld.around."""
        return self._state.facts()

    def _once(self, name: object, ask: Callable[[], Any]) -> Any:
        """Return what was worked out of the request as it is now, or work it out."""
        facts = self._state.facts()
        if name not in facts:
            facts[name] = ask()
        return facts[name]

    def _asked_once(self, question: object, ask: Callable[[], Any]) -> Any:
        """Return what was asked about this view and no write changes, or ask it."""
        answers = self._state.lasting
        if question not in answers:
            answers[question] = ask()
        return answers[question]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Iterate as the base class does; environments and words are copied, too."""
        for name, value in super().__iter__():
            yield name, value.copy() if isinstance(value, Environment | Words) else value

    def _as_stored(self, record: Record | None) -> tuple[Job, Record | None]:
        """Return what bounds are computed from: the request, and the job that it changes.

        A view of a job that slurmctld has stored, see slurmhooks.workshop.replay.audit, returns an update that changes
        nothing.
        """
        return self, record

    @property
    def _cluster(self) -> Cluster | None:
        """What looks up what Slurm can give; None if slurmctld answers no questions about it."""
        state = self._state
        if state.cluster is None and state.make_cluster is not None:
            state.cluster = state.make_cluster()
        return state.cluster

    @property
    def bounds(self) -> Bounds:
        """The least and the most that Slurm can give to the job, with what handlers have written so far.

        In a build with Slurm's sources it asks slurmctld for partitions and nodes.

        Raises:
            NotationError: a list in the request is invalid.
        """
        from slurmhooks.job_submit.bounds import computing

        self._living()
        return computing.of_request(self, self._record, nodes=True)

    @property
    def environment(self) -> Environment:
        """The environment of the job."""
        return self._mapping("environment")

    @environment.setter
    def environment(self, value: Mapping[str, str]) -> None:
        """Replace the environment of the job."""
        self._replace_mapping("environment", value)

    @property
    def spank_job_env(self) -> Environment:
        """The job control environment; prolog and epilog see it with the prefix ``SPANK_``."""
        return self._mapping("spank_job_env")

    @spank_job_env.setter
    def spank_job_env(self, value: Mapping[str, str]) -> None:
        """Replace the job control environment."""
        self._replace_mapping("spank_job_env", value)

    def _replace_mapping(self, name: str, value: object) -> None:
        mapping: Environment = getattr(self, name)
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} takes a mapping, not {value!r}")
        mapping.replace(value)

    def _mapping(self, member: str) -> Environment:
        state = self._state
        mapping: Environment | None = state.mappings.get(member)
        if mapping is None:
            mapping = state.mappings[member] = Environment(state, member)
        return mapping

    def _is_set(self, member: str) -> bool:
        """Return whether a text is set, without asking slurmctld for a long one."""
        return self._state.is_set(member)

    @property
    def argv(self) -> Words:
        """The script's name and arguments."""
        self._living()
        return Words(self._words, partial(self._assign, "argv"))

    @argv.setter
    def argv(self, value: Sequence[str]) -> None:
        """Replace the script's name and arguments."""
        self._living()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise TypeError(f"argv takes a list of str, not {value!r}")
        self._state.argv = [text_to_c("argv", word) for word in value]

    def _words(self) -> list[bytes]:
        state = self._state
        return state.struct.array("argv") if state.argv is None else state.argv

    def _assign(self, name: str, value: object) -> None:
        if name in ("argv", "environment", "spank_job_env"):
            vars(Job)[name].fset(self, value)
        else:
            super()._assign(name, value)

    def members(self) -> RequestMembers:
        """Return the members of the request, also for writing; for Lua scripts."""
        return RequestMembers(self)

    def savepoint(self) -> object:
        """Return the staged writes; for dispatch."""
        state = self._state
        mappings: dict[str, object] = {}
        for name, mapping in state.mappings.items():
            if mapping._staged:
                mappings[name] = mapping.savepoint()
        return state.writes.copy(), state.argv, mappings

    def rollback(self, savepoint: object) -> None:
        """Discard the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        writes, argv, mappings = savepoint
        state = self._state
        state.writes, state.argv = dict(writes), argv  # a copy: the savepoint may be needed again
        for name in {*state.mappings, *mappings}:
            self._mapping(name).rollback(mappings.get(name, {}))

    def _differs(self, before: object, after: object) -> bool:
        """Return whether the request differs between two savepoints; writing the present value is no change."""
        assert isinstance(before, tuple)
        assert isinstance(after, tuple)
        (old, old_argv, old_mappings), (new, new_argv, new_mappings) = before, after
        struct = self._struct
        if any(
            (old[name] if name in old else struct.raw(name)) != (new[name] if name in new else struct.raw(name))
            for name in {**old, **new}
        ):
            return True
        if old_argv != new_argv and new_argv != (struct.array("argv") if old_argv is None else old_argv):
            return True
        for name in {**old_mappings, **new_mappings}:
            mapping, was, now = self._mapping(name), old_mappings.get(name, {}), new_mappings.get(name, {})
            if any((was[key] if key in was else mapping._load(key)) != now[key] for key in now):
                return True
        return False

    def commit(self) -> None:
        """Apply the staged writes; for dispatch. They were checked at assignment, so this cannot fail."""
        state = self._state
        written, writes = state.struct.written, state.writes
        # In a submission "" means unset; in an update it clears the field, as in scontrol's requests.
        if not state.modify and b"" in writes.values():
            writes = {member: None if raw == b"" else raw for member, raw in writes.items()}
        written.update(writes)
        if state.argv is not None:
            written["argv"] = state.argv
        for mapping in state.mappings.values():
            mapping.commit()

    def close(self) -> None:
        """Make every later use raise StaleHandleError; for dispatch."""
        mappings = self._state.mappings
        while mappings:  # each refers to the state
            mappings.popitem()[1].close()
        object.__delattr__(self, "_state")


def chained(before: Any, after: Any, now: Any) -> object:
    """Add the changes of one handler to a later savepoint, except those that another handler has overwritten since.

    The savepoints are from before and after the handler, and a later one without the handler's changes.
    """
    argv = after[1] if after[1] != before[1] and now[1] == before[1] else now[1]
    mappings = {
        name: _merged(*(savepoint[2].get(name, {}) for savepoint in (before, after, now)))
        for name in {**after[2], **now[2]}
    }
    return _merged(before[0], after[0], now[0]), argv, mappings


def _merged(before: dict[str, Any], after: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    changes = {
        key: value
        for key, value in after.items()
        if before.get(key, ...) != value and now.get(key, ...) == before.get(key, ...)
    }
    return {**now, **changes}


def owner_of(job: Job) -> int | None:
    """Return the user id of a job's owner; ``user_id`` of an update is the sender or unset."""
    owner: int | None = job.user_id if job._owner is None else job._owner
    return owner


class RequestMembers(Members):
    """The members of a request; writes are staged like those of handlers."""

    __slots__ = ()

    _view: Job

    def put(self, member: str, value: Raw) -> None:
        """Stage a raw value."""
        self._view._state.writes[member] = value

    def array(self, member: str) -> list[bytes]:
        """Return an array of texts; for ``argv`` the staged words, if there are any."""
        return self._view._words() if member == "argv" else self._view._struct.array(member)

    def is_set(self, member: str) -> bool:
        """Return whether a text or an array is set, without asking slurmctld for a long one."""
        return self._view._is_set(member)


VIEWS: dict[str, type[View]] = {"job": Job, **records.VIEWS}
"""The views, by the names of the tables."""
