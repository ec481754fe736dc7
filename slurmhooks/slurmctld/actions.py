# SPDX-License-Identifier: GPL-2.0-or-later
"""What periodic rules do to jobs and nodes: staged while a handler runs, taken after it has returned."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.call import about_record
from slurmhooks.slurmctld.model import Node, Record
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_to_c

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.fields.classes import Computations
    from slurmhooks.slurmctld.table import Table
    from slurmhooks.wire.tables import Tables

LIBRARY = "libslurmhooks_actions.so"
DRAIN = 0x200
"""NODE_STATE_DRAIN of slurm.h: a flag in a node's state."""
PENDING, RUNNING = 0, 1
"""JOB_PENDING and JOB_RUNNING of slurm.h."""
STATE_BASE = 0xFF
"""JOB_STATE_BASE of slurm.h: the state without flags."""
LONGEST = 1024
"""Maximum bytes of the text of an action."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a handler wants to be done.

    Attributes:
        kind: "cancel", "hold", "notify" or "drain".
        target: the job, as users write it, or the name of the node.
        text: the reason, or what the user is told.
        job_id: None for a node.
        state: what the job or the node was when the handler saw it; the action is taken only if it still is.
        about: what distinguishes the job from others; see about_record.
    """

    kind: str
    target: str
    text: str
    job_id: int | None
    state: tuple[Any, ...]
    about: dict[str, Any]

    @property
    def what(self) -> str:
        """The action in words, for the log."""
        return f"{self.kind} {'node' if self.job_id is None else 'job'} {self.target}"


class Acting(Asking):
    """Questions of one run, and the actions that its handler stages.

    Attributes:
        staged: the actions, each once.
    """

    def __init__(self, tables: Tables, query: Callable[[bytes], bytes]) -> None:
        """Stage nothing yet; see Asking."""
        super().__init__(tables, query)
        self.staged: dict[tuple[str, str, str], Action] = {}

    def stage(self, action: Action) -> None:
        """Add an action."""
        self.staged.setdefault((action.kind, action.target, action.text if action.kind == "notify" else ""), action)


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


def job_state(record: Any) -> tuple[Any, ...]:
    """Return what an action requires to be unchanged: the submission, the number of restarts, and the state."""
    return record.submit_time, record.restart_cnt, int(record.job_state) & STATE_BASE


def node_state(node: Any) -> tuple[Any, ...]:
    """Return what an action on a node requires to be unchanged: whether it is drained."""
    return (bool(node._struct.raw("node_state") & DRAIN),)


def _target(record: Any) -> str:
    """Return a job as users write it: one task of an array is not the whole array."""
    if record.array_task_id is not None:
        return f"{record.array_job_id}_{record.array_task_id}"
    return str(record.job_id)


class ActingRecord(Record):
    """A job with actions."""

    __slots__ = ()

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in super()._names() if name not in ("cancel", "hold", "notify")]

    def _stage(self, kind: str, name: str, text: object) -> None:
        view: Any = self
        action = Action(kind, _target(view), _text(name, text), view.job_id, job_state(view), about_record(view))
        view._struct.asking.stage(action)

    def cancel(self, reason: str) -> None:
        """End the job after the handler has returned; a running one is told the reason."""
        self._stage("cancel", "reason", reason)

    def hold(self, reason: str) -> None:
        """Hold the pending job after the handler has returned; its admin_comment becomes the reason."""
        self._stage("hold", "reason", reason)

    def notify(self, text: str) -> None:
        """Write a line to the running job after the handler has returned; the same line only once."""
        self._stage("notify", "text", text)


class ActingNode(Node):
    """A node with actions."""

    __slots__ = ()

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in super()._names() if name != "drain"]

    def drain(self, reason: str) -> None:
        """Drain the node after the handler has returned, unless it already is."""
        view: Any = self
        action = Action("drain", view.name, _text("reason", reason), None, node_state(view), {})
        view._struct.asking.stage(action)


class ActingViews(Views):
    """The views of periodic rules."""

    def bound(self, view: type[Any], table: str, computed: Computations | None = None) -> Any:
        """Return a class of views; jobs and nodes have actions."""
        acting: dict[str, type[Any]] = {"record": ActingRecord, "node": ActingNode}
        return super().bound(acting.get(table, view), table, computed)

    def row(self, action: Action, asking: Asking) -> Any:
        """Return the job or the node of an action as it is now; None if it does not exist."""
        table: Table[Any, Any] = self.table("nodes" if action.job_id is None else "jobs", asking)
        return table.get(action.target if action.job_id is None else action.job_id)


class Slurm:
    """Calls of libslurm, see native/actions/actions.c."""

    def __init__(self, slurm_conf: Path) -> None:
        """Load the library.

        Raises:
            OSError: it cannot be loaded.
        """
        library = ctypes.CDLL(str(path()), mode=ctypes.RTLD_GLOBAL)  # Slurm's plugins find libslurm's symbols there
        library.slurmhooks_error.restype = ctypes.c_char_p
        library.slurmhooks_open(os.fsencode(slurm_conf) if slurm_conf.exists() else None)
        self._library = library

    def take(self, action: Action) -> str | None:
        """Take an action; return why that failed, or None. May wait for slurmctld."""
        target, text = (value.encode("utf-8", "surrogateescape") for value in (action.target, action.text))
        library = self._library
        match action.kind:
            case "cancel":
                if action.state[-1] == RUNNING:
                    library.slurmhooks_notify(ctypes.c_uint32(action.job_id or 0), b"cancelled: " + text)
                code = library.slurmhooks_cancel(target)
            case "hold":
                code = library.slurmhooks_hold(target, text)
            case "notify":
                code = library.slurmhooks_notify(ctypes.c_uint32(action.job_id or 0), text)
            case _:
                code = library.slurmhooks_drain(target, text)
        return None if not code else library.slurmhooks_error(code).decode("utf-8", "replace")


def path() -> Path:
    """Return the path of the library, beside the tables of the build."""
    return Path(str(sys._xoptions.get("slurmhooks_plugins"))) / LIBRARY
