# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks deploy`` and ``rollback`` on a disk that becomes full at any step."""

import errno
import mmap
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.turns import moved_from
from tests.unit.cli.test_deploy_killed import STARTS, Trial, bundles, version

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

__all__ = ["bundles"]  # a fixture
NAMES = {"os.symlink": 1, "os.mkdir": 0, "os.link": 1}
"""Audit events of calls that create something besides files, and which argument is its name."""


class Full:
    """Lets nothing new be created from the Nth attempt on, in whichever process of a command that is."""

    def __init__(self, step: int, left: mmap.mmap) -> None:
        self._left = left  # shared with the children of the command
        self._left[:] = step.to_bytes(8, "little", signed=True)
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            is_new = isinstance(arguments[2], int) and arguments[2] & os.O_CREAT and not os.path.exists(arguments[0])
            name = arguments[0] if is_new and not str(arguments[0]).endswith(".pyc") else None
        else:
            name = arguments[NAMES[event]] if event in NAMES else None
        if name is None:
            return
        left = int.from_bytes(self._left[:], "little", signed=True) - 1
        self._left[:] = left.to_bytes(8, "little", signed=True)
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(name))


class FullTrial(Trial):
    """A command on a disk that becomes full."""

    def filled(self, step: int) -> int | None:
        """Run the command from the start; return its exit code, or None if the disk had room for all of it."""
        left = mmap.mmap(-1, 8)
        code = os.waitstatus_to_exitcode(self.in_child(lambda: Full(step, left)))
        return code if int.from_bytes(left[:], "little", signed=True) <= 0 else None


@pytest.mark.slow
@pytest.mark.parametrize("start", moved_from(1, STARTS))
def test_full_at_each_step(site: "Site", run: "Call", bundles: list[Path], start: str) -> None:
    """A command that fails has changed nothing, one that succeeds has put its bundle in force; later ones work."""
    (site.etc / "slurmhooks.toml").unlink()
    prepare, number, versions = STARTS[start]
    prepare(site, run, bundles)
    before = version(site)
    (after,) = versions - {before}
    command = ("rollback",) if number is None else ("deploy", bundles[number - 1])
    trial = FullTrial(site, run, *command)
    step = 0
    while (code := trial.filled(step := step + 1)) is not None:
        assert (code, version(site)) in ((0, after), (1, before)), step
        if step % 3 == 0:
            assert trial.next("deploy", bundles[2])
            assert version(site) == 3
    assert step > 3


def test_the_file_that_has_no_room_is_named(site: "Site", bundles: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is neither the lock, whose note about the command may be missing, nor what a new link leads to."""
    assert site.call("deploy", bundles[0]).exit_code == 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        done = site.call("deploy", bundles[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.exit_code == 1
    assert done.output.startswith(f"error: {site.etc}/slurmhooks.d/sets/.new-"), done.output
    assert done.output.endswith(": File too large\n")

    def symlink(target: str, name: str, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target, None, name)

    monkeypatch.setattr(os, "symlink", symlink)
    done = site.refused("deploy", bundles[1])
    assert done.output.startswith(f"error: {site.etc}/slurmhooks.d/.new-"), done.output
    assert version(site) == 1
