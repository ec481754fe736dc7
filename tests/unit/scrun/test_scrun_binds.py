# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies in place of bind mounts."""

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import scrun
from slurmhooks.handlers import loader
from slurmhooks.scrun import binds as binds_module
from slurmhooks.scrun import oci
from slurmhooks.scrun.errors import StagingError
from slurmhooks.workshop.testing.anchor import FakeAnchor
from tests.unit.scrun.test_scrun_like_cp import NOBODY, as_nobody

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def rootfs(tmp_path: Path) -> Path:
    """An empty root file system."""
    (tmp_path / "rootfs").mkdir()
    return tmp_path / "rootfs"


def config(*binds: tuple[Path | str, str], **more: Any) -> oci.Config:
    """Return a configuration with bind mounts."""
    mounts = [{"destination": where, "type": "bind", "source": str(source)} for source, where in binds]
    return oci.parse(json.dumps({"ociVersion": "1.2.0", "mounts": mounts, **more}).encode(), "config.json")


def copied(made: oci.Config, number: int = 0) -> Path:
    """Return the path of the copy that is the source of a mount now."""
    return Path(made.mounts[number].source or "")


def test_sources_become_copies_and_come_back(tmp_path: Path) -> None:
    """Mounts have copies of files and folders as sources; changes are copied back, except to read-only mounts."""
    rootfs, data, fixed, name = tmp_path / "rootfs", tmp_path / "my data", tmp_path / "fixed", tmp_path / "resolv"
    for folder in (data, fixed):
        folder.mkdir()
    (data / "in").write_text("in")
    (fixed / "x").write_text("x")
    name.write_text("nameserver")
    mounts: list[dict[str, Any]] = [
        {"destination": "/proc", "type": "proc"},
        {"destination": "/data", "type": "bind", "source": str(data), "options": ["rbind", "rw"]},
        {"destination": "/fixed", "type": "none", "source": str(fixed), "options": ["bind", "ro"]},
        {"destination": "/etc/resolv.conf", "type": "bind", "source": str(name)},
        {"destination": "/sys", "type": "bind", "source": "/sys"},
        {"destination": "/dev/null", "type": "bind", "source": "/dev/null"},
    ]
    made = config(mounts=mounts)
    binds = scrun.copy_binds(made, str(rootfs))
    kept = made.to_json()["mounts"]
    assert [mount | {"source": ""} for mount in kept[1:]] == [mount | {"source": ""} for mount in mounts[1:]]
    assert [mount.source for mount in made.mounts[4:]] == ["/sys", "/dev/null"]
    assert sorted(os.listdir(rootfs)) == ["data", "dev", "etc", "fixed", "proc", "sys"]
    assert (tmp_path / "rootfs.binds").stat().st_mode & 0o7777 == 0o700
    assert (copied(made, 1) / "in").read_text() == "in"
    assert copied(made, 3).read_text() == "nameserver"
    (copied(made, 1) / "out").write_text("out")
    (copied(made, 2) / "x").write_text("changed")
    copied(made, 3).write_text("other")
    (data / "later").write_text("stays")
    scrun.return_binds(binds, str(rootfs))
    assert (data / "out").read_text() == "out"
    assert (data / "later").read_text() == "stays"
    assert (fixed / "x").read_text() == "x"
    assert name.read_text() == "other"


@pytest.mark.parametrize("options", [["ro"], ["rro"], ["ro", "rw"], ["rw", "ro"], ["rro", "rw"]])
def test_what_may_be_read_only_is_not_returned(tmp_path: Path, options: list[str]) -> None:
    """With ``ro`` or ``rro`` nothing is returned, also beside ``rw``: crun then mounts read-only, runc perhaps not."""
    data = tmp_path / "data"
    data.mkdir()
    made = config(mounts=[{"destination": "/d", "source": str(data), "options": ["rbind", *options]}])
    binds = scrun.copy_binds(made, str(tmp_path / "rootfs"))
    (copied(made) / "new").write_text("x")
    scrun.return_binds(binds, str(tmp_path / "rootfs"))
    assert os.listdir(data) == []
    assert made.mounts[0].options == ["rbind", *options]


