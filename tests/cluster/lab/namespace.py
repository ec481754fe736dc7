# SPDX-License-Identifier: GPL-2.0-or-later
"""Create, join and end the Linux namespaces of a cluster.

A keeper is pid 1 of a pid namespace with its own mounts, network, host name and IPC. Killing it ends everything inside,
and the host never sees its mounts.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from .errors import LabError, NotUpError

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
KINDS = {"mnt": NEWNS, "cgroup": NEWCGROUP, "uts": NEWUTS, "ipc": NEWIPC, "pid": NEWPID, "net": NEWNET}
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1
NS_GET_MNTNS_ID = 0x8008B705
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
PIPE = 3
"""The only descriptor of a new keeper besides the standard ones."""
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOSTNAME = "ctl"

_libc = ctypes.CDLL(None, use_errno=True)


class Keeper(NamedTuple):
    """The identity of a keeper, which a process with a recycled id does not have."""

    pid: int
    started: str
    """Start time in clock ticks and the boot id."""
    guard: int = 0
    """Process id of the parent of a keeper that ends with its caller; 0 for a lasting one."""


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise LabError(f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), os.fsencode(data)
    )
    _check(result, f"cannot mount {kind or source} on {target}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces of the kinds in `flags`."""
    _check(_libc.unshare(flags), "cannot make namespaces")


def enter_users(pid: int) -> None:
    """Move this process into the user namespace of process `pid`, and act as its root."""
    handle = os.pidfd_open(pid)
    _check(_libc.setns(handle, NEWUSER), "cannot enter the user namespace")
    os.close(handle)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _mounts_id() -> int:
    """Return the number of this process's mount namespace, by which the kernel knows which namespace is older."""
    with open("/proc/self/ns/mnt", "rb") as file:
        return int.from_bytes(fcntl.ioctl(file, NS_GET_MNTNS_ID, bytes(8)), sys.byteorder)


def _next_mounts_id(cpu: int) -> int:
    """Return the number of a mount namespace that was created on `cpu` and has ended."""
    reader, writer = os.pipe()

    def make() -> int:
        os.sched_setaffinity(0, {cpu})
        unshare(NEWNS)
        os.write(writer, str(_mounts_id()).encode())
        return 0

    child = fork(make, lambda text: None)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise OSError(errno.EIO, "no mount namespace")
    return int(text)


def new_mounts() -> None:
    """Enter a new mount namespace in which all later ones can be bind-mounted, as Slurm does with those of jobs.

    A namespace can only be mounted in one with a lower number, and from Linux 6.18 on each CPU has its own numbers.
    """
    allowed = os.sched_getaffinity(0)
    for cpu in sorted(allowed):
        os.sched_setaffinity(0, {cpu})
        unshare(NEWNS)
        os.sched_setaffinity(0, allowed)
        try:
            number = _mounts_id()
            if all(_next_mounts_id(other) > number for other in allowed):
                return
        except OSError:
            return  # Linux before 6.11 does not show the numbers, but has only one counter


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def private_mounts() -> None:
    """Hide all later mounts of this process from the outside."""
    unshare(NEWNS)
    mount("none", "/", "", MS_REC | MS_PRIVATE)


def identity(pid: int) -> str:
    """Return a text that distinguishes process `pid` from all others with the same id."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        ticks = file.read().rpartition(b")")[2].split()[19].decode()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{ticks} {file.read().strip()}"


def alive(keeper: Keeper) -> bool:
    """Return whether the keeper runs (a zombie does not)."""
    try:
        handle = os.pidfd_open(keeper.pid)
    except OSError:
        return False
    try:
        return identity(keeper.pid) == keeper.started and not select.select([handle], [], [], 0)[0]
    except OSError:
        return False
    finally:
        os.close(handle)


def end(keeper: Keeper) -> None:
    """Kill the keeper and wait until every process in its namespace is gone."""
    try:
        handle = os.pidfd_open(keeper.pid)
    except OSError:
        return
    try:
        # The kernel reports the end of a pid 1 only after it has reaped all the others.
        if identity(keeper.pid) == keeper.started:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [])
    except (OSError, ProcessLookupError):
        pass
    finally:
        os.close(handle)
    if keeper.guard:
        os.waitpid(keeper.guard, 0)


def fork(body: Callable[[], int], tell: Callable[[str], object]) -> int:
    """Run `body` in a child process, which exits with its result; `tell` gets the text of an error."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = body()
        except BaseException as error:  # noqa: BLE001 - a child must never return into its parent's code
            tell(str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}")
        finally:
            os._exit(status)
    return child


