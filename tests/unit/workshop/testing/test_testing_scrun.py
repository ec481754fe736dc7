# SPDX-License-Identifier: GPL-2.0-or-later
"""Stand-ins for containers note the commands and paths of handlers."""

from collections.abc import Callable
from pathlib import Path

from slurmhooks.scrun import CommandResult
from slurmhooks.testing import FakeContainer, run


def test_commands_are_noted_and_not_run(hooks: Callable[[str], Path]) -> None:
    """Commands are recorded, and the test gives their results."""
    path = hooks(
        """
@hook.scrun.stage_in
def handler(container):
    if container.allocator_command(["cp", "-r", "a b", "c"]).status:
        raise Reject("cannot copy")
    log.info(container.remote_command("id -u").output)
"""
    )
    container = FakeContainer(command=lambda where, text: CommandResult(0, f"{where} {text}"))
    assert run(path, "scrun.stage_in", container=container).log == ["info: remote_command id -u"]
    assert container.commands == [("allocator_command", "cp -r 'a b' c"), ("remote_command", "id -u")]
    failing = FakeContainer(command=lambda where, text: CommandResult(1, ""))
    assert run(path, "scrun.stage_in", container=failing).text == "cannot copy"


def test_changes_of_a_container(hooks: Callable[[str], Path]) -> None:
    """The result has the paths that handlers set, and stage_out sees them."""
    path = hooks(
        """
@hook.scrun.stage_in
def stage_in(container):
    container.bundle = "/moved/" + container.id
    container.root_path = container.bundle + "/rootfs"
    container.job_env["A"] = "1"

@hook.scrun.stage_out
def stage_out(container):
    log.info("%s %s", container.root_path, container.job_env["A"])
"""
    )
    container = FakeContainer("c1", bundle=Path("/given"))
    changes = {"bundle": "/moved/c1", "root_path": "/moved/c1/rootfs", "job_env": {"A": "1"}}
    assert run(path, "scrun.stage_in", container=container).changes == changes
    assert (container.bundle, container.orig_bundle) == ("/moved/c1", "/given")
    assert run(path, "scrun.stage_out", container=container).log == ["info: /moved/c1/rootfs 1"]


def test_a_cancelled_container(hooks: Callable[[str], Path]) -> None:
    """A handler can check for cancellation; a cancelled container is refused in the end."""
    path = hooks("@hook.scrun.stage_in\ndef handler(container): log.info('%s', container.cancelled)\n")
    result = run(path, "scrun.stage_in", container=FakeContainer(cancelled=True))
    assert result.log == ["info: True"]
    assert not result.accepted
    assert result.text is not None
    assert "cancelled" in result.text
    assert run(path, "scrun.stage_in").log == ["info: False"]