def test_a_relative_source_is_in_the_bundle(tmp_path: Path) -> None:
    """As for runtimes, a relative source begins at the bundle, and not where scrun runs, also if it stays."""
    data = tmp_path / "bundle" / "data"
    data.mkdir(parents=True)
    os.mkfifo(tmp_path / "bundle" / "fifo")
    mounts = [{"destination": f"/{name}", "source": name, "options": ["bind"]} for name in ("data", "fifo")]
    content = json.dumps({"ociVersion": "1.2.0", "mounts": mounts})
    (tmp_path / "bundle" / "config.json").write_text(content)
    made = oci.read(str(tmp_path / "bundle" / "config.json"))
    binds = scrun.copy_binds(made, str(tmp_path / "rootfs"))
    (copied(made) / "new").write_text("x")
    scrun.return_binds(binds, str(tmp_path / "rootfs"))
    assert os.listdir(data) == ["new"]
    assert made.mounts[1].source == str(tmp_path / "bundle" / "fifo")


def test_sources_within_each_other_have_one_copy(host: Path, tmp_path: Path) -> None:
    """What the container writes at one place it sees at the others, as with real mounts, and all of it is returned."""
    sources = (host / "data" / "file", host / "data", host, host / "data", host / "edited")
    made = config(*((source, f"/{number}") for number, source in enumerate(sources)))
    binds = scrun.copy_binds(made, str(tmp_path / "rootfs"))
    copied(made, 0).write_text("changed")
    copied(made, 4).write_text("changed")
    assert {(copied(made, 2) / name).read_text() for name in ("edited", "data/file")} == {"changed"}
    assert {(copied(made, number) / "file").read_text() for number in (1, 3)} == {"changed"}
    (copied(made, 3) / "new").write_text("new")
    for some in (binds, binds[:2], binds[2:3], binds[3:]):
        (copied(made, 1) / "again").write_text("again")
        scrun.return_binds(some, str(tmp_path / "rootfs"))
        names = sorted(os.listdir(host / "data"))
        assert names == ["again", "file", "new"]
        (host / "data" / "again").unlink()


def test_what_only_the_host_changed_stays(host: Path, tmp_path: Path) -> None:
    """Files and links that the container did not change are not copied back, even right after copying in."""
    rootfs = tmp_path / "rootfs"
    made = config((host, "/a"), (host / "edited", "/file"), (host / "both", "/both"))
    binds = scrun.copy_binds(made, str(rootfs))
    for name in ("edited", "both"):
        (host / name).write_text("later")
    for name in ("removed", "link"):
        (host / name).unlink()
    (host / "link").symlink_to("elsewhere")
    (copied(made) / "both").write_text("of the container")
    (copied(made) / "old" / "result").write_text("result")
    scrun.return_binds(binds, str(rootfs))
    assert (host / "edited").read_text() == "later"
    assert not (host / "removed").exists()
    assert os.readlink(host / "link") == "elsewhere"
    assert (host / "both").read_text() == "of the container"
    assert (host / "old" / "result").read_text() == "result"


def test_what_a_container_renamed_comes_back(host: Path, tmp_path: Path) -> None:
    """Files in a folder that was renamed are returned under the new name, although they did not change."""
    rootfs = tmp_path / "rootfs"
    (host / "old" / "same").write_text("of the old folder")
    (host / "swapped" / "same").write_text("of the other folder")
    (tmp_path / "single").write_text("of the host")
    made = config((host, "/a"), (tmp_path / "single", "/b"))
    binds = scrun.copy_binds(made, str(rootfs))
    inside, single = copied(made), copied(made, 1)
    (inside / "data").rename(inside / "new")
    (inside / "edited").rename(inside / "renamed")
    (inside / "old").rename(inside / "aside")
    (inside / "swapped").rename(inside / "old")
    (inside / "aside").rename(inside / "swapped")
    single.unlink()
    (inside / "both").rename(single)
    scrun.return_binds(binds, str(rootfs))
    assert (host / "new" / "file").read_text() == "data/file of the host"
    assert (host / "renamed").read_text() == "edited of the host"
    assert (host / "old" / "same").read_text() == "of the other folder"
    assert (host / "swapped" / "same").read_text() == "of the old folder"
    assert (tmp_path / "single").read_text() == "both of the host"


