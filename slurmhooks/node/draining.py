# SPDX-License-Identifier: GPL-2.0-or-later
"""Drains the node and undrains it, and touches nothing that somebody else has decided.

What is about to be done is in the state file before slurmctld is asked. So whenever this process is killed, the next
run finishes it: a drained node is ours if its reason is one of those in the file.
"""

from __future__ import annotations

from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from slurmhooks.node.state import State

    Answer = TypeVar("Answer")

    class Known(Protocol):
        """What slurmctld knows about a node; keys as in _slurmhooks_node."""

        def __getitem__(self, key: str, /) -> object:
            """Return a value."""

    class Slurmctld(Protocol):
        """The functions of _slurmhooks_node; they raise OSError if slurmctld does not answer or refuses."""

        def node(self, name: str, /) -> Known:
            """Return what slurmctld knows about a node."""

        def drained(self) -> tuple[int, list[tuple[int, int, str]]]:
            """Return the number of nodes; and time, index and name of each that this process's user has drained."""

        def drain(self, name: str, reason: bytes, /) -> None:
            """Drain a node with a reason."""

        def undrain(self, name: str, reason: bytes | None, /) -> None:
            """Undrain a node; set a reason if it is not None."""


class Said:
    """What has become of the node.

    Attributes:
        text: a line for the log.
        loud: it belongs into slurmd's log at level error.
    """

    __slots__ = ("loud", "text")

    def __init__(self, text: str, loud: bool) -> None:
        """Store the arguments; see the class."""
        self.text = text
        self.loud = loud


class Unanswered(Exception):  # noqa: N818 - what slurmctld did
    """slurmctld does not answer, or refuses."""


SAVED = 60.0
"""Seconds after which slurmctld has certainly saved what it was told. Before that, it may forget it if it is killed."""
MOST_REASONS = 8
"""How many reasons of ours a node remembers, until the drain is over."""
SETTLED = 1.1
"""Seconds after which no drain can get the time of ours in slurmctld, which counts in seconds."""


class Asked:
    """slurmctld in one run, whose errors are Unanswered. After the first one, each further question raises at once."""

    __slots__ = ("_error", "_slurmctld")

    def __init__(self, slurmctld: Slurmctld) -> None:
        """Store whom to ask."""
        self._slurmctld = slurmctld
        self._error: OSError | None = None

    def node(self, name: str, /) -> Known:
        """Return what slurmctld knows about a node."""
        return self._answer(lambda: self._slurmctld.node(name))

    def drained(self) -> tuple[int, list[tuple[int, int, str]]]:
        """Return the number of nodes, and those that are drained."""
        return self._answer(self._slurmctld.drained)

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain a node with a reason."""
        self._answer(lambda: self._slurmctld.drain(name, reason))

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


class Brake:
    """The most nodes that health checks drain."""

    __slots__ = ("count", "percent")

    def __init__(self, count: int | None = None, percent: float | None = None) -> None:
        """Limit their number, or their share of all nodes."""
        self.count = count
        self.percent = percent

    def most(self, nodes: int) -> int:
        """Return the number for a cluster of so many nodes: at least 1 of a share."""
        return self.count if self.count is not None else max(1, int(nodes * (self.percent or 0) / 100))

    @classmethod
    def of(cls, text: str) -> Brake:
        """Return the brake of a text such as "10" or "5%"."""
        return cls(percent=float(text[:-1])) if text.endswith("%") else cls(count=int(text))


def settle(
    name: str,
    reason: str | None,
    state: State,
    brake: Brake,
    slurmctld: Asked,
    save: Callable[[], object],
    now: float,
    pause: Callable[[float], None] = sleep,
) -> Said | None:
    """Drain or undrain the node, if that is necessary; return what has become of it, None if nothing has.

    Args:
        name: of the node.
        reason: with which it must be drained; None if all checks pass.
        state: of the node.
        brake: limits the number of drained nodes.
        slurmctld: asks it.
        save: writes the state.
        now: seconds since 1970.
        pause: waits.

    Raises:
        Unanswered: slurmctld does not answer; the next run tries again.
        OSError: the state cannot be written.
    """
    if reason is None and not state.reasons:
        return None
    node = slurmctld.node(name)
    ours = bool(node["drained"]) and node["reason"] in state.reasons
    if reason is None:
        if ours:
            _undrain(name, node, state, slurmctld, now)
            state.unconfirmed = False
            return Said(f"{name} undrained: all health checks pass", False)
        if node["drained"] or not state.released <= now <= state.released + SAVED:
            state.forget()
        return None
    if ours:
        if state.unconfirmed and not _has_room(name, brake, slurmctld, pause):
            return _brake(name, node, brake, state, slurmctld, now)
        if node["reason"] == reason and not state.unconfirmed:
            return None
        _set(name, reason, state, slurmctld, save)
        state.unconfirmed = False
        return Said(f"{name} drained: {reason}", True)
    if node["drained"]:
        state.forget()
        return Said(f"{name} stays as it is, drained by others ({node['reason']}); health checks say: {reason}", False)
    nodes, others = slurmctld.drained()
    if len([other for _, _, other in others if other != name]) >= brake.most(nodes):
        return _braked(name, brake, reason)
    state.unconfirmed = True
    state.before = str(node["reason"] or "") if node["down"] else ""
    _set(name, reason, state, slurmctld, save)
    if not _has_room(name, brake, slurmctld, pause):
        return _brake(name, slurmctld.node(name), brake, state, slurmctld, now)
    state.unconfirmed = False
    return Said(f"{name} drained: {reason}", True)


def _set(name: str, reason: str, state: State, slurmctld: Asked, save: Callable[[], object]) -> None:
    # Former reasons are kept: a slurmctld that is killed before it has saved its state has one of them again.
    state.reasons = [*(each for each in state.reasons if each != reason), reason][-MOST_REASONS:]
    state.released = 0.0
    save()
    slurmctld.drain(name, reason.encode("utf-8", "surrogateescape"))


def _undrain(name: str, node: Known, state: State, slurmctld: Asked, now: float) -> None:
    # A node that was down when it was drained gets its reason back: ReturnToService reads it.
    before = state.before.encode("utf-8", "surrogateescape") if node["down"] and state.before else None
    slurmctld.undrain(name, before)
    state.released = now


def _has_room(name: str, brake: Brake, slurmctld: Asked, pause: Callable[[float], None]) -> bool:
    """Tell whether the node, which is drained, is among the first that may be.

    All nodes may have found room at the same time. The order in which slurmctld has drained them decides, which is
    final when its clock has moved on.
    """
    pause(SETTLED)
    nodes, others = slurmctld.drained()
    names = [other for _, _, other in sorted(others)]
    return name not in names or names.index(name) < brake.most(nodes)


def _brake(name: str, node: Known, brake: Brake, state: State, slurmctld: Asked, now: float) -> Said:
    reason = str(node["reason"])
    if node["drained"] and reason in state.reasons:
        _undrain(name, node, state, slurmctld, now)
    return _braked(name, brake, reason)


def _braked(name: str, brake: Brake, reason: str) -> Said:
    most = f"{brake.percent:g}%" if brake.count is None else str(brake.count)
    text = f"{name} is not drained, because {most} of the nodes are: [health] at_most; health checks say: {reason}"
    return Said(text, True)
