# SPDX-License-Identifier: GPL-2.0-or-later
"""Drains the node and undrains it, and touches nothing that somebody else has decided.

What is about to be done is in the state file before slurmctld is asked. So whenever this process is killed, the next
run finishes it: a drain is ours if reason, user and time are those of a drain in the file.

When a node registers after ``scontrol reboot``, slurmctld mostly takes DRAIN away, whoever has set it, and starts jobs
at once. FAIL closes a node in the same way and stays: such a node is FAIL until the run after that makes it DRAIN.
"""

from __future__ import annotations

from time import sleep

from slurmhooks.hooks import node_states
from slurmhooks.hooks.node_states import CLOSED, FAIL, NOT_RESPONDING
from slurmhooks.node.brake import JOINT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, TypedDict, TypeVar

    from slurmhooks.node.brake import Brake, Drained
    from slurmhooks.node.state import NodeMemory

    Answer = TypeVar("Answer")

    class Known(TypedDict):
        """What slurmctld knows about a node, as in _slurmhooks_node.

        ``own``: the user of this process has set the reason; ``time``: when; ``state`` and ``next_state``: see
        slurmhooks.hooks.node_states; ``load``: a context, or "".
        """

        reason: str | None
        own: bool
        time: int
        state: int
        next_state: int
        load: str

    class Slurmctld(Protocol):
        """The functions of _slurmhooks_node; they raise OSError if slurmctld does not answer or refuses."""

        def node(self, name: str, /) -> Known:
            """Return what slurmctld knows about a node."""

        def drained(self) -> tuple[int, list[Drained]]:
            """Return the number of nodes; and those that this process's user has drained."""

        def drain(self, name: str, reason: bytes, /) -> None:
            """Drain a node with a reason; it is no longer FAIL."""

        def fail(self, name: str, reason: bytes, /) -> None:
            """Set a node to FAIL with a reason; it is no longer DRAIN."""

        def undrain(self, name: str, reason: bytes | None, /) -> None:
            """Undrain a node; set a reason if it is not None."""


class Said:
    """What has become of the node: a line for slurmd's log, where it has level error if it ``is_error``."""

    __slots__ = ("is_error", "text")

    def __init__(self, text: str, is_error: bool) -> None:
        self.text = text
        self.is_error = is_error


class Unanswered(Exception):  # noqa: N818 - what slurmctld did
    """slurmctld does not answer, or refuses."""


SAVED = 60.0
"""Seconds after which slurmctld has certainly saved what it was told. Before that, it may forget it if it is killed."""
MOST_REASONS = 8
"""How many reasons of ours a node remembers, until the drain is over."""
SETTLED = 1.1
"""Seconds after which no drain can get the time of ours in slurmctld, which counts in seconds."""


class Controller:
    """slurmctld in one run, whose errors are Unanswered. After the first one, each further question raises at once."""

    __slots__ = ("_error", "_slurmctld")

    def __init__(self, slurmctld: Slurmctld) -> None:
        self._slurmctld = slurmctld
        self._error: OSError | None = None

    def node(self, name: str, /) -> Known:
        """Return what slurmctld knows about a node."""
        return self._answer(lambda: self._slurmctld.node(name))

    def drained(self) -> tuple[int, list[Drained]]:
        """Return the number of nodes, and those that are drained."""
        return self._answer(self._slurmctld.drained)

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain a node with a reason."""
        self._answer(lambda: self._slurmctld.drain(name, reason))

    def fail(self, name: str, reason: bytes, /) -> None:
        """Set a node to FAIL with a reason."""
        self._answer(lambda: self._slurmctld.fail(name, reason))

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Undrain a node; set a reason if it is not None."""
        self._answer(lambda: self._slurmctld.undrain(name, reason))

    def _answer(self, ask: Callable[[], Answer]) -> Answer:
        if self._error is None:
            try:
                return ask()
            except OSError as error:
                self._error = error
        raise Unanswered(self._error)


