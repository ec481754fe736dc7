# SPDX-License-Identifier: GPL-2.0-or-later
"""A hook file runs only if no untrusted user owns it or a folder above, or could write to it."""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from tests.unit.files.trusted.conftest import (
    EXPOSURES,
    HANDLER,
    NOBODY,
    Write,
    finding,
    load,
    make_group_writable,
    root,
)

SLURM_USER = 64030


@root
@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("component", ["site", "site/slurm", "site/slurm/hooks.d", "site/slurm/hooks.d/a.py"])
def test_every_component_is_judged(path: Path, tmp_path: Path, component: str, exposure: str) -> None:
    """A file is refused if others can write to it or a folder above; the command in the finding repairs it.

    This holds for any group, even root's: if a file has an access control list, the group's bit stands for all its
    entries.
    """
    expose, what, command = EXPOSURES[exposure]
    place = tmp_path / component
    expose(place)
    text = finding(path)
    assert text.startswith(f"{path}: {'it' if place == path else place} {what}")
    assert text.endswith(f": {command} {place}")
    subprocess.run(text.rpartition(": ")[2].split(), check=True)
    assert load(path) == 1


def test_a_sticky_folder_is_no_safe_place(path: Path, tmp_path: Path) -> None:
    """A file directly below /tmp is refused; the remedy is not to change /tmp."""
    (tmp_path / "site").chmod(0o1777)
    assert finding(path).endswith(f": move {path} to a folder that only root can write")


@pytest.mark.parametrize(
    ("owner", "uid", "others", "runs"),
    [
        (0, 0, (), True),
        (0, SLURM_USER, (), True),
        (SLURM_USER, SLURM_USER, (), True),
        (SLURM_USER, 0, (), False),
        (SLURM_USER, 0, (SLURM_USER,), True),
        (NOBODY, SLURM_USER, (), False),
        (NOBODY, 0, (SLURM_USER,), False),
    ],
)
@root
def test_whose_files_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, uid: int, others: tuple[int, ...], runs: bool
) -> None:
    """Files of root and of this process's user are accepted, and for `slurmhooks check` those of further users."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr("posix.getuid", lambda: uid)
    trusted.guard(*others)
    os.chown(path, owner, -1)
    if runs:
        assert load(path) == 1
    else:
        assert f" belongs to {trusted._user_name(owner)}" in finding(path)


@root
def test_a_file_below_a_home(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to give the home directory of a user to root."""
    monkeypatch.setattr(trusted, "_home", {NOBODY: str(tmp_path / "site")}.get)
    os.chown(tmp_path / "site", NOBODY, -1)
    assert finding(path).endswith(f": move {path} to a folder that only root can write")


@root
@pytest.mark.parametrize(
    ("map_of_users", "owner", "runs"),
    [
        ("         0       2001          1\n", NOBODY, True),
        ("         0       2001          1\n", 4711, False),
        ("         0       2001          1\n         1     100000      65536\n", NOBODY, False),
        ("         0          0 4294967295\n", NOBODY, False),
    ],
    ids=["hidden", "shown", "a container's own nobody", "no namespace"],
)
def test_owners_in_a_user_namespace(
    path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, map_of_users: str, owner: int, runs: bool
) -> None:
    """A user namespace shows root's files as nobody's; files of a user nobody whom it maps are refused."""
    monkeypatch.setattr(trusted, "UID_MAP", str(write("uid_map", map_of_users)))
    os.chown(path, owner, -1)
    if runs:
        assert load(path) == 1
    else:
        assert "belongs to" in finding(path)


def load_in_namespace(path: Path, *maps: str) -> int:
    """Load a hook file as root of a user namespace with a map of user ids; return 0, or 1 if it is refused."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.setgroups([])
            ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
            os.write(ready[1], b".")
            os.read(go[0], 1)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            trusted.guard()
            trusted.read(str(path))
            code = 0
        except LoadError:
            code = 1
        finally:
            os._exit(code)
    os.read(ready[0], 1)
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{name}").write_text("".join(f"{row}\n" for row in maps))
    os.write(go[1], b".")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for descriptor in (*ready, *go):
        os.close(descriptor)
    return code


@root
def test_owners_in_a_real_user_namespace(reachable: Path) -> None:
    """The same in a real namespace like those of podman, which hides root and maps a user nobody."""
    maps = ("0 2001 1", "1 100000 65536")
    (reachable / "site" / "hooks.d").mkdir(parents=True)
    path = reachable / "site" / "hooks.d" / "a.py"
    path.write_text(HANDLER)
    (reachable / "link").symlink_to("site")
    for name in (path, reachable / "link" / "hooks.d" / "a.py"):
        assert load_in_namespace(name, *maps) == 0
        assert load_in_namespace(name, maps[0]) == 0
    for place in (path, path.parent, path.parents[1]):
        for owner, runs in ((2001, 0), (100000 + NOBODY - 1, 1), (100000, 1), (0, 0)):
            os.chown(place, owner, owner)
            assert load_in_namespace(path, *maps) == runs, (place, owner)


def test_the_root_folder_is_judged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root folder is checked, too: in a container, any user may own it."""
    real = os.fstat
    top = os.stat("/")

    def fstat(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        if not os.path.samestat(status, top):
            return status
        return os.stat_result((status.st_mode | 0o002, *status[1:]))

    monkeypatch.setattr("posix.fstat", fstat)
    assert finding(path).endswith(": chmod o-w /")


def test_a_process_of_a_user(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a user runs files of any owner, but none that everybody can write to."""
    monkeypatch.setattr(trusted, "_owners", None)
    (tmp_path / "site").chmod(0o1777)
    make_group_writable(path)
    assert load(path) == 1
    for place, mode in ((path, 0o646), (path.parent, 0o1777), (path.parent, 0o777), (tmp_path / "site", 0o777)):
        before = place.stat().st_mode
        place.chmod(mode)
        assert "is writable by everybody" in finding(path)
        place.chmod(before)
    (tmp_path / "site" / "link.py").symlink_to(path)
    assert finding(tmp_path / "site" / "link.py").startswith(f"{tmp_path}/site/link.py: {tmp_path}/site is writable")
