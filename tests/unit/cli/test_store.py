# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of the sets, when somebody has removed its history, or put links in its place."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli import controllers
from slurmhooks.cli.bundles import archive
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.findings import Finding
from slurmhooks.worker import commands
from tests.unit.cli.deploying import HANDLER

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["/tmp/a", "../a", "a//b", "a/../b", "", "."])
def test_names_that_leave_a_set(site: "Site", name: str) -> None:
    """A store writes nothing outside the folder of a set, whatever it is told to put there."""
    store = Store(site.etc)
    files = {"slurmhooks.toml": File(b""), name: File(b"")}
    with store.locked(), pytest.raises(Finding):
        store.put(archive.pack(files), files)
    assert list(store.place("").iterdir()) == []


def test_a_refusal_without_a_history(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """After somebody has removed the history, a refused deployment leaves the set in force, and no set is lost."""
    site.file(HANDLER.format(0))
    one, two = (
        site.report("deploy", site.make(name, HANDLER.format(number)))["bundle"]
        for number, name in enumerate(("one", "two"), 1)
    )
    (site.etc / "slurmhooks.d" / "events").unlink()
    with monkeypatch.context() as refusing:
        refusing.setattr(commands, "names", lambda folder: ["a socket"])
        refusing.setattr(controllers, "prepare", lambda folder, _: [])
        refusing.setattr(controllers, "serve", lambda folder: ["refused"])
        result = site.call("deploy", site.make("three", HANDLER.format(3)))
    assert result.exit_code == 1, result.output
    assert site.handlers() == ["a:version_2"]
    assert Store(site.etc).deployed == two
    assert {one, two} < set(Store(site.etc).kept())
    site.report("deploy", site.make("four", HANDLER.format(4)))
    assert {one, two} < set(Store(site.etc).kept())
    assert site.report("rollback")["bundle"] == two


def test_a_refusal_without_a_set(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the link to the set in force leads nowhere, it does so after a refused deployment: launches are refused."""
    site.file(HANDLER.format(0))
    site.report("deploy", site.make("one", HANDLER.format(1)))
    (site.etc / "slurmhooks.d" / "events").unlink()
    (site.etc / "slurmhooks.set").unlink()
    (site.etc / "slurmhooks.set").symlink_to("slurmhooks.d/sets/2")
    monkeypatch.setattr(commands, "names", lambda folder: ["a socket"])
    monkeypatch.setattr(controllers, "prepare", lambda folder, _: [])
    monkeypatch.setattr(controllers, "serve", lambda folder: ["refused"])
    assert site.call("deploy", site.make("two", HANDLER.format(2))).exit_code == 1
    assert "leads to no set" in "".join(site.found())


def test_a_copy_that_has_followed_links(site: "Site") -> None:
    """All commands say that the link is a folder now, what has made it one, and what to do; then a set is deployed."""
    site.file(HANDLER.format(0))
    site.report("deploy", site.make("one", HANDLER.format(1)))
    copy = site.root / "copy"
    shutil.copytree(site.etc, copy)  # as `scp -r` does
    two = site.make("two", HANDLER.format(2))
    for command in (("deploy", two), ("rollback",), ("off", "--all"), ("status",)):
        says = f"{copy}/slurmhooks.set: is no link, because whatever has copied it here follows links"
        done = site.run.refused(*command, "--sysconfdir", copy, says=says)
        assert "has been deployed" not in done.output
    (copy / "slurmhooks.set").rename(copy / "away")
    site.run.passed("deploy", two, "--sysconfdir", copy)


def test_a_file_that_nfs_keeps(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has a file of a set open, which NFS keeps, keeps no command from its work; later, all is gone."""
    site.file(HANDLER.format(0))
    site.report("deploy", site.make("one", HANDLER.format(1)))

    def unlink(name: str, *, dir_fd: int | None = None, unlink: Callable[..., None] = os.unlink) -> None:
        if name.startswith(".nfs"):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), name)
        if name == "a.py":
            os.rename(name, ".nfs0001", src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        else:
            unlink(name, dir_fd=dir_fd)

    two = site.make("two", HANDLER.format(2))
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", unlink)
        site.passed("deploy", "--dry-run", two)
        site.report("deploy", two)
        site.report("rollback")
    assert site.handlers() == ["a:version_1"]
    assert list(site.etc.rglob(".nfs*"))
    site.report("rollback", Store(site.etc).kept()[-1])
    assert not list(site.etc.rglob(".new-*"))


@pytest.mark.parametrize("link", ["slurmhooks.d", "slurmhooks.d/sets"])
def test_a_store_behind_a_link(site: "Site", open_folder: Path, link: str) -> None:
    """The folder of the sets may be a link to a folder with the same path; another one is refused at once."""
    site.file(HANDLER.format(0))
    target = open_folder / "disk" / link
    target.mkdir(parents=True)
    (site.etc / link).parent.mkdir(exist_ok=True)
    (site.etc / link).symlink_to(target)
    one = site.report("deploy", site.make("one", HANDLER.format(1)))["bundle"]
    assert site.report("deploy", site.make("two", HANDLER.format(2)))["before"] == one
    assert site.call("status").exit_code == 0
    assert site.report("rollback")["bundle"] == one
    assert site.handlers() == ["a:version_1"]
    (site.etc / "slurmhooks.set").unlink()
    (site.etc / link).unlink()
    other = open_folder / "other"
    other.mkdir()
    (site.etc / link).symlink_to(other)
    site.refused("deploy", open_folder / "two.tar", says="lead to a folder whose path ends with slurmhooks.d/sets")
    assert list(other.iterdir()) == []
