# SPDX-License-Identifier: GPL-2.0-or-later
"""Staging of containers: handlers see and may do the same in a real scrun and with `slurmhooks.testing`."""

import json
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.testing import FakeContainer, run
from tests.cluster import kit_pairs
from tests.cluster.containers import User, install
from tests.cluster.kit_pairs import differences
from tests.cluster.scrun_lab import LONG, alice, lab

pytestmark = [pytest.mark.one_release("24.11", "26.05"), pytest.mark.moved]

__all__ = ["alice", "lab"]  # fixtures

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import hook
from slurmhooks.scrun.model import Container

NAMES = (*Container.TEXTS, *Container.NUMBERS)

def outcome(function):
    try:
        return plain(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def at(container, place):
    first = {name: getattr(container, name) for name in NAMES}
    new = {"root_path": container.root_path or container.bundle + "/rootfs"}
    acts = {f"set {name}": outcome(lambda: setattr(container, name, new.get(name, value)))
            for name, value in first.items()}
    acts |= {f"set {name} to {value!r}": outcome(lambda: setattr(container, name, value))
             for name in NAMES for value in (3.5, b"x", "a\\0b")}
    acts |= {
        "no such name": outcome(lambda: container.nonesuch),
        "set no such name": outcome(lambda: setattr(container, "nonesuch", 1)),
        "cancelled": container.cancelled,
        "no variable": outcome(lambda: container.job_env["NO_SUCH_NAME"]),
        "set a variable": outcome(lambda: container.job_env.__setitem__("KIT", "1")),
        "status": outcome(lambda: container.allocator_command(["true"]).status),
        "output": outcome(lambda: container.allocator_command("true").output),
        "no command": outcome(lambda: container.allocator_command([])),
    }
    after = {name: getattr(container, name) for name in NAMES}
    record(place=place, first=first, env=dict(container.job_env.items()), seen={**acts, "after": after, "first": first})

@hook.scrun.stage_in
def stage_in(container):
    at(container, "stage_in")

@hook.scrun.stage_out
def stage_out(container):
    at(container, "stage_out")
"""
)


def test_staging(alice: User, tmp_path: Path) -> None:
    """Fields, variables, results of commands, and the texts of errors are the same in both calls."""
    kit_pairs.prepare(alice.cluster)
    install(alice.cluster, HOOKS.replace("@FOLDER@", kit_pairs.FOLDER))
    alice.bundle(*LONG)
    assert alice.create("demo")[0] == 0
    alice.start("demo")
    alice.wait_output("demo", "started")
    alice.sh(f"{alice.scrun} kill demo KILL")

    def seen() -> list[dict[str, Any]]:
        return [json.loads(line) for line in alice.sh(f"cat {kit_pairs.FOLDER}/records").splitlines()]

    alice.wait(lambda: len(seen()) == 2, "stage_out")
    alice.wait_job_over()
    hooks = tmp_path / "kit.py"
    hooks.write_text(HOOKS.replace("@FOLDER@", str(tmp_path)))
    wrong = []
    for row in seen():
        (tmp_path / "records").write_text("")
        result = run(hooks, f"scrun.{row['place']}", container=FakeContainer(**row["first"], job_env=row["env"]))
        assert result.accepted, result
        (mine,) = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
        wrong += [f"{row['place']}: {text}" for text in differences(mine["seen"], row["seen"], ())]
    assert not wrong, "\n".join(wrong)
