# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments ``nodes`` and ``jobs`` of power handlers, which run as SlurmUser."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.log import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST = 60
"""Seconds that a command of Slurm may take."""
LENGTH = 200
"""Bytes of the reason of a node."""


def scontrol(*words: str) -> str:
    """Run scontrol, and return its output.

    Raises:
        SlurmhooksError: it failed, or slurmctld did not answer within a minute.
    """
    try:
        done = subprocess.run(
            ("scontrol", *words),
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmhooksError(f"scontrol {words[0]}: {error}") from None
    if done.returncode:
        raise SlurmhooksError(f"scontrol {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def down(hostlist: str, reason: str, ask: Callable[..., str] = scontrol) -> None:
    """Set nodes to DOWN for a reason in one line, escaped, of at most 200 bytes.

    Raises:
        SlurmhooksError: slurmctld refused, or did not answer.
    """
    shown = one_line(reason, LENGTH) or "a power hook gave up"
    ask("update", f"NodeName={hostlist}", "State=DOWN", f"Reason={shown}")


def give_back(hostlist: str, reason: str, ask: Callable[..., str] = scontrol) -> None:
    """Give back nodes that cannot be started now: Slurm requeues their jobs, and may start the nodes again later.

    They go DOWN, which ends their start; are powered down, so that SuspendProgram is called for them; and are resumed:
    without ``SlurmctldParameters=idle_on_node_suspend``, slurmctld would leave them DOWN. A process that is killed
    between two steps may repeat all.

    Raises:
        SlurmhooksError: slurmctld refused, or did not answer.
    """
    down(hostlist, reason, ask)
    for state in ("POWER_DOWN", "RESUME"):
        ask("update", f"NodeName={hostlist}", f"State={state}")


@dataclass(frozen=True, slots=True)
class PowerNode:
    """A node that Slurm wants to start or stop.

    Attributes:
        name: NodeName.
        features: AvailableFeatures; empty if it has none.
        partitions: the partitions that contain it.
    """

    name: str
    features: tuple[str, ...]
    partitions: tuple[str, ...]
    _scontrol: Callable[..., str] = scontrol

    def down(self, reason: str) -> None:
        """Set the node to DOWN, as ``scontrol update``: Slurm requeues its jobs at once, without ResumeTimeout.

        Args:
            reason: the Reason of the node; see :func:`down`.

        Raises:
            SlurmhooksError: slurmctld refused, or did not answer.
        """
        down(self.name, reason, self._scontrol)

    def give_back(self, reason: str) -> None:
        """Give the node back, as in a cloud that has no room: Slurm requeues its jobs, and may start it again later.

        Args:
            reason: the Reason of the node while it is DOWN; see :func:`give_back`.

        Raises:
            SlurmhooksError: slurmctld refused, or did not answer.
        """
        give_back(self.name, reason, self._scontrol)


class PowerNodes(Mapping[str, PowerNode]):
    """``nodes``: the nodes of a call by name, in Slurm's order.

    Attributes:
        hostlist: the nodes as Slurm wrote them, such as ``c[1-3]``.
    """

    def __init__(self, hostlist: str, names: Iterable[str], ask: Callable[..., str] = scontrol) -> None:
        """Store the names; the first read of a node asks slurmctld about all of them."""
        self.hostlist = hostlist
        self._names = dict.fromkeys(names)
        self._ask = ask
        self._rows: dict[str, PowerNode] | None = None

    def give_back(self, reason: str) -> None:
        """Give all nodes of the call back; see :meth:`PowerNode.give_back`.

        Raises:
            SlurmhooksError: slurmctld refused, or did not answer.
        """
        give_back(self.hostlist, reason, self._ask)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._names)

    def __getitem__(self, name: str) -> PowerNode:
        """Return a node.

        Raises:
            KeyError: the call does not name it.
            SlurmhooksError: slurmctld did not answer.
        """
        if name not in self._names:
            raise KeyError(name)
        if self._rows is None:
            # All nodes: asked for one that slurmctld does not show, scontrol fails. Release 22.05 hides cloud nodes
            # that are off. One that was starting is off again if slurmctld was killed before it saved its state.
            self._rows = {node.name: node for node in _parse(self._ask("show", "node", "-o"), self._ask)}
        # A node that was removed from slurm.conf meanwhile must still be stopped.
        return self._rows.get(name) or PowerNode(name, (), (), self._ask)


def _parse(text: str, ask: Callable[..., str]) -> Iterator[PowerNode]:
    for line in text.splitlines():
        words: dict[str, str] = {}
        for word in line.split():
            name, is_pair, value = word.partition("=")
            if is_pair:
                # The texts of operators, such as Reason, come last, and may have such words, too.
                words.setdefault(name, value)
        if "NodeName" in words:
            yield PowerNode(
                words["NodeName"], _names(words.get("AvailableFeatures")), _names(words.get("Partitions")), ask
            )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name for name in (text or "").split(",") if name and name != "(null)")


@dataclass(frozen=True, slots=True)
class ResumeJob:
    """A job for which nodes are started, from SLURM_RESUME_FILE.

    Attributes:
        job_id: its id.
        partition: its partition; None if Slurm does not say.
        features: its constraint; None if it has none.
        nodes_alloc: all nodes of the job, as a host list.
        nodes_resume: those that are started for it, as a host list.
        fields: all that Slurm wrote about it, by Slurm's names, which depend on the release.
    """

    job_id: int
    partition: str | None
    features: str | None
    nodes_alloc: str | None
    nodes_resume: str | None
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ResumeJob:
        """Return the job of an entry of the file."""
        given = fields.get
        return cls(
            int(fields["job_id"]),
            given("partition"),
            given("features"),
            given("nodes_alloc"),
            given("nodes_resume"),
            fields,
        )
