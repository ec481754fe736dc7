# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a function as root on copies of the file systems, which are discarded afterwards.

The function runs in a process of its own, with its own mounts, processes, host name and IPC objects. Each file system
is the lower layer of an overlay whose upper layer is in memory, so that writes succeed and do not last. File systems
that cannot be a lower layer are read-only. What is reached through the network, through sockets of other processes, and
through device files is real.
"""

import ctypes
import os
import pickle
import resource
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import click

from slurmhooks.cli import output
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.files import mounts

NOTE = "handlers run on a discarded copy of this machine's files; with --really, they run on the machine itself"
NEWNS, NEWUTS, NEWIPC, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
PR_SET_PDEATHSIG = 1
STAGE = "/tmp"
"""Where the new tree is built; the descriptors of what is below it are opened before."""
_OF_THE_KERNEL = """
    autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl hugetlbfs mqueue nsfs pstore
    rpc_pipefs securityfs selinuxfs sysfs tracefs
"""
OF_THE_KERNEL = frozenset(_OF_THE_KERNEL.split())
"""File systems without files of their own: the tree has the same ones, read-only."""
PROC_READ_ONLY = ("acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger")
"""What is below /proc and not about a process."""

discards = False
"""Whether what this process writes to files is discarded."""

_libc = ctypes.CDLL(None, use_errno=True)


def run(function: Callable[[], object]) -> NoReturn:
    """Run a function in a process of its own, on copies of the file systems; exit as it does.

    The caller must be root, and starts no process afterwards.

    Raises:
        Findings: the function raised it.
        click.UsageError: the function raised it, or the kernel permits no namespaces; the function has not run then.
    """
    try:
        _call("unshare", NEWPID)  # counts for the child
    except OSError as error:
        raise click.UsageError(
            f"as root, handlers run on copies of the file systems, which is not possible here ({error.strerror}): call"
            " this command as another user, or with --really, which lets them change this machine"
        ) from error
    ours, theirs = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the child
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, before)
        os.close(ours)
        _be_child(function, theirs)
    os.close(theirs)
    with open(ours, "rb") as file:
        answer = file.read()
    _, status = os.waitpid(child, 0)
    signal.signal(signal.SIGINT, before)
    if not answer:
        raise Finding(f"the handlers ended the process that ran them: exit code {os.waitstatus_to_exitcode(status)}")
    kind, value = pickle.loads(answer)
    if kind == "findings":
        raise Findings(value)
    if kind == "usage":
        raise click.UsageError(value)
    sys.exit(value)


def _be_child(function: Callable[[], object], answers: int) -> NoReturn:
    """Run the function in the child; report how it ended."""
    answer: tuple[str, object] | None = None
    global discards
    try:
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _copy_tree()
        discards = True
        output.note(NOTE)
        function()
        answer = ("exit", 0)
    except SystemExit as ended:
        answer = ("exit", ended.code)
    except Findings as error:
        answer = ("findings", error.findings)
    except click.UsageError as error:
        answer = ("usage", error.message)
    finally:  # this process must not return into the code of its parent
        if answer is None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        with open(answers, "wb") as file:
            file.write(pickle.dumps(answer or ("exit", 1)))
        os._exit(0)


def _copy_tree() -> None:
    """Replace the root of this process, which gets its own mounts, by a tree of overlays.

    Raises:
        click.UsageError: the kernel refuses.
    """
    folder = os.getcwd()
    try:
        _call("unshare", NEWNS | NEWUTS | NEWIPC)
        _mount("none", "/", "", REC | PRIVATE)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            points = {mount.point: mount.kind for mount in mounts.parse(file.read())}
        trees = {point: (kind, os.open(point, os.O_PATH)) for point, kind in points.items() if os.path.exists(point)}
        sockets = [(place, os.open(place, os.O_PATH)) for place in _sockets()]
        _mount("tmpfs", STAGE, "tmpfs", 0, "mode=755")
        os.mkdir(f"{STAGE}/tree")
        for number, (place, (kind, fd)) in enumerate(sorted(trees.items())):
            _copy(kind, fd, f"{STAGE}/{number}", f"{STAGE}/tree{place.rstrip('/')}")
        # An overlay hides from a socket's file which process listens to it.
        for place, fd in sockets:
            if os.path.exists(f"{STAGE}/tree{place}"):
                _mount(_path_of(fd), f"{STAGE}/tree{place}", "", BIND)
        for fd in [*(fd for _, fd in trees.values()), *(fd for _, fd in sockets)]:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        os.chdir(f"{STAGE}/tree")
        _call("pivot_root", b".", b".")
        _call("umount2", b".", DETACH)
        os.chdir(folder)
    except OSError as error:
        raise click.UsageError(
            f"the copies of the file systems cannot be made ({error}): call this command as another user, or with"
            " --really, which lets handlers change this machine"
        ) from error


def _copy(kind: str, fd: int, layers: str, target: str) -> None:
    """Mount a copy of the file system of ``fd``, or that itself read-only; nothing if the tree has no ``target``.

    ``layers`` is the name of a new folder for the layers of an overlay.
    """
    flags = os.fstatvfs(fd).f_flag & (RDONLY | NOSUID | NODEV | NOEXEC)
    is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
    if not os.path.exists(target):
        return
    if kind == "proc" and not flags & RDONLY:
        _mount("proc", target, "proc", NOSUID | NODEV | NOEXEC)
        for name in PROC_READ_ONLY:
            if os.path.exists(f"{target}/{name}"):
                _mount(f"{target}/{name}", f"{target}/{name}", "", BIND)
                _mount("none", f"{target}/{name}", "", REMOUNT | BIND | RDONLY | NOSUID | NODEV | NOEXEC)
        return
    if kind not in OF_THE_KERNEL and is_folder and not flags & RDONLY:
        os.makedirs(f"{layers}/upper")
        os.mkdir(f"{layers}/work")
        os.chmod(f"{layers}/upper", stat.S_IMODE(os.fstat(fd).st_mode))
        try:
            options = f"lowerdir={_path_of(fd)},upperdir={layers}/upper,workdir={layers}/work"
            _mount("overlay", target, "overlay", flags, options)
        except OSError:
            pass  # such as a file system that cannot be a layer
        else:
            return
    _mount(_path_of(fd), target, "", BIND)
    _mount("none", target, "", REMOUNT | BIND | RDONLY | flags)


def _sockets() -> set[str]:
    """Return the files of the sockets that processes listen to."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        names = {f"/{name}" for line in file if (name := line.rstrip("\n").partition(" /")[2])}
    return set(filter(_is_socket, names))


def _is_socket(name: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(name).st_mode)
    except OSError:
        return False


def _path_of(fd: int) -> str:
    return f"/proc/self/fd/{fd}"


def _mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    words = [os.fsencode(text) for text in (source, target, kind, options)]
    _call("mount", words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