def start(title: str, attach: Callable[[], str], *, isolated: bool, lasting: bool) -> Keeper:
    """Start a keeper.

    ``attach``, called in the new mount namespace, mounts the new root and returns its path. ``isolated``: give it its
    own network and view of cgroups (a cluster), otherwise the host's (for making a root file system, which needs
    downloads). ``lasting``: let it outlive this process.

    Raises:
        LabError: a step failed; nothing is left behind.
    """
    reader, writer = os.pipe()

    def tell(text: str) -> None:
        os.write(PIPE, f"\n{title}: {text}\n".encode(errors="replace"))

    def guard() -> int:
        # A keeper must not keep the caller's pipes and locks open.
        os.dup2(writer, PIPE, inheritable=False)
        os.closerange(PIPE + 1, os.sysconf("SC_OPEN_MAX"))
        if lasting:
            os.setsid()
        else:
            die_with_parent()
        new_mounts()
        unshare(NEWPID | NEWUTS | NEWIPC | (NEWNET | NEWCGROUP if isolated else 0))
        pid = fork(lambda: _keep(title, attach, isolated, lasting), tell)
        os.write(PIPE, f"{pid}\n".encode())
        os.close(PIPE)
        if not lasting:
            _silence()
            os.waitpid(pid, 0)
        return 0

    parent = fork(guard, tell)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
        lines = pipe.read().split("\n")  # the id and an error may arrive in any order, from two processes
    ids = [line for line in lines if line.isdecimal()]
    problem = " ".join(line for line in lines if line and line not in ids)
    if lasting or problem or not ids:
        os.waitpid(parent, 0)
    if problem or not ids:
        raise LabError(problem or f"{title}: the keeper did not start")
    pid = int(ids[0])
    return Keeper(pid, identity(pid), 0 if lasting else parent)


def _keep(title: str, attach: Callable[[], str], isolated: bool, lasting: bool) -> NoReturn:
    if not lasting:
        die_with_parent()
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    os.umask(0o022)
    _enter_root(attach(), isolated)
    if isolated:
        _network()
    _silence()
    # SIGCHLD stays ignored across exec, so the kernel itself reaps orphans of the daemons.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.execve("/bin/sleep", [title, "infinity"], {"PATH": PATH})


def _silence() -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _enter_root(root: str, isolated: bool) -> None:
    quiet = MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("proc", f"{root}/proc", "proc", quiet)
    if isolated:
        mount("sysfs", f"{root}/sys", "sysfs", quiet)
        # crun refuses a hybrid cgroup tree, even when told to leave cgroups alone.
        mount("cgroup2", f"{root}/sys/fs/cgroup", "cgroup2", quiet)
        _libc.sethostname(HOSTNAME.encode(), len(HOSTNAME))
    else:
        mount("/sys", f"{root}/sys", "", MS_BIND | MS_REC)
        for name in ("/etc/hosts", "/etc/resolv.conf"):
            if os.path.exists(name):
                mount(name, root + name, "", MS_BIND)
    mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "mode=755")
    for name in DEVICES:
        device(f"/dev/{name}", f"{root}/dev/{name}")
    for name in ("pts", "shm", "mqueue"):
        os.mkdir(f"{root}/dev/{name}")
    mount("devpts", f"{root}/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5")
    mount("tmpfs", f"{root}/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    os.symlink("pts/ptmx", f"{root}/dev/ptmx")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
    mount("tmpfs", f"{root}/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    mount("tmpfs", f"{root}/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    # pivot_root, not chroot: the kernel refuses a user namespace (rootless crun) to a chrooted process.
    os.chdir(root)
    call_number = SYS_PIVOT_ROOT.get(os.uname().machine)
    if call_number is None:
        raise LabError(f"no pivot_root number known for {os.uname().machine}: add it to lab/namespace.py")
    _check(_libc.syscall(ctypes.c_long(call_number), b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "cannot let go of the host's root")
    os.chdir("/")


def device(source: str, target: str) -> None:
    """Make a device of the host visible at a path; only real root can create device nodes."""
    os.close(os.open(target, os.O_CREAT))
    mount(source, target, "", MS_BIND)


def _network() -> None:
    # Slurm resolves its own address with AI_ADDRCONFIG, and glibc does not count the loopback:
    # with lo alone slurmctld and slurmd cannot bind. A bridge with an address and no port is enough.
    for arguments in (
        "link set lo up",
        "link add cluster0 type bridge",
        "addr add 10.99.0.1/24 dev cluster0",
        "link set cluster0 up",
    ):
        if os.spawnve(os.P_WAIT, "/bin/ip", ["ip", *arguments.split()], {"PATH": PATH}) != 0:
            raise LabError(f"ip {arguments} failed")


def _inode(process: int | str, kind: str) -> int:
    return os.stat(f"/proc/{process}/ns/{kind}").st_ino


def join(keeper_pid: int) -> None:
    """Move this process into the keeper's namespaces; children are in its pid namespace too.

    Modules cannot be imported afterwards, because the file system is another one.

    Raises:
        NotUpError: the keeper is gone.
    """
    try:
        handle = os.pidfd_open(keeper_pid)
        # Do not join those of the host, which the user may not enter.
        others = sum(flag for name, flag in KINDS.items() if _inode(keeper_pid, name) != _inode("self", name))
        _check(_libc.setns(handle, others), "setns")
        os.close(handle)
        os.umask(0o022)
    except (OSError, LabError) as error:
        raise NotUpError(f"cannot enter the cluster, it may be going down: {error}") from error


def call(keeper: Keeper, function: Callable[[], str]) -> str:
    """Run a Python function as root inside and return its text.

    Raises:
        LabError: the function raised; the text is the error's.
    """
    reader, writer = os.pipe()

    def send(text: str) -> None:
        with os.fdopen(writer, "w", encoding="utf-8", errors="surrogateescape") as pipe:
            pipe.write(text)

    def body() -> int:
        die_with_parent()
        os.close(reader)
        join(keeper.pid)
        os.chdir("/")
        send(function())
        return 0

    child = fork(body, send)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="surrogateescape") as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise LabError(text or "the helper process inside the cluster was killed")
    return text