@pytest.mark.parametrize("lost", ["clock", "bind"])
def test_without_times_all_files_count_as_changed(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """If nobody knows what the container changed, because the time of the copies is unknown, all files are returned."""
    rootfs = tmp_path / "rootfs"
    if lost == "clock":
        monkeypatch.setattr(binds_module, "CLOCK_SECONDS", 0)
    binds = scrun.copy_binds(config((host, "/a")), str(rootfs))
    if lost == "bind":
        binds = [
            scrun.Bind(bind.source, bind.destination, False, 0, None, bind.host, bind.copy, bind.place)
            for bind in binds
        ]
    (host / "removed").unlink()
    scrun.return_binds(binds, str(rootfs))
    assert (host / "removed").exists()


def test_the_example_returns_changes(host: Path, tmp_path: Path) -> None:
    """The example in contrib returns what the container changed, and nothing that only the host changed."""
    bundle, hooks = tmp_path / "bundle", tmp_path / "hooks.py"
    (bundle / "rootfs").mkdir(parents=True)
    mounts = [{"destination": where, "type": "bind", "source": str(host)} for where in ("/a", "/?")]
    content = {"process": {"cwd": "/", "args": ["sh"]}, "root": {"path": "rootfs"}, "mounts": mounts}
    (bundle / "config.json").write_text(json.dumps({"ociVersion": "1.0.2", **content}))
    text = (PROJECT / "contrib/scrun/staging.py").read_text()
    hooks.write_text(text.replace('SCRATCH = "/run/user/{uid}/slurm/scrun"', f"SCRATCH = {str(tmp_path)!r}"))
    with FakeAnchor(loader.load([loader.Source(path=str(hooks))]), bundle, in_place=True, container_id="x") as trial:
        outcome = trial.stage_in()
        assert outcome.passed, outcome.text
        (host / "edited").write_text("later")
        (tmp_path / "x" / "rootfs.binds" / "0" / "both").write_text("of the container")
        (tmp_path / "x" / "rootfs" / "b").write_text("of the container")
        assert trial.stage_out().passed
    assert (host / "edited").read_text() == "later"
    assert (host / "both").read_text() == "of the container"
    assert (bundle / "rootfs" / "b").exists()
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can make folders of other users")
def test_folders_of_other_users(public_path: Path) -> None:
    """Folders of other users keep owner, mode and times, as below a mount; files that may be made there come back."""
    shared, fixed, own = folders = [public_path / name for name in ("shared", "fixed", "own")]
    for folder in folders:
        (folder / "inner").mkdir(parents=True)
    shared.chmod(0o1777)
    for path in (public_path, public_path / "rootfs", own, own / "inner"):
        os.chown(path, NOBODY, NOBODY)
    made = config(*((folder, f"/{folder.name}") for folder in folders))

    def container() -> None:
        binds = scrun.copy_binds(made, str(public_path / "rootfs"))
        for number in (0, 2):
            (copied(made, number) / "new").write_text("new")
            (copied(made, number) / "inner").chmod(0o700)
        scrun.return_binds(binds, str(public_path / "rootfs"))

    as_nobody(container)
    assert [(folder / "new").exists() for folder in folders] == [True, False, True]
    status = [path.stat() for path in (shared, shared / "inner", fixed, own / "inner")]
    assert [(one.st_uid, one.st_mode & 0o7777) for one in status] == [
        (0, 0o1777),
        (0, 0o755),
        (0, 0o755),
        (NOBODY, 0o700),
    ]


def test_a_bind_of_nothing(tmp_path: Path) -> None:
    """A source that does not exist is named."""
    made = config(mounts=[{"destination": "/a", "type": "bind", "source": "/no/such place"}])
    with pytest.raises(StagingError, match="bind mount of '/no/such place': No such file"):
        scrun.copy_binds(made, str(tmp_path))


def test_a_bind_of_a_socket_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mounts of devices and sockets stay."""
    monkeypatch.chdir(tmp_path)  # the name of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as made_socket:
        made_socket.bind("socket")
        made = config(mounts=[{"destination": "/s", "type": "bind", "source": str(tmp_path / "socket")}])
        assert scrun.copy_binds(made, str(tmp_path)) == []
        assert len(made.mounts) == 1


def test_a_bind_of_a_link_is_one_of_its_target(tmp_path: Path) -> None:
    """A link such as /etc/localtime is copied as a mount shows it, and changes are written to its target."""
    rootfs, zone, name = tmp_path / "rootfs", tmp_path / "zone", tmp_path / "localtime"
    zone.write_text("zone")
    name.symlink_to("zone")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "to folder").symlink_to("folder")
    made = config((name, "/etc/localtime"), (tmp_path / "to folder", "/data"))
    binds = scrun.copy_binds(made, str(rootfs))
    assert not copied(made).is_symlink()
    assert copied(made).read_text() == "zone"
    assert (copied(made, 1) / "file").exists()
    copied(made).write_text("other zone")
    (copied(made, 1) / "new").write_text("x")
    scrun.return_binds(binds, str(rootfs))
    assert name.is_symlink()
    assert zone.read_text() == "other zone"
    assert (tmp_path / "folder" / "new").exists()


def test_a_mode_of_a_file_comes_back(tmp_path: Path) -> None:
    """A file that a container has only given another mode has it on the host, as a file in a folder has."""
    names = [tmp_path / "single", tmp_path / "folder" / "inner"]
    names[1].parent.mkdir()
    for name in names:
        name.write_text("x")
    made = config((names[0], "/single"), (names[1].parent, "/folder"))
    binds = scrun.copy_binds(made, str(tmp_path / "rootfs"))
    for copy in (copied(made), copied(made, 1) / "inner"):
        copy.chmod(0o640)
    scrun.return_binds(binds, str(tmp_path / "rootfs"))
    assert [name.stat().st_mode & 0o777 for name in names] == [0o640, 0o640]


def test_localtime(tmp_path: Path) -> None:
    """The machine's own /etc/localtime, usually a link, can be copied."""
    if not os.path.isfile("/etc/localtime"):
        pytest.skip("NOT TESTED: this machine has no /etc/localtime")
    made = config(("/etc/localtime", "/etc/localtime"))
    scrun.copy_binds(made, str(tmp_path / "rootfs"))
    assert copied(made).read_bytes() == Path("/etc/localtime").read_bytes()


@pytest.mark.parametrize("by", ["file", "fifo", "folder"])
def test_what_a_container_replaced_is_not_returned(tmp_path: Path, by: str) -> None:
    """A folder that became a file, or vice versa, is an error that names both, and the host's entry stays."""
    rootfs, host = tmp_path / "rootfs", tmp_path / "host"
    if by == "folder":
        host.write_text("mine")
    else:
        host.mkdir()
        (host / "precious").write_text("mine")
    made = config((host, "/data"))
    binds = scrun.copy_binds(made, str(rootfs))
    if by == "folder":
        copied(made).unlink()
    else:
        scrun.remove_tree(copied(made))
    if by == "file":
        copied(made).write_text("x")
    elif by == "fifo":
        os.mkfifo(copied(made))
    else:
        copied(made).mkdir()
    with pytest.raises(StagingError, match=r"rootfs.binds/0'.*unlike.*/host'.*neither is replaced"):
        scrun.return_binds(binds, str(rootfs))
    assert (host if by == "folder" else host / "precious").read_text() == "mine"


def test_what_a_container_replaced_within_a_bind_is_not_returned(tmp_path: Path) -> None:
    """The same holds inside a folder; a FIFO in place of a file does not empty the file of the host."""
    rootfs, host, file = tmp_path / "rootfs", tmp_path / "host", tmp_path / "file"
    (host / "sub").mkdir(parents=True)
    (host / "sub" / "precious").write_text("mine")
    file.write_text("mine")
    made = config((host, "/data"), (file, "/file"))
    binds = scrun.copy_binds(made, str(rootfs))
    scrun.remove_tree(copied(made) / "sub")
    (copied(made) / "sub").write_text("x")
    with pytest.raises(StagingError, match=r"host/sub'.*rootfs.binds/0/sub'"):
        scrun.return_binds(binds[:1], str(rootfs))
    assert (host / "sub" / "precious").read_text() == "mine"
    copied(made, 1).unlink()
    os.mkfifo(copied(made, 1))
    with pytest.raises(StagingError, match=r"rootfs.binds/1'.*not a regular file"):
        scrun.return_binds(binds[1:], str(rootfs))
    assert file.read_text() == "mine"


@pytest.mark.parametrize("gone", ["a/file", "a", ""])
def test_what_a_container_removed_stays(tmp_path: Path, gone: str) -> None:
    """Nothing is deleted on the host if the copy or a folder above it is gone, and no link leads anywhere else."""
    rootfs, host = tmp_path / "rootfs", tmp_path / "host"
    (host / "a").mkdir(parents=True)
    (host / "a" / "file").write_text("mine")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("secret")
    made = config((host, "/data"), (host / "a" / "file", "/file"))
    binds = scrun.copy_binds(made, str(rootfs))[1:]
    place = copied(made) / gone
    if place.is_dir():
        scrun.remove_tree(place)
    else:
        place.unlink()
    scrun.return_binds(binds, str(rootfs))
    for goal in ("/nowhere", str(tmp_path / gone)):
        place.symlink_to(goal)
        with contextlib.suppress(StagingError):
            scrun.return_binds(binds, str(rootfs))
        place.unlink()
        assert (host / "a" / "file").read_text() == "mine"


def test_one_text_is_no_list_of_folders(tmp_path: Path) -> None:
    """A str instead of a list is refused with a hint; taken letter by letter, "/proc" would keep every mount."""
    with pytest.raises(TypeError, match=r"write keep=\['/proc'\]"):
        scrun.copy_binds(config(), str(tmp_path), keep="/proc")


@pytest.mark.parametrize("others", ["0710", "0707", "owner"])
def test_a_folder_of_copies_that_others_can_enter(host: Path, tmp_path: Path, others: str) -> None:
    """It is refused by its path, and nothing is copied: others would decide what comes back."""
    place = tmp_path / "rootfs.binds"
    place.mkdir(0o700)
    if others != "owner":
        place.chmod(int(others, 8))
    elif os.geteuid() == 0:
        os.chown(place, 65534, 65534)
    else:
        pytest.skip("NOT TESTED: a folder of another user needs root")
    with pytest.raises(StagingError, match=r"rootfs.binds' is for copies of bind mounts, and others can enter it"):
        scrun.copy_binds(config((host, "/a")), str(tmp_path / "rootfs"))
    assert os.listdir(place) == []


def test_another_folder_of_copies(host: Path, tmp_path: Path) -> None:
    """Nothing comes back from a folder that has taken the place of the one with the copies."""
    rootfs, place = tmp_path / "rootfs", tmp_path / "rootfs.binds"
    binds = scrun.copy_binds(config((host, "/a")), str(rootfs))
    place.rename(tmp_path / "aside")
    (place / "0").mkdir(parents=True)
    (place / "0" / "new").write_text("of somebody else")
    with pytest.raises(StagingError, match=r"rootfs.binds' is another folder than the one with the copies"):
        scrun.return_binds(binds, str(rootfs))
    assert not (host / "new").exists()


def test_copies_of_before_stay(host: Path, tmp_path: Path) -> None:
    """A copy gets a number that no other one has, also if one between was removed."""
    rootfs = tmp_path / "rootfs"
    made = [config((host / name, f"/{name}")) for name in ("edited", "both", "removed")]
    binds = [scrun.copy_binds(each, str(rootfs)) for each in made[:2]]
    copied(made[0]).unlink()
    binds.append(scrun.copy_binds(made[2], str(rootfs)))
    assert [bind.copy for (bind,) in binds] == ["0", "1", "2"]
    assert copied(made[1]).read_text() == "both of the host"
