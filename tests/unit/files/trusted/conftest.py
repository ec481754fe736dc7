# SPDX-License-Identifier: GPL-2.0-or-later
"""A privileged process, a hook file, and what exposes files to other users."""

import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source

Write = Callable[..., Path]
NOBODY = 65534
HANDLER = "from slurmhooks import hook\n\n@hook.job_submit\ndef handler(job): ...\n"
EVIL = "raise AssertionError('it ran')\n"
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away, and is attacked by ordinary users")


@pytest.fixture(autouse=True)
def privileged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process trust only root and its own user, as Slurm's daemons do."""
    monkeypatch.setattr(trusted, "_owners", None)
    trusted.guard()


@pytest.fixture
def path(write: Write) -> Path:
    """A hook file, three folders below tmp_path."""
    return write("site/slurm/hooks.d/a.py", HANDLER)


@pytest.fixture
def reachable(tmp_path: Path) -> Iterator[Path]:
    """A folder that ordinary users can enter, below folders of root."""
    folder = Path("/var/lib", f"slurmhooks-test-{os.getpid()}")
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-r", str(folder)], check=True)


def load(path: Path | str) -> int:
    """Load a hook file; return the number of its handlers."""
    return len(loader.load([Source(path=str(path))]).all_handlers())


def finding(path: Path | str) -> str:
    """Return the finding for a hook file."""
    with pytest.raises(LoadError) as caught:
        load(path)
    (text,) = caught.value.findings
    return text


def make_group_writable(path: Path) -> None:
    """Make a file or folder writable by a group."""
    path.chmod(path.stat().st_mode | 0o020)


def make_world_writable(path: Path) -> None:
    """Make a file or folder writable by everybody."""
    path.chmod(path.stat().st_mode | 0o002)


def give_away(path: Path) -> None:
    """Make an ordinary user the owner of a file or folder."""
    os.chown(path, NOBODY, -1)


def allow_by_list(path: Path) -> None:
    """Allow a user to write to a file or folder, by an access control list."""
    tags = ((1, 6, -1), (2, 6, NOBODY), (4, 5, -1), (16, 7, -1), (32, 5, -1))  # user, named user, group, mask, other
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, may, who & 0xFFFFFFFF) for tag, may, who in tags)
    try:
        os.setxattr(path, "system.posix_acl_access", content)
    except OSError as error:
        pytest.skip(f"this file system has no access control lists: {error}")


EXPOSURES = {
    "world": (make_world_writable, "is writable by everybody", "chmod o-w"),
    "group": (make_group_writable, "is writable by group", "chmod g-w"),
    "list": (allow_by_list, "is writable by group", "chmod g-w"),
    "owner": (give_away, "belongs to", "chown root"),
}
