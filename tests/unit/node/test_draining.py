# SPDX-License-Identifier: GPL-2.0-or-later
"""Who drains a node and who undrains it, with crashes at every step, and with administrators in between."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from slurmhooks.fields.constants import NodeStateFlag
from slurmhooks.hooks import node_states
from slurmhooks.hooks.node_states import DRAIN, FAIL, REBOOT_ISSUED, REBOOT_REQUESTED
from slurmhooks.node import state
from slurmhooks.node.brake import Brake
from slurmhooks.node.draining import Controller, Unanswered, settle
from tests.seeds import each_seed

WIDE = Brake(count=1000)


class Crash(BaseException):
    """The process was killed."""


class World:
    """One node in slurmctld, and its state file.

    The process is killed before or after the step ``crash_at``. ``own``: the reason is of the user of these processes.
    """

    def __init__(self) -> None:
        self.flags, self.reason, self.down = 0, None, False
        self.next_state = node_states.UNSET
        self.own, self.time, self.clock = False, 0, 0
        self.answers = True
        self.disk = state.NodeMemory().data()
        self.steps, self.crash_at = 0, None
        self.drains = 0

    reason: str | None
    crash_at: int | None

    @property
    def drained_now(self) -> bool:
        """Whether it gets no jobs."""
        return bool(self.flags & (DRAIN | FAIL))

    def say(self, reason: str | None, own: bool = False) -> None:
        """Set the reason."""
        self.clock += 1
        self.reason, self.own, self.time = reason, own, self.clock

    def close(self, flag: int, reason: str, own: bool = False) -> None:
        """Close the node as slurmctld does: with a reason that it already has, nothing changes."""
        if not (self.flags & flag and self.reason == reason):
            self.say(reason, own)
        self.flags = self.flags & ~(DRAIN | FAIL) | flag

    def open(self) -> None:
        """Return the node to service, as an administrator does."""
        self.flags, self.reason = 0, None

    def reboot(self, next_state: int, asap: bool) -> None:
        """Ask for a reboot, as an administrator does without a reason."""
        self.next_state = next_state
        if asap:
            if not self.flags & DRAIN:
                free = next_state == node_states.UNSET
                self.next_state = node_states.UNDRAIN if free else next_state | node_states.UNDRAIN
            self.flags |= DRAIN
        if self.reason is None:
            self.say("Reboot ASAP" if asap else "reboot requested")
        self.flags |= REBOOT_REQUESTED

    def issue(self) -> None:
        """Let slurmctld begin the reboot that was asked for."""
        self.flags = self.flags & ~REBOOT_REQUESTED | REBOOT_ISSUED
        self.down = True
        self.say(f"{self.reason} : reboot issued")

    def register(self) -> None:
        """Let slurmd register after the reboot."""
        self.flags &= ~REBOOT_ISSUED
        if self.next_state != node_states.UNSET:
            self.flags &= ~DRAIN
        self.down = False
        self.next_state = node_states.UNSET
        if not self.drained_now:
            self.reason = None

    def silence(self) -> None:
        """Let slurmctld miss the node's slurmd."""
        self.down = True
        if "Not responding" not in (self.reason or ""):
            self.say(f"{self.reason} : Not responding" if self.reason else "Not responding")

    def speak(self) -> None:
        """Let slurmd answer again, with ReturnToService=2."""
        self.down = False
        if not self.drained_now:
            self.reason = None

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

    def _known(self) -> Any:
        base = node_states.DOWN if self.down else 2
        known = {"reason": self.reason, "own": self.own, "time": self.time, "load": ""}
        return {**known, "state": self.flags | base, "next_state": self.next_state}

    def node(self, name: str, /) -> Any:
        """Return what slurmctld knows."""
        del name
        return self._asked(self._known)

    def drained(self) -> Any:
        """Return the nodes that are drained."""
        return self._asked(lambda: (100, [(1, 0, "n1", self.reason)] if self.drained_now and self.own else []))

    def drain(self, name: str, reason: bytes, /) -> None:
        """Drain a node."""
        self._close(DRAIN, name, reason)

    def fail(self, name: str, reason: bytes, /) -> None:
        """Set a node to FAIL."""
        self._close(FAIL, name, reason)

    def _close(self, flag: int, name: str, reason: bytes) -> None:
        del name

        def act() -> None:
            self.drains += not self.drained_now
            self.close(flag, reason.decode(), own=True)

        self._asked(act)

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Undrain a node."""
        del name

        def act() -> None:
            self.flags &= ~DRAIN
            self.say(reason.decode() if reason is not None else self.reason if self.down else None, own=True)

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
            settle(
                "n1",
                [] if reason is None else [reason],
                known,
                brake,
                Controller(self),
                save,
                now,
                lambda seconds: None,
            )
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


@each_seed(600)
def test_any_history(seed: int) -> None:
    """Whatever fails, is killed or decided by people in between: the node ends as its last check and people want.

    A node that somebody else has drained, or needs drained, stays untouched, in each run. After a refusal the node
    gets no job, also when it registers after a reboot.
    """
    draw = random.Random(seed)
    world = World()
    theirs = False
    wanted: str | None = None
    events = ["sick", "other", "well", "admin drains", "admin rewords", "admin resumes", "away", "back", "restored"]
    events += ["reboot", "issue", "register", "silent", "speaks"]
    saved = dict(vars(world))
    for _ in range(draw.randint(1, 14)):
        event = draw.choice(events)
        pending = bool(world.flags & (REBOOT_REQUESTED | REBOOT_ISSUED))
        before = {**vars(world)}
        if event in ("sick", "other", "well"):
            wanted = {"sick": "disk is full", "other": "GPU 1 is gone", "well": None}[event]
        elif event == "admin drains" or (event == "admin rewords" and world.drained_now):
            # After a kill in the moment of our drain, nobody can tell an equal one from it.
            killed = any(time == 0 for _, time in state.read(world.disk).reasons)
            words = draw.choice(["by hand", "replace it", *([] if killed else ["disk is full", "GPU 1 is gone"])])
            if not (world.flags & DRAIN and world.reason == words):  # nobody can tell such a drain from ours
                world.close(DRAIN, words, own=draw.random() < 0.5)
                theirs = True
        elif event == "admin resumes":
            world.open()
            theirs = False
        elif event in ("away", "back"):
            world.answers = event == "back"
        elif event == "restored" and not theirs and not pending and saved["flags"] & ~(DRAIN | FAIL) == 0:
            # slurmctld was killed before it saved its state
            for name in ("flags", "reason", "own", "time"):
                setattr(world, name, saved[name])
        elif event == "reboot" and not pending:
            world.reboot(draw.choice([node_states.UNSET, 1 << 8]), draw.random() < 0.5)
        elif event == "issue" and world.flags & REBOOT_REQUESTED:
            world.issue()
        elif event == "register" and world.flags & REBOOT_ISSUED:
            theirs = theirs and world.next_state == node_states.UNSET
            world.register()
        elif event in ("silent", "speaks") and not pending:
            world.silence() if event == "silent" else world.speak()
        saved = before if event != "admin resumes" else {**vars(world)}
        pending = bool(world.flags & (REBOOT_REQUESTED | REBOOT_ISSUED))
        stays = theirs and not (world.flags & REBOOT_ISSUED and world.next_state != node_states.UNSET)
        flags, reason = world.flags, world.reason
        world.crash_at = draw.choice([None, None, *range(1, 16)])
        world.run(wanted)
        if stays:
            assert (world.flags, world.reason) == (flags, reason)
        if pending and flags & (DRAIN | FAIL):
            assert world.drained_now
        if wanted is not None and world.answers and world.crash_at is None and world.flags & REBOOT_ISSUED:
            world.register()
            theirs = stays
            assert world.drained_now
    world.crash_at, world.answers = None, True
    world.run(wanted)
    if world.flags & REBOOT_REQUESTED:
        return
    if world.flags & REBOOT_ISSUED:
        theirs = theirs and world.next_state == node_states.UNSET
        world.register()
    world.run(wanted)
    if not theirs:
        assert (world.drained_now, world.flags & FAIL) == (wanted is not None, 0)
        assert wanted is None or world.reason == wanted


ODD = ("sick : reboot issued", "sick : reboot complete : reboot issued", " : reboot timed out", "a : reboot issued b")
"""Reasons with words that slurmctld appends."""


@pytest.mark.parametrize("reason", ODD)
@pytest.mark.parametrize("appended", ["", " : reboot issued", " : reboot issued : reboot complete"])
def test_a_reason_with_the_words_of_a_reboot(reason: str, appended: str) -> None:
    """Whatever the text of a check is, its drain ends with it, and an equal one of somebody else does not."""
    world = World()
    world.run(reason)
    world.run(reason)
    assert (world.reason, world.drains) == (reason, 1)
    world.reason = f"{reason}{appended}"
    world.own = world.own and not appended
    world.run(None)
    assert not world.drained_now
    world.run(reason)
    world.open()
    world.close(DRAIN, reason)
    world.run(None)
    assert world.drained_now


def test_bits_are_those_of_slurm() -> None:
    """The numbers are those of slurm.h, which the constants of handlers have, too."""
    for name in ("DRAIN", "FAIL", "UNDRAIN", "REBOOT_REQUESTED", "REBOOT_ISSUED", "POWER_DOWN", "POWERING_DOWN"):
        assert getattr(node_states, name) == NodeStateFlag[f"NODE_STATE_{name}"]


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


@pytest.mark.parametrize("drained_first", [True, False])
def test_a_sick_node_that_falls_silent_is_undrained(drained_first: bool) -> None:
    """slurmctld appends that to our reason; a node that is still down afterwards has only that reason again."""
    world = World()
    if not drained_first:
        world.silence()
    world.run("disk is full")
    world.silence()
    world.run(None)
    assert (world.drained_now, world.reason) == (False, "Not responding")
    world.run("disk is full")
    world.silence()
    world.speak()
    world.run(None)
    assert not world.drained_now


def test_a_kill_does_not_release_the_brake() -> None:
    """A node that was killed before it knew whether it had found room asks again, and goes back into service."""
    world = World()
    world.crash_at = 11  # slurmctld has drained it, and the list of others has not been read
    world.run("disk is full", Brake(count=1))
    assert world.drained_now
    world.crash_at = None
    world.run("disk is full", Brake(count=0))
    assert not world.drained_now


def test_a_braked_node_says_so() -> None:
    """The log has the reason that the node would have, and where to change the limit."""
    world = World()
    said = settle(
        "n1",
        ["disk is full"],
        state.NodeMemory(),
        Brake(count=0),
        Controller(world),
        lambda: None,
        1e9,
        lambda seconds: None,
    )
    assert said is not None
    assert said.is_error
    assert "at_most" in said.text
    assert "disk is full" in said.text
    assert not world.drains


def test_a_slurmctld_that_forgets_is_told_again() -> None:
    """A slurmctld that was killed before it saved its state has the old one: the next run asks once more."""
    world = World()
    world.run("disk is full")
    world.open()
    world.run("disk is full")
    assert world.drained_now
    drained = (world.flags, world.reason, world.own, world.time)
    world.run(None)
    world.flags, world.reason, world.own, world.time = drained
    world.run(None, now=1e9 + 300)
    assert not world.drained_now
    world.run(None, now=1e9 + 1000)
    world.run(None, now=1e9 + 1300)
    assert world.steps == 2  # nothing to ask any more
