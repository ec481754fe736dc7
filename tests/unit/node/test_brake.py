# SPDX-License-Identifier: GPL-2.0-or-later
"""How many nodes health checks drain, if many fail at the same time."""

import random
import threading
from typing import Any

import pytest

from slurmhooks.hooks import node_states
from slurmhooks.hooks.node_states import DRAIN
from slurmhooks.node import state
from slurmhooks.node.brake import Brake, kind
from slurmhooks.node.draining import Controller, settle
from tests.seeds import each_seed


class Cluster:
    """Many nodes that run their checks in threads: all of a group ask before one of them drains."""

    def __init__(self, nodes: int, draw: random.Random) -> None:
        self.lock = threading.Lock()
        self.draw = draw
        self.clock = 1000.0
        self.rows: dict[str, int] = {}
        self.names = [f"n{number}" for number in range(nodes)]
        self.reasons: dict[str, str] = {}
        self.together = threading.Barrier(1)
        self.asked = threading.local()

    def node(self, name: str, /) -> Any:
        """Return what slurmctld knows."""
        with self.lock:
            return {
                "reason": self.reasons.get(name),
                "own": True,
                "time": self.rows.get(name, 0),
                "state": DRAIN if name in self.rows else 0,
                "next_state": node_states.UNSET,
                "load": "",
            }

    def drained(self) -> tuple[int, list[tuple[int, int, str, str | None]]]:
        """Return the nodes that are drained."""
        with self.lock:
            rows: list[tuple[int, int, str, str | None]] = [
                (time, self.names.index(name), name, self.reasons[name]) for name, time in self.rows.items()
            ]
            self.draw.shuffle(rows)
        if not hasattr(self.asked, "before"):
            self.asked.before = True
            self.together.wait()
        return len(self.names), rows

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain a node."""
        with self.lock:
            self.clock += self.draw.choice([0, 0, 0, 0.3])
            self.rows[name], self.reasons[name] = int(self.clock), reason.decode()

    def fail(self, name: str, reason: bytes, /) -> None:
        """Set a node to FAIL, which none of them needs."""
        raise NotImplementedError

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Undrain a node."""
        del reason
        with self.lock:
            self.rows.pop(name, None)

    def pause(self, seconds: float) -> None:
        """Wait for the others, and for the clock of slurmctld."""
        self.together.wait()
        with self.lock:
            self.clock += seconds

    def refuse(self, names: list[str], most: int, text: str = "NFS of {name}7 is gone, 3 GiB") -> None:
        """Let checks fail on some nodes at the same time."""
        self.together = threading.Barrier(len(names), timeout=120)

        def of_node(name: str) -> None:
            texts = [text.format(name=name)]
            settle(name, texts, state.NodeMemory(), Brake(count=most), Controller(self), lambda: None, 1e9, self.pause)

        threads = [threading.Thread(target=of_node, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@each_seed(40)
def test_the_brake_holds_when_nodes_fail_at_once(seed: int) -> None:
    """As many nodes are drained as the brake allows, not one more and not one less, in whatever order they ask.

    Each node has numbers of its own in its text.
    """
    draw = random.Random(seed)
    cluster = Cluster(draw.randint(2, 24), draw)
    most = draw.randint(0, 6)
    names = draw.sample(cluster.names, len(cluster.names))
    first = draw.randint(1, len(names) - 1)
    for group in (names[:first], names[first:]):
        cluster.refuse(group, most)
    assert len(cluster.rows) == min(most, len(names))


@pytest.mark.parametrize("most", range(4))
def test_one_check_leaves_room_for_others(most: int) -> None:
    """A check that refuses on all nodes does not keep the others from draining; all together have a limit."""
    draw = random.Random(most)
    cluster = Cluster(40, draw)
    texts = ("/tmp has {name} MiB free, less than 5%", "disk sd{name} fails", "the fan is loud", "no GPU", "no network")
    for number, text in enumerate(texts):
        cluster.refuse(cluster.names[8 * number :][:8], most, text)
    drained = [kind(cluster.reasons[name]) for name in cluster.rows]
    assert [drained.count(kind(text.format(name="n1"))) for text in texts] == [most, most, most, 0, 0]


@pytest.mark.parametrize(
    ("text", "nodes", "most"), [("3", 1000, 3), ("10%", 1000, 100), ("5%", 4, 1), ("0", 9, 0), ("0%", 9, 1)]
)
def test_brakes(text: str, nodes: int, most: int) -> None:
    """A share is at least one node, so that small clusters drain, too."""
    assert (Brake.of(text).most(nodes), str(Brake.of(text))) == (most, text)
