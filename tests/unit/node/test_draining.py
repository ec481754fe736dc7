# SPDX-License-Identifier: GPL-2.0-or-later
"""Who drains a node and who undrains it, with crashes at every step, and with administrators in between."""

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from slurmhooks.node import draining, state
from slurmhooks.node.draining import Asked, Brake, Unanswered, settle

WIDE = Brake(count=1000)


class Crash(BaseException):
    """The process was killed."""


class World:
    """One node in slurmctld, and its state file.

    Attributes:
        crash_at: the number of the step before or after which the process is killed; None: never.
    """

    def __init__(self) -> None:
        self.drained_now, self.reason, self.down = False, None, False
        self.answers = True
        self.disk = state.State().data()
        self.steps, self.crash_at = 0, None
        self.drains = 0

    reason: str | None
    crash_at: int | None

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash

    def _asked(self, act: Callable[[], Any]) -> Any:
        self._step()
        if not self.answers:
            raise OSError("no answer")
        result = act()
        self._step()
        return result

    def node(self, name: str, /) -> Any:
        """Return what slurmctld knows."""
        del name
        return self._asked(lambda: {"drained": self.drained_now, "reason": self.reason, "down": self.down})

    def drained(self) -> Any:
        """Return the nodes that are drained."""
        return self._asked(lambda: (100, [(1, 0, "n1")] if self.drained_now else []))

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain a node."""
        del name

        def act() -> None:
            self.drains += not self.drained_now
            self.drained_now, self.reason = True, reason.decode()

        self._asked(act)

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Undrain a node."""
        del name

        def act() -> None:
            self.drained_now = False
            self.reason = reason.decode() if reason is not None else self.reason if self.down else None

        self._asked(act)

    def run(self, reason: str | None, brake: Brake = WIDE, now: float = 1e9) -> None:
        """Run once, as a process that reads its state, and perhaps is killed."""
        known = state.read(self.disk)

        def save() -> None:
            self._step()
            self.disk = known.data()
            self._step()

        self.steps = 0
        try:
            settle("n1", reason, known, brake, Asked(self), save, now, lambda seconds: None)
            save()
        except (Crash, Unanswered):
            pass


def test_a_sick_node_is_drained_with_its_reason_and_a_healthy_one_undrained() -> None:
    """The reason is exactly that of the check, and follows it."""
    world = World()
    world.run("GPU 3 is gone")
    assert (world.drained_now, world.reason) == (True, "GPU 3 is gone")
    world.run("GPU 4 is gone")
    assert (world.drained_now, world.reason) == (True, "GPU 4 is gone")
    world.run(None)
    assert not world.drained_now


def test_a_healthy_node_asks_nothing() -> None:
    """While nothing is to be done, slurmctld gets no request."""
    world = World()
    world.run(None)
    assert world.steps == 2  # those of writing the state


@pytest.mark.parametrize("seed", range(300))
def test_any_history(seed: int) -> None:
    """Whatever fails, is killed or decided by people in between: the node ends as its last check and people want.

    A node that somebody else has drained stays untouched, in each run.
    """
    draw = random.Random(seed)
    world = World()
    theirs = False
    wanted: str | None = None
    saved, resumed = (world.drained_now, world.reason), False
    for _ in range(draw.randint(1, 12)):
        event = draw.choice(
            ["sick", "other", "well", "admin drains", "admin rewords", "admin resumes", "away", "back", "restored"]
        )
        if event in ("sick", "other", "well"):
            wanted = {"sick": "disk is full", "other": "GPU 1 is gone", "well": None}[event]
        elif event == "admin drains" or (event == "admin rewords" and world.drained_now):
            world.drained_now, world.reason, theirs = True, draw.choice(["by hand", "replace it"]), True
        elif event == "admin resumes":
            world.drained_now, world.reason, theirs = False, None, False
        elif event in ("away", "back"):
            world.answers = event == "back"
        elif event == "restored" and not theirs and not resumed:  # slurmctld was killed before it saved its state
            world.drained_now, world.reason = saved
        resumed = event == "admin resumes"
        saved = before = (world.drained_now, world.reason)
        world.crash_at = draw.choice([None, *range(1, 14)])
        world.run(wanted)
        if theirs:
            assert (world.drained_now, world.reason) == before
    world.crash_at, world.answers = None, True
    world.run(wanted)
    if not theirs:
        assert (world.drained_now, world.reason) == (wanted is not None, wanted)


