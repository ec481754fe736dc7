# SPDX-License-Identifier: GPL-2.0-or-later
"""What periodic rules do to jobs and nodes: staged while a handler runs, taken after it has returned."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from slurmhooks.fields import JobFields
from slurmhooks.handlers.similar import nearest
from slurmhooks.slurmctld.asking import Asking, Struct
from slurmhooks.slurmctld.call import about_record
from slurmhooks.slurmctld.model import Node, Record, View
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import answer, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.fields.classes import Computations
    from slurmhooks.slurmctld.table import Table
    from slurmhooks.wire.tables import Tables

DRAIN = 0x200
"""NODE_STATE_DRAIN of slurm.h: a flag in a node's state."""
PENDING, RUNNING, SUSPENDED = 0, 1, 2
"""JOB_PENDING, JOB_RUNNING and JOB_SUSPENDED of slurm.h."""
LAST_STATE = SUSPENDED
"""The states of jobs that have not ended are up to this one."""
STATE_BASE = 0xFF
"""JOB_STATE_BASE of slurm.h: the state without flags."""
LONGEST = 1024
"""Maximum bytes of the text of an action."""
WAITING = "_*"
"""After the id of a job array: those of its tasks that wait in a common record."""
UPDATES_OF_NODES = ("comment", "extra", "features", "features_act", "gres", "weight")
"""Fields of nodes that rules may change; the last one is a number, the others are texts."""
WHOLE = ("cancel", "hold", "release", "requeue")
"""Actions on a component of a heterogeneous job that are for the whole job, because Slurm has no others."""


class Action(NamedTuple):
    """Something that a handler wants to be done.

    Attributes:
        kind: such as "cancel"; the methods of ActingRecord and ActingNode have these names.
        target: the job, as users write it, or the name of the node.
        text: the reason, what the user is told, or the new values.
        job_id: None for a node.
        state: what the job or the node was when the handler saw it; the action is taken only if it still is.
        about: what distinguishes the job from others; see about_record.
        fields: for "update", the new values.
        message: for "update" of a job, the new values as an answer of a handler.
        whose: for "undrain", the end of the reasons that it may end.
    """

    kind: str
    target: str
    text: str
    job_id: int | None
    state: tuple[Any, ...]
    about: dict[str, Any]
    fields: Mapping[str, Any] = MappingProxyType({})
    message: bytes = b""
    whose: str | None = None

    @property
    def what(self) -> str:
        """The action in words, for the log."""
        return f"{self.kind} {'node' if self.job_id is None else 'job'} {self.target}"


class Acting(Asking):
    """Questions of one run, and the actions that its handler stages.

    Attributes:
        staged: the actions, each once.
        mark: ends the reason of each drain by this rule.
    """

    def __init__(self, tables: Tables, query: Callable[[bytes], bytes], rule: str) -> None:
        """Stage nothing yet.

        Args:
            tables: of the build.
            query: see Asking.
            rule: the label of the handler.
        """
        super().__init__(tables, query)
        self.staged: dict[tuple[str, str, str], Action] = {}
        self.mark = f" [{rule}]"

    def stage(self, action: Action, row: Any) -> None:
        """Add an action, unless its job or node is already as it would make it."""
        if needless(action, row) is not None:
            return
        of_text = action.kind in ("notify", "update")
        self.staged.setdefault((action.kind, action.target, action.text if of_text else ""), action)