def settle(
    name: str,
    texts: Sequence[str],
    state: NodeMemory,
    brake: Brake,
    slurmctld: Controller,
    save: Callable[[], object],
    now: float,
    pause: Callable[[float], None] = sleep,
) -> Said | None:
    """Drain or undrain the node, if that is necessary; return what has become of it, None if nothing has.

    ``texts`` are those of the checks that refuse; none if all pass. ``now`` is in seconds since 1970.

    Raises:
        Unanswered: slurmctld does not answer; the next run tries again.
        OSError: the state cannot be written.
    """
    if not texts and not state.reasons:
        return None
    node = slurmctld.node(name)
    ours = _is_ours(node, state)
    if ours:
        _note_time(node, state)  # a former run was killed before it could
    if not texts:
        return _reopen(name, node, ours, state, slurmctld, save, now)
    reason = JOINT.join(texts)
    if ours:
        if state.unconfirmed and not _is_among_first(name, texts, brake, slurmctld, pause):
            return _take_back(name, node, reason, brake, state, slurmctld, save, now)
        fails = node_states.drain_ends(node["state"], node["next_state"])
        if node["reason"] == reason and bool(node["state"] & FAIL) == fails and not state.unconfirmed:
            return None
        _close(name, node, reason, state, slurmctld, save)
        state.unconfirmed = False
        return Said(f"{name} drained: {reason}", True)
    # A drain that slurmctld itself ends in a moment keeps the node closed no longer.
    passing = not node["state"] & FAIL and node_states.drain_ends(node["state"], node["next_state"])
    if node["state"] & CLOSED and not passing:
        state.forget()
        return Said(f"{name} stays as it is, drained by others ({node['reason']}); health checks say: {reason}", False)
    nodes, drained = slurmctld.drained()
    if not brake.has_room(name, texts, nodes, [other for other in drained if other[2] != name]):
        return _no_room(name, brake, reason)
    state.unconfirmed = True
    state.before = node["reason"] or "" if node["state"] & node_states.BASE == node_states.DOWN else ""
    _close(name, node, reason, state, slurmctld, save)
    if not _is_among_first(name, texts, brake, slurmctld, pause):
        return _take_back(name, slurmctld.node(name), reason, brake, state, slurmctld, save, now)
    state.unconfirmed = False
    return Said(f"{name} drained: {reason}", True)


def _is_ours(node: Known, state: NodeMemory) -> bool:
    """Tell whether a node is closed by us: an equal text of somebody else has another user or another time."""
    reason = node["reason"] or ""
    if not node["state"] & CLOSED:
        return False
    return any(
        node_states.is_reason(reason, own) and (reason != own or (node["own"] and time in (0, node["time"])))
        for own, time in state.reasons
    )


def _note_time(node: Known, state: NodeMemory) -> None:
    """Note when slurmctld has closed the node for us."""
    if node["own"]:
        state.reasons = [
            (reason, time or (node["time"] if reason == node["reason"] else 0)) for reason, time in state.reasons
        ]


def _reopen(
    name: str, node: Known, ours: bool, state: NodeMemory, slurmctld: Controller, save: Callable[[], object], now: float
) -> Said | None:
    """End our drain of a node whose checks pass, unless somebody else needs it now."""
    if ours:
        why = node_states.needed_by_others(node["state"])
        if why:
            return Said(f"{name} stays drained, although all health checks pass: {why}", False)
        _undrain(name, node, state, slurmctld, save, now)
        state.unconfirmed = False
        return Said(f"{name} undrained: all health checks pass", False)
    if node["state"] & CLOSED or not state.released <= now <= state.released + SAVED:
        state.forget()
    return None


def _close(
    name: str, node: Known, reason: str, state: NodeMemory, slurmctld: Controller, save: Callable[[], object]
) -> None:
    """Drain the node; with FAIL if DRAIN would end when it registers."""
    # Former reasons are kept: a slurmctld that is killed before it has saved its state has one of them again.
    state.reasons = [*state.reasons, (reason, 0)][-MOST_REASONS:]
    state.released = 0.0
    save()
    close = slurmctld.fail if node_states.drain_ends(node["state"], node["next_state"]) else slurmctld.drain
    close(name, reason.encode("utf-8", "surrogateescape"))
    _note_time(slurmctld.node(name), state)


def _undrain(
    name: str, node: Known, state: NodeMemory, slurmctld: Controller, save: Callable[[], object], now: float
) -> None:
    if node["state"] & FAIL:  # only DRAIN can be ended without more
        _close(name, node, node_states.without_appended(node["reason"] or ""), state, slurmctld, save)
    # A node that is down gets the reason for that: ReturnToService reads it.
    is_down = node["state"] & node_states.BASE == node_states.DOWN
    is_silent = (node["reason"] or "").endswith(f" : {NOT_RESPONDING}")
    text = (NOT_RESPONDING if is_silent else state.before) if is_down else ""
    before = text.encode("utf-8", "surrogateescape") if text else None
    slurmctld.undrain(name, before)
    state.released = now


def _is_among_first(
    name: str, texts: Sequence[str], brake: Brake, slurmctld: Controller, pause: Callable[[float], None]
) -> bool:
    """Tell whether the node, which is drained, is among the first that may be.

    All nodes may have found room at the same time. The order in which slurmctld has drained them decides, which is
    final when its clock has moved on.
    """
    pause(SETTLED)
    return brake.has_room(name, texts, *slurmctld.drained())


def _take_back(
    name: str,
    node: Known,
    reason: str,
    brake: Brake,
    state: NodeMemory,
    slurmctld: Controller,
    save: Callable[[], object],
    now: float,
) -> Said:
    if _is_ours(node, state):
        if node_states.drain_ends(node["state"], node["next_state"]):
            slurmctld.drain(name, reason.encode("utf-8", "surrogateescape"))  # which ends when the node registers
        elif not node_states.needed_by_others(node["state"]):
            _undrain(name, node, state, slurmctld, save, now)
    return _no_room(name, brake, reason)


def _no_room(name: str, brake: Brake, reason: str) -> Said:
    text = f"{name} is not drained, because {brake} of the nodes are: [node] at_most; health checks say: {reason}"
    return Said(text, True)
