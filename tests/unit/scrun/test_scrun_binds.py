# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies in place of bind mounts."""

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
from slurmhooks.testing.anchor import FakeAnchor

PROJECT = Path(__file__).resolve().parents[3]


def config(*binds: tuple[Path | str, str], **more: Any) -> oci.Config:
    """Return a configuration with bind mounts."""
    mounts = [{"destination": where, "type": "bind", "source": str(source)} for source, where in binds]
    return oci.parse(json.dumps({"ociVersion": "1.2.0", "mounts": mounts, **more}).encode(), "config.json")


def test_binds_become_copies_and_come_back(tmp_path: Path) -> None:
    """Files and folders are copied in and their mounts removed; changes are copied back, except to read-only mounts."""
    rootfs, data, fixed, name = tmp_path / "rootfs", tmp_path / "my data", tmp_path / "fixed", tmp_path / "resolv"
    for folder in (rootfs / "run", data, fixed):
        folder.mkdir(parents=True)
    (data / "in").write_text("in")
    (fixed / "x").write_text("x")
    name.write_text("nameserver")
    (rootfs / "etc").mkdir()
    (rootfs / "etc" / "resolv.conf").symlink_to("/run/resolv.conf")
    made = config(
        mounts=[
            {"destination": "/proc", "type": "proc"},
            {"destination": "/data", "type": "bind", "source": str(data), "options": ["rbind", "rw"]},
            {"destination": "/fixed", "type": "none", "source": str(fixed), "options": ["bind", "ro"]},
            {"destination": "/etc/resolv.conf", "type": "bind", "source": str(name)},
            {"destination": "/sys", "type": "bind", "source": "/sys"},
            {"destination": "/dev/null", "type": "bind", "source": "/dev/null"},
        ]
    )
    binds = scrun.copy_binds(made, str(rootfs))
    assert [mount.destination for mount in made.mounts] == ["/proc", "/sys", "/dev/null"]
    assert (rootfs / "data" / "in").read_text() == "in"
    assert (rootfs / "run" / "resolv.conf").read_text() == "nameserver"
    assert not Path("/run/resolv.conf").exists()
    (rootfs / "data" / "out").write_text("out")
    (rootfs / "fixed" / "x").write_text("changed")
    (rootfs / "run" / "resolv.conf").write_text("other")
    (data / "later").write_text("stays")
    scrun.return_binds(binds, str(rootfs))
    assert (data / "out").read_text() == "out"
    assert (data / "later").read_text() == "stays"
    assert (fixed / "x").read_text() == "x"
    assert name.read_text() == "other"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Folders and files of the host, and a root file system beside them."""
    (tmp_path / "rootfs").mkdir()
    host = tmp_path / "host"
    for name in ("old/file", "swapped/file", "data/file", "edited", "removed", "both"):
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(f"{name} of the host")
    (host / "link").symlink_to("old")
    return host


def test_what_only_the_host_changed_stays(host: Path, tmp_path: Path) -> None:
    """Files and links that the container did not change are not copied back, even right after copying in."""
    rootfs = tmp_path / "rootfs"
    binds = scrun.copy_binds(config((host, "/a"), (host / "edited", "/file"), (host / "both", "/both")), str(rootfs))
    for name in ("edited", "both"):
        (host / name).write_text("later")
    for name in ("removed", "link"):
        (host / name).unlink()
    (host / "link").symlink_to("elsewhere")
    (rootfs / "a" / "both").write_text("of the container")
    (rootfs / "a" / "old" / "result").write_text("result")
    scrun.return_binds(binds, str(rootfs))
    assert (host / "edited").read_text() == "later"
    assert not (host / "removed").exists()
    assert os.readlink(host / "link") == "elsewhere"
    assert (host / "both").read_text() == "of the container"
    assert (host / "old" / "result").read_text() == "result"


def test_a_file_that_two_binds_show(host: Path, tmp_path: Path) -> None:
    """The copy that the container changed is returned, whichever bind mount comes first."""
    rootfs = tmp_path / "rootfs"
    for changed in ("data/file", "home/data/file"):
        binds = scrun.copy_binds(config((host / "data", "/data"), (host, "/home")), str(rootfs))
        (rootfs / changed).write_text(changed)
        scrun.return_binds(binds, str(rootfs))
        assert (host / "data" / "file").read_text() == changed


def test_what_a_container_renamed_comes_back(host: Path, tmp_path: Path) -> None:
    """Files in a folder that was renamed are returned under the new name, although they did not change."""
    rootfs = tmp_path / "rootfs"
    (host / "old" / "same").write_text("of the old folder")
    (host / "swapped" / "same").write_text("of the other folder")
    binds = scrun.copy_binds(config((host, "/a"), (host / "edited", "/b")), str(rootfs))
    inside = rootfs / "a"
    (inside / "data").rename(inside / "new")
    (inside / "edited").rename(inside / "renamed")
    (inside / "old").rename(inside / "aside")
    (inside / "swapped").rename(inside / "old")
    (inside / "aside").rename(inside / "swapped")
    (rootfs / "b").unlink()
    (inside / "both").rename(rootfs / "b")
    scrun.return_binds(binds, str(rootfs))
    assert (host / "new" / "file").read_text() == "data/file of the host"
    assert (host / "renamed").read_text() == "edited of the host"
    assert (host / "old" / "same").read_text() == "of the other folder"
    assert (host / "swapped" / "same").read_text() == "of the old folder"
    assert (host / "edited").read_text() == "both of the host"


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
        binds = [scrun.Bind(bind.source, bind.destination, bind.read_only, host=bind.host) for bind in binds]
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
        (tmp_path / "x" / "rootfs" / "a" / "both").write_text("of the container")
        (tmp_path / "x" / "rootfs" / "b").write_text("of the container")
        assert trial.stage_out().passed
    assert (host / "edited").read_text() == "later"
    assert (host / "both").read_text() == "of the container"
    assert (bundle / "rootfs" / "b").exists()


@pytest.mark.parametrize("below", ["scratch", "s?[c]*"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_bind_below_another(tmp_path: Path, below: str, order: int) -> None:
    """Each source gets only what the container wrote below its own destination, in both directions."""
    rootfs, home, scratch = tmp_path / "rootfs", tmp_path / "home", tmp_path / "scratch"
    for folder in (rootfs, home / below, home / "scratch", scratch):
        folder.mkdir(parents=True, exist_ok=True)
    (home / below / "data").write_text("of home")
    (home / below / "hidden").write_text("of home")
    (scratch / "data").write_text("of scratch")
    (home / below).chmod(0o711)
    binds = scrun.copy_binds(config(*[(home, "/home"), (scratch, f"/home/{below}")][::order]), str(rootfs))
    inside = rootfs / "home" / below
    assert os.listdir(inside) == ["data"]
    (inside / "data").write_text("changed")
    (inside / "new").write_text("new")
    (rootfs / "home" / "mine").write_text("mine")
    scrun.return_binds(binds, str(rootfs))
    assert sorted(os.listdir(home / below)) == ["data", "hidden"]
    assert (home / below / "data").read_text() == "of home"
    assert (home / below).stat().st_mode & 0o777 == 0o711
    assert (home / "mine").exists()
    assert (home / "scratch").exists()
    assert (scratch / "data").read_text() == "changed"
    assert (scratch / "new").exists()
    assert not (scratch / "mine").exists()


def test_a_link_to_the_root(tmp_path: Path) -> None:
    """A container that replaces a destination by a link to its root gets an error, and nothing is copied."""
    rootfs, data = tmp_path / "rootfs", tmp_path / "data"
    for folder in (rootfs, data):
        folder.mkdir()
    binds = scrun.copy_binds(config((data, "/data")), str(rootfs))
    (rootfs / "data").rmdir()
    (rootfs / "data").symlink_to("/")
    with pytest.raises(StagingError, match=r"'/data' in the container is now a link to its root.*/data'"):
        scrun.return_binds(binds, str(rootfs))
    assert os.listdir(data) == []
    binds[0].read_only = True
    (rootfs / "data").unlink()
    (rootfs / "data").symlink_to("data")
    scrun.return_binds(binds, str(rootfs))  # a loop of links concerns only its own mount


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


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/b", "a/b"),
        ("a//./b/", "a/b"),
        ("/../../etc/passwd", "etc/passwd"),
        ("/out/passwd", "etc/passwd"),
        ("/up/x", "x"),
        ("/deep/out2/x", "etc/x"),
        ("/nothing/../y", "y"),
    ],
)
def test_inside_never_leaves(tmp_path: Path, path: str, expected: str) -> None:
    """Links are followed as in the container; none leads out of the root file system."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "up").symlink_to("../../../..")
    (tmp_path / "deep" / "out2").symlink_to("../../out")
    assert scrun.inside(str(tmp_path), path) == os.path.join(tmp_path, expected)


