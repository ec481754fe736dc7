# SPDX-License-Identifier: GPL-2.0-or-later
"""What periodic handlers do to jobs and nodes: staged while a handler runs, taken after it has returned."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from slurmhooks.fields import JobFields
from slurmhooks.handlers.labels import ending
from slurmhooks.handlers.similar import nearest
from slurmhooks.log import quoted
from slurmhooks.slurmctld.action import Action
from slurmhooks.slurmctld.asking import Asking, Struct
from slurmhooks.slurmctld.call import about_record
from slurmhooks.slurmctld.effects import job_state, needless, node_state
from slurmhooks.slurmctld.model import Node, Record, View
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import answer, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slurmhooks.fields.classes import Computations
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.slurmctld.table import Table
    from slurmhooks.wire.tables import Tables

WAITING = "_*"
"""After the id of a job array: those of its tasks that wait in a common record."""
UPDATES_OF_NODES = ("comment", "extra", "features", "features_act", "gres", "weight")
"""Fields of nodes that rules may change; the last one is a number, the others are texts."""
TEXTS = ("cancel", "hold", "notify", "drain")
"""Actions that need a text."""
WHOLE = ("cancel", "hold", "release", "requeue")
"""Actions on a component of a heterogeneous job that are for the whole job, because Slurm has no others."""


class Acting(Asking):
    """Questions of one run, and the actions that its handler stages.

    Attributes:
        staged: the actions, each once. What a user or node has more than `at_most` of, of which none is taken, is there
            without its text and values: one user may have very many long ones.
        rule: the label of the handler.
        mark: ends each reason by this rule that stays at a job or node.
    """

    def __init__(self, tables: Tables, query: Callable[[bytes], bytes], handler: Handler) -> None:
        super().__init__(tables, query)
        schedule: Any = handler.schedule
        self.rule = handler.label
        self.mark = ending(handler.label)
        self._most: int = schedule.at_most
        self.clear()

    def clear(self) -> None:
        """Stage nothing."""
        self.staged: dict[tuple[str, str, int], Action] = {}
        self._counts: Counter[tuple[str, object]] = Counter()

    def stage(self, action: Action, row: Any) -> None:
        """Add an action, unless its job or node is already as it would make it; a blank text becomes the rule's name.

        An action with a text or values that do not fit is kept, too: it fails when it would be taken, and no other.
        """
        if needless(action, row) is not None:
            return
        if action.kind in TEXTS and not action.wrong and not action.text.strip():
            action = action._replace(text=self.rule)
        text = (action.text or action.wrong) if action.kind in ("notify", "update") else ""
        key = action.kind, action.target, hash(text)
        if key in self.staged:
            return
        self._counts[action.owner] += 1
        if self._counts[action.owner] > self._most:
            about = {name: value for name, value in action.about.items() if name == "user_id"}
            action = action._replace(text="", wrong="", about=about, fields={}, message=b"")
        self.staged[key] = action


def _given(name: str, text: object) -> tuple[str, str]:
    """Return the text of an action, and why it cannot be one; either is empty."""
    return (text, "") if isinstance(text, str) else ("", f"{name} takes a str, not {quoted(text)}")


def _new_values(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={quoted(value)}" for name, value in fields.items())


def _no_change(fields: Mapping[str, Any]) -> str:
    """Return why new values would change nothing; empty if they would."""
    if not fields:
        return "update() takes at least one field, such as comment=..."
    name = next((name for name, value in fields.items() if value is None), None)
    return f"update({name}=None) would change nothing; an empty text clears a text" if name is not None else ""


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

    def _stage(self, kind: str, text: object, name: str = "reason", **others: Any) -> None:
        view: Any = self
        target, about = target_of(view, kind), about_record(view)
        asking, (shown, wrong) = view._struct.asking, _given(name, text)
        others = {"mark": asking.mark, "wrong": wrong, **others}
        asking.stage(Action(kind, target, shown, view.job_id, job_state(view), about, **others), view)

    def cancel(self, reason: str) -> None:
        """End the job after the handler has returned; a running one is told the reason, which is in its admin_comment.

        A text that is blank becomes the name of the rule; here and below, one that is too long is cut.
        """
        self._stage("cancel", reason)

    def hold(self, reason: str) -> None:
        """Hold the pending job after the handler has returned; the reason is in its admin_comment."""
        self._stage("hold", reason)

    def release(self) -> None:
        """Release the held job after the handler has returned, whoever has held it."""
        self._stage("release", "")

    def requeue(self, reason: str = "") -> None:  # type: ignore[override] # the field says whether that is permitted
        """End the running batch job after the handler has returned, and let it wait again.

        Args:
            reason: is in its admin_comment; empty: none is.
        """
        self._stage("requeue", reason)

    def notify(self, text: str) -> None:
        """Write a line to the running job after the handler has returned; the same line only once."""
        self._stage("notify", text, "text")

    def update(self, **fields: Any) -> None:
        """Change the job after the handler has returned, as ``scontrol update job`` does.

        Args:
            fields: those of the ``job`` of job_modify, such as ``time_limit=60``. A value of a wrong type, or one that
                does not fit, fails this action, and no other.

        Raises:
            AttributeError: there is no such field, or it is read-only.
        """
        view: Any = self
        tables = view._struct.asking.tables
        table = tables["job"]
        update = self._updates(Struct(table, pack(table, {}), None))
        wrong, message = _no_change(fields), b""
        for name, value in fields.items():
            try:
                setattr(update, name, value)
            except (TypeError, ValueError) as error:
                wrong = wrong or str(error)
        if not wrong:
            try:
                message = answer(tables, 0, None, update._writes)
            except ValueError as error:
                wrong = str(error)
        self._stage("update", _new_values(fields), wrong=wrong, fields=fields, message=message)


class ActingNode(Node):
    """A node with actions."""

    __slots__ = ()

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in super()._names() if name not in ("drain", "undrain", "update")]

    def _stage(self, kind: str, text: object, **others: Any) -> None:
        view: Any = self
        asking, (shown, wrong) = view._struct.asking, _given("reason", text)
        others = {"mark": asking.mark, "wrong": wrong, **others}
        asking.stage(Action(kind, view.name, shown, None, node_state(view), {}, **others), view)

    def drain(self, reason: str) -> None:
        """Drain the node after the handler has returned, unless it already is; its reason ends with the rule's name."""
        self._stage("drain", reason)

    def undrain(self, reason: str | None = None) -> None:
        """End the drain of the node after the handler has returned.

        Args:
            reason: ends only a drain with exactly this reason, whoever set it. None: only one by this rule, whose
                name is at the end of the node's reason.
        """
        if reason is None:
            self._stage("undrain", "")
        else:
            self._stage("undrain", reason, mark="")

    def update(self, **fields: Any) -> None:
        """Change the node after the handler has returned, as ``scontrol update node`` does.

        Args:
            fields: of UPDATES_OF_NODES, such as ``comment="spare"``. A value of a wrong type, or one that does not fit,
                fails this action, and no other.

        Raises:
            AttributeError: there is no such field, or it cannot be changed.
        """
        wrong = _no_change(fields)
        for name, value in fields.items():
            if name not in UPDATES_OF_NODES:
                raise AttributeError(f"node.update() has no {name!r}{nearest(name, UPDATES_OF_NODES)}")
            wrong = wrong or _unfit(name, value)
        self._stage("update", _new_values(fields), wrong=wrong, fields=fields)


def _unfit(name: str, value: object) -> str:
    """Return why a field of a node cannot get a value; empty if it can."""
    if name != UPDATES_OF_NODES[-1]:
        try:
            text_to_c(name, value)
        except (TypeError, ValueError) as error:
            return str(error)
    elif not isinstance(value, int):
        return f"{name} takes an int, not {quoted(value)}"
    elif not 0 <= value < 1 << 31:
        return f"{name} takes 0 to {(1 << 31) - 1}, not {value}"
    return ""


class ActingViews(Views):
    """The views of periodic handlers."""

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

    def whole(self, action: Action, row: Any, asking: Asking) -> Sequence[Any]:
        """Return the rows that an action is for: all components of a heterogeneous job, if it is for the whole job."""
        if not row.het_job_id or action.kind not in WHOLE:
            return [row]
        return list(self.table("jobs", asking).where(het_job_id=row.het_job_id))
