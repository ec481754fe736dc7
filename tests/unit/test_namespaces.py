# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts and namespaces, in children that have a mount namespace of their own."""

import errno
import os
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import namespaces


def in_child(function: Callable[..., object], *arguments: object, **keywords: object) -> Any:
    """Return what a call returns in a forked child with its own mounts, or raise what it raises."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        answer: tuple[str, object] = ("error", "nothing was reported")
        try:
            if os.getuid():
                uid, gid = os.getuid(), os.getgid()
                namespaces.unshare("user", "mnt")
                for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
                    Path("/proc/self", name).write_text(text)
            else:
                namespaces.unshare("mnt")
        except PermissionError as error:
            answer = ("skip", str(error))
        else:
            try:
                answer = ("result", function(*arguments, **keywords))
            except BaseException as error:  # noqa: BLE001 - raised again by the caller
                answer = ("error", error)
        finally:
            with open(theirs, "wb") as file:
                file.write(pickle.dumps(answer))
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        kind, value = pickle.loads(file.read())
    os.waitpid(child, 0)
    if kind == "skip":
        pytest.skip(f"no namespaces here: {value}")
    if kind == "error":
        raise value
    return value


def of(error: pytest.ExceptionInfo[OSError]) -> tuple[int | None, str | None]:
    """Return number and path of an error."""
    return error.value.errno, error.value.filename


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    """Two folders, the first one with a file; both as real paths."""
    base = tmp_path.resolve()
    for name in ("source", "target"):
        (base / name).mkdir()
    (base / "source" / "file").write_text("x")
    return str(base / "source"), str(base / "target")


def test_bind(folders: tuple[str, str]) -> None:
    """A folder appears at a second place, in this namespace only, until it is unmounted."""
    source, target = folders

    def body() -> list[list[str]]:
        namespaces.bind(source, target)
        Path(target, "new").write_text("")
        seen = [sorted(os.listdir(target))]
        namespaces.unmount(target)
        return [*seen, os.listdir(target)]

    assert in_child(body) == [["file", "new"], []]
    assert os.listdir(target) == []
    assert sorted(os.listdir(source)) == ["file", "new"]


def test_bind_of_a_file(folders: tuple[str, str]) -> None:
    """A file can be bound to a file, given as a path object or relative to the folder of the process."""
    source, target = folders
    Path(target, "there").write_text("y")

    def body() -> tuple[str, str]:
        os.chdir(target)
        namespaces.bind(Path(source, "file"), "there")
        bound = Path("there").read_text()
        namespaces.unmount("there")
        return bound, Path("there").read_text()

    assert in_child(body) == ("x", "y")


def test_readonly(folders: tuple[str, str]) -> None:
    """Nobody can write at a read-only place, but still at the source; the flags of the source stay."""
    source, target = folders

    def body() -> tuple[int | None, int]:
        namespaces.tmpfs(source)
        Path(source, "before").write_text("")
        namespaces.bind(source, target, readonly=True)
        Path(source, "file").write_text("")
        flags = os.statvfs(target).f_flag & (os.ST_NOSUID | os.ST_NODEV)
        try:
            Path(target, "file").write_text("")
        except OSError as error:
            return error.errno, flags
        return None, flags

    assert in_child(body) == (errno.EROFS, os.ST_NOSUID | os.ST_NODEV)
    with pytest.raises(ValueError, match="one by one"):
        namespaces.bind(source, target, readonly=True, recursive=True)


def test_recursive(folders: tuple[str, str]) -> None:
    """What is mounted below the source is at the target only with recursive=True."""
    source, target = folders
    Path(source, "below").mkdir()

    def body() -> list[list[str]]:
        namespaces.tmpfs(f"{source}/below")
        Path(source, "below", "in memory").write_text("")
        seen = []
        for recursive in (False, True):
            namespaces.bind(source, target, recursive=recursive)
            seen.append(os.listdir(f"{target}/below"))
            namespaces.unmount(target, lazy=True)
        return seen

    assert in_child(body) == [[], ["in memory"]]


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("place", ["link", "link/below", "there/link"])
def test_links_are_refused(folders: tuple[str, str], role: int, place: str) -> None:
    """No function follows a link of a user, at any place of a path, unless it is told to."""
    source, target = folders
    base = Path(source).parent
    for folder in (base / "there" / "below", base / "target" / "below"):
        folder.mkdir(parents=True)
    (base / "link").symlink_to("there")
    (base / "there" / "link").symlink_to("below")
    paths = [source, target]
    paths[role] = str(base / place)
    with pytest.raises(OSError, match="is a symbolic link") as caught:
        in_child(namespaces.bind, *paths)
    assert of(caught) == (errno.ELOOP, paths[role])
    in_child(namespaces.bind, *paths, follow_links=True)
    for function in (namespaces.tmpfs, namespaces.unmount, namespaces.pivot_root):
        with pytest.raises(OSError, match=r"is a symbolic link|nothing is mounted here"):
            in_child(function, str(base / place))


@pytest.mark.parametrize("path", ["/tmp/../etc", "..", "a/..", ""])
def test_paths_that_leave_their_folder_are_refused(path: str) -> None:
    """A path with ".." is refused, because a folder above could have been moved."""
    for function in (namespaces.tmpfs, namespaces.pivot_root, lambda path: namespaces.bind(path, "/")):
        with pytest.raises(ValueError, match=r"has '\.\.' in it|is not a path"):
            in_child(function, path)


def test_errors_have_the_path(folders: tuple[str, str]) -> None:
    """An error names the path that it is about, and what to do where the text of the C library misleads."""
    source, target = folders
    for paths in ((f"{source}/no", target), (source, f"{target}/no")):
        with pytest.raises(FileNotFoundError) as caught:
            in_child(namespaces.bind, *paths)
        assert of(caught) == (errno.ENOENT, next(path for path in paths if path.endswith("no")))
    with pytest.raises(NotADirectoryError) as both:
        in_child(namespaces.bind, f"{source}/file", target)
    assert (both.value.filename, both.value.filename2) == (f"{source}/file", target)
    for function in (namespaces.unmount, namespaces.pivot_root, lambda path: namespaces.propagation("private", path)):
        with pytest.raises(OSError, match=r"nothing is mounted here|must be a mount point") as why:
            in_child(function, target)
        assert why.value.filename == target


def test_a_failed_bind_leaves_nothing(folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If a bind cannot be made read-only, it is undone."""
    source, target = folders
    identity = iter(range(10))
    monkeypatch.setattr(namespaces, "_identity", lambda fd: next(identity))

    def body() -> list[str]:
        with pytest.raises(OSError, match="renamed"):
            namespaces.bind(source, target, readonly=True)
        return os.listdir(target)

    assert in_child(body) == []