def _text(name: str, text: object) -> str:
    """Return a text for Slurm.

    Raises:
        TypeError: it is not a text.
        ValueError: it is empty, too long, or has a NUL byte.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} takes a str, not {text!r}")
    size = len(text_to_c(name, text) or b"")
    if not text.strip() or size > LONGEST:
        raise ValueError(f"{name} takes a text of 1 to {LONGEST} bytes; this one has {size}")
    return text


def _new_values(what: str, fields: dict[str, Any]) -> str:
    """Return new values as a text for the log.

    Raises:
        TypeError: there are none.
        ValueError: one of them is None.
    """
    if not fields:
        raise TypeError(f"{what}.update() takes at least one field, such as comment=...")
    for name, value in fields.items():
        if value is None:
            raise ValueError(f"{what}.update({name}=None) would change nothing; an empty text clears a text")
    return ", ".join(f"{name}={value!r}" for name, value in fields.items())


def job_state(record: Any) -> tuple[Any, ...]:
    """Return what an action requires to be unchanged: submission, number of restarts, waiting tasks, and the state."""
    waiting = record.array_task_cnt if _waits_together(record) else None
    return record.submit_time, record.restart_cnt, waiting, int(record.job_state) & STATE_BASE


def node_state(node: Any) -> tuple[Any, ...]:
    """Return whether a node is drained, and why."""
    drained = bool(node._struct.raw("node_state") & DRAIN)
    return drained, node.reason if drained else None


def _waits_together(record: Any) -> bool:
    """Tell whether a record stands for all tasks of an array that have not started."""
    return bool(record.array_task_cnt) and record.array_task_id is None


def target_of(record: Any, kind: str = "") -> str:
    """Return a job as users write it, a task of an array or a component; for actions on WHOLE jobs, these."""
    if _waits_together(record):
        return f"{record.array_job_id}{WAITING}"
    if record.array_task_id is not None:
        return f"{record.array_job_id}_{record.array_task_id}"
    if record.het_job_id:
        return str(record.het_job_id) if kind in WHOLE else f"{record.het_job_id}+{record.het_job_offset}"
    return str(record.job_id)


def obsolete(action: Action, row: Any) -> str | None:
    """Return why an action is not to be taken any more; None: its job or node is still what the rule saw."""
    if row is None:
        return "it no longer exists"
    if action.job_id is not None and job_state(row) != action.state:
        return "it has changed since"
    return needless(action, row) or (_inapplicable(action) if action.job_id is not None else _not_ours(action, row))


def needless(action: Action, row: Any) -> str | None:
    """Return why a job or node is already as an action would make it, or can no longer be made so; or None."""
    if action.job_id is not None and job_state(row)[-1] > LAST_STATE:
        return "it has ended"
    match action.kind:
        case "hold" if row.priority == 0:
            return "it is held already"
        case "release" if row.priority != 0:
            return "it is not held"
        case "drain" if node_state(row)[0]:
            return "it is drained already"
        case "undrain" if not node_state(row)[0]:
            return "it is not drained"
        case "update" if _has(row, action.fields):
            return "it has these values already"
    return None


def _inapplicable(action: Action) -> str | None:
    """Return why an action is not possible for a job in this state, or None."""
    state = action.state[-1]
    match action.kind:
        case "hold" | "release" if state != PENDING:
            return "it is not pending"
        case "requeue" if state not in (RUNNING, SUSPENDED):
            return "it is not running"
        case "notify" if state != RUNNING:
            return "it is not running"
    return None


def _not_ours(action: Action, node: Any) -> str | None:
    """Return why the drain of a node is not to be ended, or None."""
    if action.kind != "undrain":
        return None
    reason = node.reason or ""
    if action.whose is None:
        return None if reason == action.text else f"its reason is {reason!r}, set by user {node.reason_uid}"
    if reason.endswith(action.whose):
        return None
    return f"this rule has not drained it: its reason is {reason!r}, set by user {node.reason_uid}"


def _has(row: Any, fields: Mapping[str, Any]) -> bool:
    """Tell whether a job or node has these values; False if the row has no such field."""
    names = row._names()
    return all(name in names and (getattr(row, name) or "") == (value or "") for name, value in fields.items())


class Update(JobFields, View):
    """New values for a job."""

    __slots__ = ()


class ActingRecord(Record):
    """A job with actions."""

    __slots__ = ()

    _updates: ClassVar[type[Any]]

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in super()._names() if name not in ("notify", "update", *WHOLE)]

    def _stage(self, kind: str, text: str, **others: Any) -> None:
        view: Any = self
        target, about = target_of(view, kind), about_record(view)
        view._struct.asking.stage(Action(kind, target, text, view.job_id, job_state(view), about, **others), view)

    def cancel(self, reason: str) -> None:
        """End the job after the handler has returned; a running one is told the reason."""
        self._stage("cancel", _text("reason", reason))

    def hold(self, reason: str) -> None:
        """Hold the pending job after the handler has returned; its admin_comment becomes the reason."""
        self._stage("hold", _text("reason", reason))

    def release(self) -> None:
        """Release the held job after the handler has returned, whoever has held it."""
        self._stage("release", "")

    def requeue(self) -> None:  # type: ignore[override] # the field of this name says whether that is permitted
        """End the running batch job after the handler has returned, and let it wait again."""
        self._stage("requeue", "")

    def notify(self, text: str) -> None:
        """Write a line to the running job after the handler has returned; the same line only once."""
        self._stage("notify", _text("text", text))

    def update(self, **fields: Any) -> None:
        """Change the job after the handler has returned, as ``scontrol update job`` does.

        Args:
            fields: those of the ``job`` of job_modify, such as ``time_limit=60``.

        Raises:
            AttributeError: there is no such field, or it is read-only.
            TypeError: a value has the wrong type.
            ValueError: a value does not fit.
        """
        text = _new_values("job", fields)
        view: Any = self
        tables = view._struct.asking.tables
        table = tables["job"]
        update = self._updates(Struct(table, pack(table, {}), None))
        for name, value in fields.items():
            setattr(update, name, value)
        self._stage("update", text, fields=fields, message=answer(tables, 0, None, update._writes))


class ActingNode(Node):
    """A node with actions."""

    __slots__ = ()

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in super()._names() if name not in ("drain", "undrain", "update")]

    def _stage(self, kind: str, text: str, **others: Any) -> None:
        view: Any = self
        view._struct.asking.stage(Action(kind, view.name, text, None, node_state(view), {}, **others), view)

    def drain(self, reason: str) -> None:
        """Drain the node after the handler has returned, unless it already is; its reason ends with the rule's name."""
        view: Any = self
        self._stage("drain", _text("reason", reason) + view._struct.asking.mark)

    def undrain(self, reason: str | None = None) -> None:
        """End the drain of the node after the handler has returned.

        Args:
            reason: ends only a drain with exactly this reason, whoever set it. None: only one by this rule, whose
                name is at the end of the node's reason.
        """
        view: Any = self
        if reason is None:
            self._stage("undrain", "", whose=view._struct.asking.mark)
        else:
            self._stage("undrain", _text("reason", reason))

    def update(self, **fields: Any) -> None:
        """Change the node after the handler has returned, as ``scontrol update node`` does.

        Args:
            fields: of UPDATES_OF_NODES, such as ``comment="spare"``.

        Raises:
            AttributeError: there is no such field, or it cannot be changed.
            TypeError: a value has the wrong type.
            ValueError: a value does not fit.
        """
        text = _new_values("node", fields)
        for name, value in fields.items():
            if name not in UPDATES_OF_NODES:
                raise AttributeError(f"node.update() has no {name!r}{nearest(name, UPDATES_OF_NODES)}")
            if name != UPDATES_OF_NODES[-1]:
                text_to_c(name, value)
            elif not isinstance(value, int):
                raise TypeError(f"{name} takes an int, not {value!r}")
            elif not 0 <= value < 1 << 31:
                raise ValueError(f"{name} takes 0 to {(1 << 31) - 1}, not {value}")
        self._stage("update", text, fields=fields)


class ActingViews(Views):
    """The views of periodic rules."""

    def bound(self, view: type[Any], table: str, computed: Computations | None = None) -> Any:
        """Return a class of views; jobs and nodes have actions."""
        acting: dict[str, type[Any]] = {"record": ActingRecord, "node": ActingNode}
        result = super().bound(acting.get(table, view), table, computed)
        if table == "record":
            result._updates = super().bound(Update, "job")
        return result

    def row(self, action: Action, asking: Asking) -> Any:
        """Return the job or the node of an action as it is now; None if it does not exist."""
        table: Table[Any, Any] = self.table("nodes" if action.job_id is None else "jobs", asking)
        return table.get(action.target if action.job_id is None else action.job_id)