@pytest.mark.parametrize("step", range(1, 20))
@pytest.mark.parametrize("after", [None, "disk is full"])
def test_a_kill_at_any_step(step: int, after: str | None) -> None:
    """The next run finishes what a killed one has begun, to drain as well as to undrain."""
    world = World()
    world.crash_at = step
    world.run("disk is full")
    world.crash_at = None
    world.run(after)
    assert (world.drained_now, world.reason) == (after is not None, after)
    world.crash_at = step
    world.run(None)
    world.crash_at = None
    world.run(None)
    assert not world.drained_now


def test_a_node_that_was_down_gets_its_reason_back() -> None:
    """ReturnToService=1 returns a node only if its reason is still "Not responding"."""
    world = World()
    world.down, world.reason = True, "Not responding"
    world.run("disk is full")
    assert world.reason == "disk is full"
    world.run(None)
    assert (world.drained_now, world.reason) == (False, "Not responding")


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
            return {"drained": name in self.rows, "reason": self.reasons.get(name), "down": False}

    def drained(self) -> tuple[int, list[tuple[int, int, str]]]:
        """Return the nodes that are drained."""
        with self.lock:
            rows = [(time, self.names.index(name), name) for name, time in self.rows.items()]
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

    def fail(self, names: list[str], most: int) -> None:
        """Let checks fail on some nodes at the same time."""
        self.together = threading.Barrier(len(names), timeout=120)

        def of_node(name: str) -> None:
            settle(name, "NFS is gone", state.State(), Brake(count=most), Asked(self), lambda: None, 1e9, self.pause)

        threads = [threading.Thread(target=of_node, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("seed", range(40))
def test_the_brake_holds_when_nodes_fail_at_once(seed: int) -> None:
    """As many nodes are drained as the brake allows, not one more and not one less, in whatever order they ask."""
    draw = random.Random(seed)
    cluster = Cluster(draw.randint(2, 24), draw)
    most = draw.randint(0, 6)
    names = draw.sample(cluster.names, len(cluster.names))
    first = draw.randint(1, len(names) - 1)
    for group in (names[:first], names[first:]):
        cluster.fail(group, most)
    assert len(cluster.rows) == min(most, len(names))


def test_a_kill_does_not_release_the_brake() -> None:
    """A node that was killed before it knew whether it had found room asks again, and goes back into service."""
    world = World()
    world.crash_at = 8  # slurmctld has drained it, and the list of others has not been read
    world.run("disk is full", Brake(count=1))
    assert world.drained_now
    world.crash_at = None
    world.run("disk is full", Brake(count=0))
    assert not world.drained_now


def test_a_braked_node_says_so() -> None:
    """The log has the reason that the node would have, and where to change the limit."""
    world = World()
    said = settle(
        "n1", "disk is full", state.State(), Brake(count=0), Asked(world), lambda: None, 1e9, lambda seconds: None
    )
    assert said is not None
    assert said.loud
    assert "at_most" in said.text
    assert "disk is full" in said.text
    assert not world.drains


@pytest.mark.parametrize(("text", "nodes", "most"), [("3", 1000, 3), ("10%", 1000, 100), ("5%", 4, 1), ("0", 9, 0)])
def test_brakes(text: str, nodes: int, most: int) -> None:
    """A share is at least one node, so that small clusters drain, too."""
    assert draining.Brake.of(text).most(nodes) == most


def test_a_slurmctld_that_forgets_is_told_again() -> None:
    """A slurmctld that was killed before it saved its state has the old one: the next run asks once more."""
    world = World()
    world.run("disk is full")
    world.drained_now, world.reason = False, None
    world.run("disk is full")
    assert world.drained_now
    world.run(None)
    world.drained_now, world.reason = True, "disk is full"
    world.run(None, now=1e9 + 300)
    assert not world.drained_now
    world.run(None, now=1e9 + 1000)
    world.run(None, now=1e9 + 1300)
    assert world.steps == 2  # nothing to ask any more