def test_names_that_do_not_exist() -> None:
    """An unknown kind of namespace or propagation is refused, with those that exist."""
    with pytest.raises(ValueError, match="no kind 'mount'; there are cgroup, ipc, mnt"):
        namespaces.unshare("mount")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no kind 'mount'"):
        namespaces.enter("/proc/self/ns/mnt", "mount")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no kind 'rslave'; there are private, slave"):
        namespaces.propagation("rslave")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="name one or more"):
        namespaces.unshare()


def test_a_process_with_threads_gets_no_user_namespace() -> None:
    """The error says that a user namespace needs a process with one thread."""

    def body() -> None:
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()
        try:
            namespaces.unshare("mnt", "user")
        finally:
            ended.set()
            thread.join()

    with pytest.raises(OSError, match="unshare user mnt: Invalid argument: a user namespace needs a process with one"):
        in_child(body)


@pytest.mark.parametrize(
    "call",
    [lambda: namespaces.unshare("pid"), lambda: namespaces.enter("/proc/self/ns/pid", "pid")],
    ids=["unshare", "enter"],
)
def test_a_process_with_threads_keeps_its_pid_namespace(call: Callable[[], None]) -> None:
    """The kernel starts no thread after it, which ends slurmstepd: so it is refused; a process with one thread may."""

    def body() -> bool:
        ended = threading.Event()
        other = threading.Thread(target=ended.wait)
        other.start()
        with pytest.raises(RuntimeError, match="several threads"):
            call()
        threading.Thread(target=ended.set).start()
        other.join()
        while len(os.listdir("/proc/self/task")) > 1:
            os.sched_yield()
        call()
        return True

    assert in_child(body)