def test_inside_in_circles(tmp_path: Path) -> None:
    """A loop of links is an error and ends."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(StagingError, match="symbolic links"):
        scrun.inside(str(tmp_path), "/a/x")


def test_a_bind_of_a_link_is_one_of_its_target(tmp_path: Path) -> None:
    """A link such as /etc/localtime is copied as a mount shows it, and changes are written to its target."""
    rootfs, zone, name = tmp_path / "rootfs", tmp_path / "zone", tmp_path / "localtime"
    rootfs.mkdir()
    zone.write_text("zone")
    name.symlink_to("zone")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "to folder").symlink_to("folder")
    binds = scrun.copy_binds(config((name, "/etc/localtime"), (tmp_path / "to folder", "/data")), str(rootfs))
    copied = rootfs / "etc" / "localtime"
    assert not copied.is_symlink()
    assert copied.read_text() == "zone"
    assert (rootfs / "data" / "file").exists()
    copied.write_text("other zone")
    (rootfs / "data" / "new").write_text("x")
    scrun.return_binds(binds, str(rootfs))
    assert name.is_symlink()
    assert zone.read_text() == "other zone"
    assert (tmp_path / "folder" / "new").exists()


def test_localtime(tmp_path: Path) -> None:
    """The machine's own /etc/localtime, usually a link, can be copied."""
    if not os.path.isfile("/etc/localtime"):
        pytest.skip("NOT TESTED: this machine has no /etc/localtime")
    scrun.copy_binds(config(("/etc/localtime", "/etc/localtime")), str(tmp_path))
    assert (tmp_path / "etc" / "localtime").read_bytes() == Path("/etc/localtime").read_bytes()


