# SPDX-License-Identifier: GPL-2.0-or-later
"""Health checks in the testing kit."""

from pathlib import Path

import pytest

from slurmhooks import testing
from slurmhooks.errors import LoadError

HOOKS = """
import os
from slurmhooks import Reject, hook

@hook.node.health_check(fails=2)
def disk(node):
    if os.path.exists("{folder}/full"):
        raise Reject(f"disk of {{node.name}} is full")

@hook.node.health_check(every="1h", contexts=("start", "idle"))
def slow(node):
    if os.path.exists("{folder}/bug"):
        1 / 0
"""


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """A hook file with two health checks."""
    path = tmp_path / "hooks.py"
    path.write_text(HOOKS.format(folder=tmp_path))
    return path


def test_a_node_over_several_runs(hooks: Path) -> None:
    """The node goes on from run to run: it is drained after the second refusal, and undrained after a pass."""
    node = testing.FakeNode("n7")
    assert testing.health(hooks, node).results == {"hooks:disk": "passed", "hooks:slow": "passed"}
    (hooks.parent / "full").touch()
    first = testing.health(hooks, node)
    assert (first.results, first.drained) == ({"hooks:disk": "refused"}, False)  # the other one runs once in an hour
    second = testing.health(hooks, node)
    assert (second.drained, second.reason) == (True, "disk of n7 is full")
    (hooks.parent / "full").unlink()
    node.clock += 3600
    assert testing.health(hooks, node).results == {"hooks:disk": "passed", "hooks:slow": "passed"}
    assert (node.drained, node.reason) == (False, None)


def test_checks_for_some_nodes(hooks: Path) -> None:
    """A check runs on the nodes that it names; a node that it no longer names is undrained."""
    text = hooks.read_text()
    hooks.write_text(text.replace("fails=2", 'nodes="gpu[01-16],n7"'))
    (hooks.parent / "full").touch()
    node = testing.FakeNode("n7")
    assert testing.health(hooks, node).drained
    assert testing.health(hooks, testing.FakeNode("gpu16")).drained
    assert testing.health(hooks, testing.FakeNode("gpu17")).results == {"hooks:slow": "passed"}
    hooks.write_text(text.replace("fails=2", 'nodes="gpu*"'))
    assert not testing.health(hooks, node).drained
    hooks.write_text(text.replace("fails=2", 'nodes="gpu["'))
    with pytest.raises(LoadError, match="nodes takes a list of nodes"):
        testing.health(hooks, node)


def test_what_a_test_can_decide(hooks: Path) -> None:
    """Contexts, a drain by others, the brake, and a slurmctld that does not answer."""
    (hooks.parent / "full").touch()
    busy = testing.FakeNode(contexts=("cycle", "alloc"))
    assert testing.health(hooks, busy).results == {"hooks:disk": "refused"}
    busy.drained, busy.reason = True, "by hand"
    assert testing.health(hooks, busy).reason == "by hand"
    full = testing.FakeNode(nodes=20, others=2)
    for _ in range(2):
        last = testing.health(hooks, full, at_most="10%")
    assert not last.drained
    assert "at_most" in last.log[-1]
    alone = testing.FakeNode()
    alone.answers = False
    testing.health(hooks, alone)
    assert "slurmctld" in testing.health(hooks, alone).log[-1]


def test_a_node_that_is_rebooted(hooks: Path) -> None:
    """A reboot that waits keeps the drain; a check that refuses keeps the node closed when it registers."""
    (hooks.parent / "full").touch()
    node = testing.FakeNode("n7")
    for _ in range(2):
        testing.health(hooks, node)
    node.flags.add("REBOOT_REQUESTED")
    (hooks.parent / "full").unlink()
    assert testing.health(hooks, node).drained
    node.flags = {"DRAIN", "REBOOT_ISSUED"}
    node.next_state = "RESUME"
    (hooks.parent / "full").touch()
    for _ in range(2):
        testing.health(hooks, node)
    node.register()
    assert (node.flags, node.reason) == ({"FAIL"}, "disk of n7 is full")
    assert testing.health(hooks, node).drained
    node.flags.add("NO_FLAG")
    with pytest.raises(ValueError, match="has no 'NO_FLAG'"):
        testing.health(hooks, node)


def test_others_are_drained_for(hooks: Path) -> None:
    """The brake counts per check: nodes that another check has drained leave room."""
    (hooks.parent / "full").touch()
    for others, drained in (({"no GPU": 2}, True), ({"disk of n7 is full": 2}, False), ({"a": 3, "b": 3}, False)):
        node = testing.FakeNode("n7", nodes=20, others=others)
        for _ in range(2):
            testing.health(hooks, node)
        assert node.drained == drained


def test_a_bug(hooks: Path) -> None:
    """A bug changes nothing, and its traceback is in the log."""
    (hooks.parent / "bug").touch()
    result = testing.health(hooks)
    assert result.results["hooks:slow"] == "bug"
    assert any("ZeroDivisionError" in line for line in result.log)
    assert not result.drained