def test_only_the_first_thread() -> None:
    """In another thread, whose namespaces no task gets, the functions refuse."""
    caught: list[str] = []

    calls: list[Callable[[], None]] = [
        lambda: namespaces.unshare("mnt"),
        lambda: namespaces.enter("/proc/self/ns/mnt", "mnt"),
        lambda: namespaces.pivot_root("/"),
    ]

    def other() -> None:
        for function in calls:
            try:
                function()
            except RuntimeError as error:
                caught.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert [text.split(":")[0] for text in caught] == ["unshare", "enter", "pivot_root"]


def test_unshare_lets_no_mount_out(folders: tuple[str, str]) -> None:
    """Mounts of a new namespace do not appear in the old one, even if that is shared, as systemd makes it."""
    source, target = folders

    def body() -> tuple[list[str], list[str]]:
        namespaces.bind(source, source)
        namespaces.propagation("shared", source)
        Path(source, "below").mkdir()
        child = os.fork()
        if not child:
            namespaces.unshare("mnt")
            namespaces.bind(target, f"{source}/below")
            os._exit(0 if os.listdir(f"{source}/below") == ["inside"] else 1)
        status = os.waitpid(child, 0)[1]
        return os.listdir(f"{source}/below"), [str(status)]

    Path(target, "inside").write_text("")
    assert in_child(body) == ([], ["0"])


def test_enter(folders: tuple[str, str]) -> None:
    """A process can enter a mount namespace that lives on in a descriptor, also if it has threads."""
    source, target = folders

    def body() -> tuple[list[str], list[str], str]:
        old = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        namespaces.unshare("mnt")
        namespaces.bind(source, target)
        new = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()
        namespaces.enter(old, "mnt")
        outside = os.listdir(target)
        namespaces.enter(f"/proc/self/fd/{new}", "mnt")
        ended.set()
        thread.join()
        return outside, os.listdir(target), os.getcwd()

    assert in_child(body) == ([], ["file"], "/")


def test_pivot_root(folders: tuple[str, str]) -> None:
    """A folder becomes the root and nothing else is left; afterwards the functions still work, and import nothing."""
    source, _ = folders
    for name in ("proc", "a"):
        Path(source, name).mkdir()

    def body() -> tuple[list[str], str, set[str]]:
        namespaces.bind(source, source)
        namespaces.bind("/proc", f"{source}/proc", recursive=True)
        before = set(sys.modules)
        namespaces.pivot_root(source)
        namespaces.tmpfs("/a")
        namespaces.bind("/a", "/a", readonly=True)
        namespaces.unmount("/a")
        with pytest.raises(FileNotFoundError):
            namespaces.enter("/no", "mnt")
        return sorted(os.listdir("/")), os.getcwd(), set(sys.modules) - before

    assert in_child(body) == (["a", "file", "proc"], "/", set())


def test_without_proc(folders: tuple[str, str]) -> None:
    """Without /proc a path cannot be protected: the error says so, and how to go on."""
    source, _ = folders
    Path(source, "a").mkdir()

    def body() -> str | None:
        namespaces.bind(source, source)
        namespaces.pivot_root(source)
        namespaces.tmpfs("/a", follow_links=True)
        namespaces.bind("/a", "/a", readonly=True, follow_links=True)
        namespaces.unmount("/a", follow_links=True)
        try:
            namespaces.tmpfs("/a")
        except FileNotFoundError as error:
            return error.strerror
        return None

    assert "/proc is not mounted here" in str(in_child(body))
