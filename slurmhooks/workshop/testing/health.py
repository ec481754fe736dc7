# SPDX-License-Identifier: GPL-2.0-or-later
"""Run health checks as slurmhooks_health does, on a node that does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import NodeStateFlag
from slurmhooks.hooks import node_states
from slurmhooks.node import children, run, verdict
from slurmhooks.node.brake import Brake
from slurmhooks.node.draining import Controller
from slurmhooks.node.model import HealthNode
from slurmhooks.node.state import NodeMemory
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.runner import registry_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.node.brake import Drained
    from slurmhooks.node.draining import Known
    from slurmhooks.node.model import Result


class FakeNode:
    """A node for :func:`health`, with what slurmctld and the node itself know about it.

    Args:
        name: NodeName.
        contexts: why the checks run, and what jobs have of the node.
        nodes: how many nodes the cluster has.
        others: how many others of them have been drained by root, before this one, for any check; or how many for
            each reason.
        down: it is down, with this reason; None: it is not.

    Attributes:
        flags: of its state, by Slurm's names without ``NODE_STATE_``, such as "DRAIN", "REBOOT_ISSUED" or
            "POWER_DOWN"; a test may change them, as slurmctld and administrators would.
        next_state: what ``scontrol reboot`` has asked for: "RESUME", "DOWN", or "UNDRAIN" (ASAP); None: nothing.
        answers: whether slurmctld answers.
        clock: seconds since 1970, for checks with ``every``; a test may set it forward.
    """

    def __init__(
        self,
        name: str = "n1",
        *,
        contexts: Iterable[str] = ("cycle", "idle"),
        nodes: int = 100,
        others: int | Mapping[str, int] = 0,
        down: str | None = None,
    ) -> None:
        self.name = name
        self.contexts = tuple(contexts)
        self.nodes = nodes
        self.others = others
        self.down = down is not None
        self.flags: set[str] = set()
        self.next_state: str | None = None
        self.reason = down
        self.answers = True
        self.clock = 1.8e9
        self._state = NodeMemory()

    @property
    def drained(self) -> bool:
        """Whether the node is drained; a test may drain or undrain it, as an administrator would."""
        return "DRAIN" in self.flags

    @drained.setter
    def drained(self, value: bool) -> None:
        (self.flags.add if value else self.flags.discard)("DRAIN")

    @property
    def reason(self) -> str | None:
        """Its reason; None if it has none. A test may set it, as an administrator would."""
        return self._reason

    @reason.setter
    def reason(self, value: str | None) -> None:
        self._reason, self._own = value, False

    def register(self) -> None:
        """Do what slurmctld does when slurmd registers, such as after a reboot."""
        if "REBOOT_ISSUED" not in self.flags:
            return
        if node_states.drain_ends(_bits(self), _next_bits(self)):
            self.flags.discard("DRAIN")
        self.flags.discard("REBOOT_ISSUED")
        self.down, self.next_state = self.next_state == "DOWN", None
        if not self.down and not self.flags & {"DRAIN", "FAIL"}:
            self.reason = None


def _bits(node: FakeNode) -> int:
    """Return the state as Slurm has it.

    Raises:
        ValueError: it has no such flag.
    """
    known = {flag.name.removeprefix("NODE_STATE_"): flag.value for flag in NodeStateFlag if flag.name}
    unknown = sorted(node.flags - known.keys())
    if unknown:
        raise ValueError(f"FakeNode.flags has no {unknown[0]!r}; it may have {', '.join(sorted(known))}")
    return sum(known[name] for name in node.flags) | (node_states.DOWN if node.down else 2)


def _next_bits(node: FakeNode) -> int:
    known = {None: node_states.UNSET, "RESUME": 1 << 8, "DOWN": node_states.DOWN, "UNDRAIN": node_states.UNDRAIN}
    return known[node.next_state]


@dataclass(frozen=True)
class Health:
    """The result of one run of health checks.

    Attributes:
        results: "passed", "refused" or "bug" of each check that ran, by its name.
        texts: reasons, and lines for the log about bugs, by the names of checks.
        drained: whether the node is drained now.
        reason: its reason now; None if it has none.
        log: lines of slurmd's log.
    """

    results: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    drained: bool = False
    reason: str | None = None
    log: list[str] = field(default_factory=list)


def health(
    source: str | os.PathLike[str] | ModuleType | Registry, node: FakeNode | None = None, *, at_most: int | str = "10%"
) -> Health:
    """Run the health checks of a hook file once, and drain or undrain the node.

    Args:
        source: as for :func:`slurmhooks.testing.run`.
        node: the node; by default ``FakeNode()``. With the same one, later calls go on from what earlier ones counted.
        at_most: as in ``[node]`` of the configuration.

    Raises:
        LoadError: the file does not load.
    """
    node = FakeNode() if node is None else node
    checks = verdict.of_node(registry_of(source).handlers("node.health_check"), node.name)
    ran: dict[str, Result] = {}

    def execute(chosen: Sequence[Handler], arguments: dict[str, object]) -> list[Result]:
        results = [children.result(check, arguments) for check in chosen]
        ran.update({check.label: result for check, result in zip(chosen, results, strict=True)})
        return results

    captured = CapturedLog()
    with captured.capturing():
        faults, said = run.run(
            HealthNode(node.name, node.contexts),
            checks,
            node._state,
            run.Settings(45.0, Brake.of(str(at_most))),
            Controller(_Slurmctld(node)),
            lambda: True,
            execute,
            node.clock,
            lambda seconds: None,
        )
    return Health(
        {label: result.kind for label, result in ran.items()},
        {label: result.text for label, result in ran.items() if result.text},
        node.drained,
        node.reason,
        [*captured.lines, *faults, *([said.text] if said is not None else [])],
    )


class _Slurmctld:
    """slurmctld, as far as a node asks it."""

    def __init__(self, node: FakeNode) -> None:
        self._node = node

    def _answer(self) -> FakeNode:
        if not self._node.answers:
            raise OSError("Unable to contact slurm controller (connect failure)")
        return self._node

    def node(self, name: str, /) -> Known:
        """Return what slurmctld knows about the node."""
        node = self._answer()
        return {
            "reason": node.reason,
            "own": node._own,
            "time": 1,
            "state": _bits(node),
            "next_state": _next_bits(node),
            "load": "",
        }

    def drained(self) -> tuple[int, list[Drained]]:
        """Return the number of nodes, and those that are drained."""
        node = self._answer()
        groups = {None: node.others} if isinstance(node.others, int) else node.others
        reasons = [reason for reason, count in groups.items() for _ in range(count)]
        own = [(1, len(reasons), node.name, node.reason)] if node.flags & {"DRAIN", "FAIL"} else []
        return node.nodes, [*((0, index, f"other{index}", reason) for index, reason in enumerate(reasons)), *own]

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain the node."""
        self._close("DRAIN", reason)

    def fail(self, name: str, reason: bytes, /) -> None:
        """Set the node to FAIL."""
        self._close("FAIL", reason)

    def _close(self, flag: str, reason: bytes) -> None:
        node = self._answer()
        node.flags = (node.flags - {"DRAIN", "FAIL"}) | {flag}
        node._reason, node._own = reason.decode(), True

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Undrain the node."""
        node = self._answer()
        node.flags.discard("DRAIN")
        if reason is not None:
            node.reason = reason.decode()
        elif not node.down:
            node.reason = None
