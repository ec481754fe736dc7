# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts and namespaces of the calling process, for handlers that change what a job sees.

Example::

    from slurmhooks import hook, namespaces

    @hook.spank.init_post_opt(contexts="remote")
    def private_tmp(spank):
        namespaces.unshare("mnt")
        namespaces.bind(f"/scratch/{spank.job_id}", "/tmp")

All functions work in every callback, also after the root folder has changed: they import nothing when they are called.
They raise OSError, with the path in it, and leave nothing half done.

Root must not follow a link that a user has set. So the functions refuse each path that goes through a symbolic link or
has ``..`` in it, unless ``follow_links=True``, and mount on what they have looked at, even if the path is renamed
meanwhile. For this they need /proc; with ``follow_links=True`` they do not.
"""

from __future__ import annotations

import ctypes
import errno
import posix
from _thread import get_native_id

from slurmhooks.namespaces.places import Place, encoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Literal

    _Path = str | PathLike[str]
    _Kind = Literal["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]
    _Propagation = Literal["private", "slave", "shared", "unbindable"]

KINDS = {
    "cgroup": 0x2000000,
    "ipc": 0x8000000,
    "mnt": 0x20000,
    "net": 0x40000000,
    "pid": 0x20000000,
    "user": 0x10000000,
    "uts": 0x4000000,
}
"""The namespaces, named as in /proc/PID/ns, with their flags of sched.h."""
_PROPAGATIONS = {"private": 1 << 18, "slave": 1 << 19, "shared": 1 << 20, "unbindable": 1 << 17}
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC = 1, 2, 4, 8, 32, 4096, 16384
_DETACH, _NOFOLLOW = 2, 8
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "%": 1 << 30}
"""Bytes, at least, of what a letter stands for in the size of a tmpfs."""
_CLONE_FS = 0x200

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]

_NO_MOUNT = "nothing is mounted here"
_NO_ROOT = "it must be a mount point, and neither it nor / shared: bind it to itself after unshare('mnt')"
_WHY = {
    ("unshare", errno.ENOSPC): "the limit in /proc/sys/user is reached",
    ("unshare user", errno.EINVAL): "a user namespace needs a process with one thread, such as a forked child",
    ("enter user", errno.EINVAL): "it is no user namespace, or its own, or the process has several threads: fork first",
    ("enter", errno.EINVAL): "this is no namespace of that kind",
    ("remount", errno.EINVAL): _NO_MOUNT,
    ("propagation", errno.EINVAL): _NO_MOUNT,
    ("unmount", errno.EINVAL): _NO_MOUNT,
    ("pivot_root", errno.EINVAL): _NO_ROOT,
    ("pivot_root", errno.EBUSY): _NO_ROOT,
}
"""What the number of an error means, where the text of the C library misleads."""


def bind(
    source: _Path, target: _Path, *, recursive: bool = False, readonly: bool = False, follow_links: bool = False
) -> None:
    """Show a folder or a file at a second place.

    Args:
        source: what is shown.
        target: the place, a folder or a file as the source is. What was there is hidden until :func:`unmount`.
        recursive: also show what is mounted below the source.
        readonly: nobody can write at the target. Mounts below it would stay writable, so this excludes ``recursive``.
        follow_links: see the module.

    Raises:
        OSError: a path does not exist or is a link, or the process may not mount; nothing is mounted then.
        ValueError: ``readonly`` with ``recursive``, or a path with ``..``.
    """
    if readonly and recursive:
        raise ValueError("bind: mounts below the source would stay writable: bind them one by one, with readonly=True")
    with Place(source, follow_links) as place, Place(target, follow_links) as point:
        _mount("bind", place.path, point.path, None, _BIND | (_REC if recursive else 0), "", source, target)
        if readonly:
            try:
                with Place(target, follow_links) as mounted:
                    # The kernel lets a user namespace remove none of the flags that the source has.
                    flags = posix.fstatvfs(mounted.fd).f_flag & (_NOSUID | _NODEV | _NOEXEC)
                    if _identity(mounted.fd) != _identity(place.fd):
                        raise OSError(errno.ESTALE, "it was renamed while it was mounted", posix.fspath(target))
                    flags |= _REMOUNT | _BIND | _RDONLY
                    _mount("remount", None, mounted.path, None, flags, "", target)
            except BaseException:
                # Where it is now, if it was renamed.
                unmount(
                    target if follow_links else posix.readlink(point.path.decode()),
                    lazy=True,
                    follow_links=follow_links,
                )
                raise


def tmpfs(
    target: _Path,
    *,
    size: int | str | None = None,
    mode: int = 0o755,
    uid: int | None = None,
    gid: int | None = None,
    follow_links: bool = False,
) -> None:
    """Mount an empty file system in memory, without set-user-id programs and devices.

    Args:
        target: the folder.
        size: its limit in bytes, more than 0, or a text as mount(8) takes it: "2g", "10%" of the memory. None: half of
            the memory.
        mode: permissions of its root folder.
        uid: owner of its root folder. None: the effective user.
        gid: group of its root folder. None: the effective group.
        follow_links: see the module.

    Raises:
        OSError: the target is missing, is a link or no folder, or the process may not mount.
        ValueError: the size is not valid, or 0, which would be no limit.
    """
    if size is not None:
        digits, unit = (size[:-1], size[-1:]) if isinstance(size, str) and not size.isdecimal() else (str(size), "")
        if not (digits.isascii() and digits.isdecimal()) or unit.lower() not in _UNITS:
            raise ValueError(f"tmpfs: size takes a number of bytes, or a text such as '2g' or '10%', not {size!r}")
        # What does not fit wraps in the kernel, perhaps to 0, which is no limit.
        if not 0 < int(digits) * _UNITS[unit.lower()] < 1 << 62:
            raise ValueError(f"tmpfs: size takes 1 byte to 4 EiB, not {size!r}; for the kernel, 0 is no limit at all")
    values = {"size": size, "mode": f"{mode:o}", "uid": uid, "gid": gid}
    options = ",".join(f"{name}={value}" for name, value in values.items() if value is not None)
    mount("tmpfs", target, options=options, follow_links=follow_links)


def mount(
    kind: str,
    target: _Path,
    *,
    source: str = "none",
    options: str = "",
    readonly: bool = False,
    follow_links: bool = False,
) -> None:
    """Mount a file system, without set-user-id programs and devices.

    Args:
        kind: its type, such as "overlay" or "proc".
        target: the folder.
        source: what is mounted, such as a device, for types that have a source.
        options: those of the type, separated by commas, such as "lowerdir=/images/a,upperdir=/tmp/u,workdir=/tmp/w".
            The kernel follows links in them.
        readonly: nobody can write to it.
        follow_links: see the module; for the target.

    Raises:
        OSError: the target is missing or is a link, the kernel refuses the options, or the process may not mount.
    """
    with Place(target, follow_links) as point:
        flags = _NOSUID | _NODEV | (_RDONLY if readonly else 0)
        _mount("mount", encoded(source), point.path, kind, flags, options, target)


def unmount(target: _Path, *, lazy: bool = False, follow_links: bool = False) -> None:
    """Undo the last mount at a place.

    Args:
        target: the place.
        lazy: also if it is in use: it disappears now, and is unmounted when nothing uses it any more.
        follow_links: see the module.

    Raises:
        OSError: nothing is mounted there, or it is in use.
    """
    path = posix.fspath(target)
    flags = _NOFOLLOW | (_DETACH if lazy else 0)
    if follow_links:
        _check("unmount", _libc.umount2(encoded(path), flags & ~_NOFOLLOW), path)
        return
    parent, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".."):
        raise ValueError(f"unmount: {path!r} is not below a folder")
    # An open descriptor of the mount itself would keep it in use.
    with Place(parent or ("/" if path.startswith("/") else "."), links=False) as folder:
        _check("unmount", _libc.umount2(folder.path + b"/" + encoded(name), flags), path)


def propagation(kind: _Propagation, path: _Path = "/", *, recursive: bool = True, follow_links: bool = False) -> None:
    """Set whether later mounts below a mount point are also made in other namespaces.

    Args:
        kind: "private": no mount passes; "slave": those of the node appear here, but not the reverse; "shared": both;
            "unbindable": private, and cannot be bound.
        path: a mount point.
        recursive: also for all mounts below it.
        follow_links: see the module.

    Raises:
        OSError: nothing is mounted there, or the process may not mount.
        ValueError: the kind does not exist.
    """
    flag = _known("propagation", kind, _PROPAGATIONS)
    with Place(path, follow_links) as point:
        _mount("propagation", None, point.path, None, flag | (_REC if recursive else 0), "", path)


def unshare(*kinds: _Kind, mounts: _Propagation | None = "slave") -> None:
    """Give this process new namespaces; its later children have them, too.

    Other threads of the process keep the old ones, except for "user", which needs a process with one thread: a forked
    child. After "pid" only later children are in the new namespace, and the process can start no thread any more: it,
    too, needs a process with one thread, because slurmstepd would end when it starts the next one.

    Args:
        kinds: one or more of "cgroup", "ipc", "mnt", "net", "pid", "user", "uts". A new user namespace has no users
            until root, or its owner, writes /proc/PID/uid_map and gid_map.
        mounts: with "mnt": the propagation of all mounts; see :func:`propagation`. Without it, mounts of a node on
            which / is shared, as systemd makes it, would appear on the whole node. None: leave it as it is.

    Raises:
        OSError: the process may not do this, or has several threads.
        RuntimeError: not called in the first thread of the process, from which Slurm forks tasks; "pid" in a process
            with several threads.
        ValueError: a kind does not exist, or none is given.
    """
    _first_thread("unshare")
    flags = sum({_known("unshare", kind, KINDS) for kind in kinds})
    if not flags:
        raise ValueError(f"unshare: name one or more of {', '.join(KINDS)}")
    if "pid" in kinds:
        _one_thread("unshare")
    names = sorted(kinds, key=lambda kind: kind != "user")
    _check(f"unshare {' '.join(names)}", _libc.unshare(flags))
    if "mnt" in kinds and mounts is not None:
        propagation(mounts)


def enter(namespace: _Path | int, kind: _Kind) -> None:
    """Move this process into a namespace of another one.

    The folder and the root of the process become the root of a mount namespace that it enters. After "pid" only later
    children are in the namespace; it needs a process with one thread, see :func:`unshare`.

    Args:
        namespace: a descriptor, or a path such as /proc/PID/ns/mnt.
        kind: its kind; see :func:`unshare`.

    Raises:
        OSError: it does not exist, is of another kind, or the process may not enter it.
        RuntimeError: not called in the first thread of the process, from which Slurm forks tasks; "pid" in a process
            with several threads.
        ValueError: the kind does not exist.
    """
    _first_thread("enter")
    flag = _known("enter", kind, KINDS)
    if kind == "pid":
        _one_thread("enter")
    if kind == "mnt":  # possible only for a thread that does not share its folder with others
        _check("enter mnt", _libc.unshare(_CLONE_FS))
    if isinstance(namespace, int):
        _check(f"enter {kind}", _libc.setns(namespace, flag))
        return
    path = posix.fspath(namespace)
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        _check(f"enter {kind}", _libc.setns(fd, flag), path)
    finally:
        posix.close(fd)


def pivot_root(new_root: _Path, *, follow_links: bool = False) -> None:
    """Make a folder the root of this process's mount namespace; the old root disappears. Then the folder is /.

    Unlike after ``os.chroot``, root cannot get out. Other processes of the namespace see the same.

    Args:
        new_root: a mount point, such as a folder bound to itself, in a namespace of :func:`unshare`.
        follow_links: see the module.

    Raises:
        OSError: it is no mount point, or the process may not do this.
        RuntimeError: not called in the first thread of the process.
    """
    _first_thread("pivot_root")
    path = posix.fspath(new_root)
    with Place(path, follow_links) as place:
        before = posix.open(".", posix.O_PATH | posix.O_CLOEXEC)
        try:
            posix.fchdir(place.fd)
            try:
                _check("pivot_root", _libc.pivot_root(b".", b"."), path)
            except OSError:
                posix.fchdir(before)
                raise
        finally:
            posix.close(before)
        _check("pivot_root", _libc.umount2(b".", _DETACH), path)
        posix.chdir("/")


def _mount(
    what: str,
    source: bytes | None,
    target: bytes,
    kind: str | None,
    flags: int,
    options: str,
    *names: _Path,
) -> None:
    """Call mount(2); ``names`` are the paths in an error."""
    code = _libc.mount(source, target, None if kind is None else encoded(kind), flags, encoded(options))
    _check(what, code, *(posix.fspath(name) for name in names))


def _check(what: str, code: int, *paths: str) -> None:
    """Raise the error of a call of the C library that has failed; ``paths`` are one or two."""
    if code == 0:
        return
    number = ctypes.get_errno()
    words = what.split()
    why = _WHY.get((" ".join(words[:2]), number)) or _WHY.get((words[0], number))
    text = f"{what}: {posix.strerror(number)}" + (f": {why}" if why else "")
    raise OSError(number, text, *paths[:1], *((None, paths[1]) if len(paths) > 1 else ()))


def _known(function: str, name: str, names: dict[str, int]) -> int:
    if name not in names:
        raise ValueError(f"{function}: no kind {name!r}; there are {', '.join(names)}")
    return names[name]


def _first_thread(function: str) -> None:
    if get_native_id() != posix.getpid():
        raise RuntimeError(
            f"{function}: call it in the first thread of the process: Slurm forks tasks from there, and a namespace of"
            " another thread is not theirs"
        )


def _one_thread(function: str) -> None:
    try:
        threads = posix.listdir("/proc/self/task")
    except OSError:  # /proc is not mounted here
        return
    if len(threads) > 1:
        raise RuntimeError(
            f"{function} pid: this process has several threads, and could start no other one afterwards, which"
            " slurmstepd must: call it in a task, or in a child, such as in preexec_fn of subprocess"
        )


def _identity(fd: int) -> tuple[int, int]:
    status = posix.fstat(fd)
    return status.st_dev, status.st_ino
