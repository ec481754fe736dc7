# SPDX-License-Identifier: GPL-2.0-or-later
"""The file in which a node remembers its health checks."""

import contextlib
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.node.brake import Brake
from slurmhooks.node.draining import Controller
from slurmhooks.node.model import BUG, REFUSED, HealthNode, Result
from slurmhooks.node.run import Settings, run
from slurmhooks.node.state import CheckState, NodeMemory, StateFile, read
from slurmhooks.node.verdict import texts
from tests.seeds import each_seed
from tests.unit.node.making import check


class Down:
    """A slurmctld that does not answer."""

    def node(self, name: str, /) -> Any:
        """Fail."""
        raise ConnectionRefusedError(name)

    def drained(self) -> tuple[int, list[tuple[int, int, str, str | None]]]:
        """Fail."""
        raise ConnectionRefusedError

    def drain(self, name: str, reason: bytes, /) -> None:
        """Fail."""
        raise ConnectionRefusedError(name)

    def fail(self, name: str, reason: bytes, /) -> None:
        """Fail."""
        raise ConnectionRefusedError(name)

    def undrain(self, name: str, reason: bytes | None, /) -> None:
        """Fail."""
        raise ConnectionRefusedError(name)


TEXTS = ["", "disk is full", "a\tb\nc\\d", "ü\udcff\x00", "🎉" * 300]


def drawn(seed: int) -> NodeMemory:
    """Return a state with any texts."""
    draw = random.Random(seed)
    state = NodeMemory()
    state.slurmd, state.boot, state.before = (draw.choice(TEXTS) for _ in range(3))
    state.reasons = [(text, draw.randrange(1 << 40)) for text in draw.sample(TEXTS, draw.randint(0, 2))]
    state.unconfirmed = draw.random() < 0.5
    for number in range(draw.randint(0, 3)):
        name = f"h:{number}{draw.choice(TEXTS)}"
        state.checks[name] = CheckState(draw.randint(0, 9), draw.choice(TEXTS), draw.random() * 1e9, draw.choice(TEXTS))
    return state


@each_seed(50)
def test_any_state_survives(seed: int) -> None:
    """What was written is read again, whatever texts it has."""
    state = drawn(seed)
    assert read(state.data()).data() == state.data()


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@each_seed(200)
def test_damage_is_noticed(seed: int) -> None:
    """A damaged file raises ValueError or is a state; nothing else."""
    draw = random.Random(seed)
    data = bytearray(drawn(seed).data())
    for _ in range(draw.randint(1, 5)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    with contextlib.suppress(ValueError):
        read(bytes(data[: draw.randint(0, len(data))]))


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """Folder and file have no permissions for others, whatever the umask is."""
    before = os.umask(0)
    try:
        file = StateFile("n1", f"{tmp_path}/health")
        assert file.lock()
        file.write(NodeMemory())
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "health", *(tmp_path / "health").iterdir())]
    assert modes == [0o700, 0o600, 0o600]


def test_an_unchanged_state_is_not_written(tmp_path: Path) -> None:
    """Healthy nodes wear out no disk."""
    file = StateFile("n1", str(tmp_path))
    file.write(NodeMemory())
    before = (tmp_path / "n1").stat().st_ino
    again = StateFile("n1", str(tmp_path))
    again.write(again.read())
    assert (tmp_path / "n1").stat().st_ino == before


@pytest.mark.parametrize("kept", [True, False])
def test_refusals_that_cannot_be_counted(kept: bool) -> None:
    """If the state cannot be written, one refusal is enough, because each run would take its own for the first one.

    That does not make a bug a refusal.
    """
    results = {"h:refuses": Result(REFUSED, "disk is full"), "h:broken": Result(BUG, "raised KeyError")}
    checks = [check(lambda: None, label, fails=3) for label in results]
    state = NodeMemory()
    state.of("h:broken").text, state.of("h:broken").fails = "an earlier refusal", 1
    slurmctld = Controller(Down())
    lines, _ = run(
        HealthNode("n1", ("cycle",)),
        checks,
        state,
        Settings(45.0, Brake(1)),
        slurmctld,
        lambda: kept,
        lambda chosen, _: [results[each.label] for each in chosen],
        100.0,
    )
    assert texts(checks, state) == ([] if kept else ["disk is full"])
    assert any("keeps its state" in line for line in lines) == (not kept)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """A second run for the same node does nothing; after the end of the first, by whatever signal, it runs."""
    code = f"from slurmhooks.node.state import StateFile; print(StateFile('n1', {str(tmp_path)!r}).lock(), flush=True)"
    first = subprocess.Popen([sys.executable, "-c", f"{code}; input()"], stdin=-1, stdout=-1, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "True\n"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
    first.kill()
    first.communicate()
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