@pytest.mark.parametrize("by", ["file", "fifo", "folder"])
def test_what_a_container_replaced_is_not_returned(tmp_path: Path, by: str) -> None:
    """A folder that became a file, or vice versa, is an error that names both, and the host's entry stays."""
    rootfs, host = tmp_path / "rootfs", tmp_path / "host"
    rootfs.mkdir()
    if by == "folder":
        host.write_text("mine")
    else:
        host.mkdir()
        (host / "precious").write_text("mine")
    binds = scrun.copy_binds(config((host, "/data")), str(rootfs))
    scrun.remove_tree(rootfs / "data")
    if by == "file":
        (rootfs / "data").write_text("x")
    elif by == "fifo":
        os.mkfifo(rootfs / "data")
    else:
        (rootfs / "data").mkdir()
    with pytest.raises(StagingError, match=r"rootfs/data'.*unlike.*/host'.*neither is replaced"):
        scrun.return_binds(binds, str(rootfs))
    assert (host if by == "folder" else host / "precious").read_text() == "mine"


def test_what_a_container_replaced_within_a_bind_is_not_returned(tmp_path: Path) -> None:
    """The same holds inside a folder; a FIFO in place of a file does not empty the file of the host."""
    rootfs, host, file = tmp_path / "rootfs", tmp_path / "host", tmp_path / "file"
    rootfs.mkdir()
    (host / "sub").mkdir(parents=True)
    (host / "sub" / "precious").write_text("mine")
    file.write_text("mine")
    binds = scrun.copy_binds(config((host, "/data"), (file, "/file")), str(rootfs))
    scrun.remove_tree(rootfs / "data" / "sub")
    (rootfs / "data" / "sub").write_text("x")
    with pytest.raises(StagingError, match=r"host/sub'.*rootfs/data/sub'"):
        scrun.return_binds(binds[:1], str(rootfs))
    assert (host / "sub" / "precious").read_text() == "mine"
    (rootfs / "file").unlink()
    os.mkfifo(rootfs / "file")
    with pytest.raises(StagingError, match=r"rootfs/file'.*not a regular file"):
        scrun.return_binds(binds[1:], str(rootfs))
    assert file.read_text() == "mine"


def test_what_a_container_removed_stays(tmp_path: Path) -> None:
    """Nothing is deleted on the host, even if the copy or a folder above it is gone, or is a dangling link."""
    rootfs, file = tmp_path / "rootfs", tmp_path / "file"
    rootfs.mkdir()
    file.write_text("mine")
    for gone in ("a/b/file", "a/b", "a"):
        binds = scrun.copy_binds(config((file, "/a/b/file")), str(rootfs))
        scrun.remove_tree(rootfs / gone)
        scrun.return_binds(binds, str(rootfs))
        (rootfs / gone).symlink_to("/nowhere")
        scrun.return_binds(binds, str(rootfs))
        (rootfs / gone).unlink()
        assert file.read_text() == "mine"


def test_links_of_a_container_lead_nowhere_else(tmp_path: Path) -> None:
    """Links of the image or the container in the path of a destination cannot lead out of the root file system."""
    rootfs, outside, file = tmp_path / "rootfs", tmp_path / "outside", tmp_path / "file"
    rootfs.mkdir()
    outside.mkdir()
    (outside / "file").write_text("secret")
    file.write_text("mine")
    (rootfs / "etc").symlink_to(outside)
    binds = scrun.copy_binds(config((file, "/etc/file")), str(rootfs))
    assert (outside / "file").read_text() == "secret"
    assert (rootfs / str(outside).lstrip("/") / "file").read_text() == "mine"
    scrun.remove_tree(rootfs)
    rootfs.mkdir()
    (rootfs / "etc").symlink_to(outside)
    scrun.return_binds(binds, str(rootfs))
    assert file.read_text() == "mine"


def test_a_bind_onto_the_root(tmp_path: Path) -> None:
    """A bind mount that would hide the whole root file system is refused."""
    with pytest.raises(StagingError, match="whole root file system"):
        scrun.copy_binds(config((tmp_path, "/")), str(tmp_path))


def test_one_text_is_no_list_of_folders(tmp_path: Path) -> None:
    """A str instead of a list is refused with a hint; taken letter by letter, "/proc" would keep every mount."""
    with pytest.raises(TypeError, match=r"write keep=\['/proc'\]"):
        scrun.copy_binds(config(), str(tmp_path), keep="/proc")
