# SPDX-License-Identifier: GPL-2.0-or-later
"""Ready-made health checks, for ``[[node.checks]]`` of slurmhooks.toml, and for handlers.

Each function returns if the node passes, and otherwise raises Reject with the reason. They read files of the kernel and
import nearly nothing, so that ten of them take less time than the start of a shell.
"""

from __future__ import annotations

import posix

from slurmhooks.errors import Reject
from slurmhooks.files import mounts, trusted
from slurmhooks.hooks.terms import seconds
from slurmhooks.node import processes
from slurmhooks.node.processes import found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
LARGEST = 16 << 20
"""Bytes of a file in which a text is looked for."""


def mount(path: str, type: str | None = None, options: tuple[str, ...] = ()) -> None:
    """Require that a file system is mounted.

    Args:
        path: its mount point.
        type: its type, such as "nfs4" or "lustre".
        options: options that it has, such as "rw", which it loses if the kernel finds an error in it.
    """
    point = path.rstrip("/") or "/"
    matching = [mount for mount in mounts.parse(_text("/proc/self/mountinfo")) if mount.point == point]
    if not matching:
        raise Reject(f"{path} is not mounted")
    visible = matching[-1]
    if type is not None and visible.kind != type:
        raise Reject(f"{path} is of type {visible.kind}, not {type}")
    own, of_super = visible.options, visible.super_options
    present = {*own, *of_super} - ({"rw"} if "ro" in own or "ro" in of_super else set())
    for option in options:
        if option not in present:
            raise Reject(f"{path} is mounted without {option}")


def space(path: str, free: str = "5%", inodes: str | None = None) -> None:
    """Require free space in a file system, for users who are not root.

    Args:
        path: a file or folder in it.
        free: a size such as "10GiB", or a share such as "5%".
        inodes: a number such as "1000", or a share.
    """
    try:
        status = posix.statvfs(path)
    except OSError as error:
        raise Reject(f"{path}: {error.strerror}") from None
    size, left = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
    if left < _amount(free, size):
        raise Reject(f"{path} has {_shown(left)} free, less than {free}")
    if inodes is not None and status.f_files and status.f_favail < _amount(inodes, status.f_files):
        raise Reject(f"{path} has {status.f_favail} free inodes, less than {inodes}")


def memory(total: str | None = None, available: str | None = None) -> None:
    """Require memory.

    Args:
        total: the least size of what the kernel has, such as "500GiB".
        available: the least size, or share of the total, that programs can still get.
    """
    amounts = _meminfo()
    if total is not None and amounts["MemTotal"] < _amount(total, 0):
        raise Reject(f"memory is {_shown(amounts['MemTotal'])}, less than {total}")
    if available is not None and amounts["MemAvailable"] < _amount(available, amounts["MemTotal"]):
        raise Reject(f"available memory is {_shown(amounts['MemAvailable'])}, less than {available}")


def swap(total: str | None = None, free: str | None = None, most: str | None = None) -> None:
    """Require swap space, or forbid it.

    Args:
        total: the least size.
        free: the least size, or share of the total, that is free.
        most: the greatest size; "0" forbids swap.
    """
    amounts = _meminfo()
    size, left = amounts["SwapTotal"], amounts["SwapFree"]
    if total is not None and size < _amount(total, 0):
        raise Reject(f"swap is {_shown(size)}, less than {total}")
    if free is not None and left < _amount(free, size):
        raise Reject(f"free swap is {_shown(left)}, less than {free}")
    if most is not None and size > _amount(most, 0):
        raise Reject(f"swap is {_shown(size)}, more than {most}")


def cpus(least: int) -> None:
    """Require processors.

    Args:
        least: the least number that are online.
    """
    online = 0
    for part in _text("/sys/devices/system/cpu/online").split(","):
        first, _, last = part.partition("-")
        online += int(last or first) - int(first) + 1
    if online < least:
        raise Reject(f"{online} processors are online, less than {least}")


def process(program: str, runs: bool = True, user: int | None = None) -> None:
    """Require that a process runs, or that it does not; see slurmhooks.node.processes for what counts.

    Args:
        program: the path of its file, or only its name, which any user may give to a file.
        runs: whether it must run.
        user: the id of its real user, which no setuid program changes; by default any.
    """
    if processes.runs(program, user) != runs:
        raise Reject(f"{program} does not run" if runs else f"{program} runs")


def file(
    path: str, exists: bool = True, newer: str | None = None, older: str | None = None, text: str | None = None
) -> None:
    """Require that a file exists, or that it does not; its age, and what it contains.

    Args:
        path: the file or folder.
        exists: whether it must exist.
        newer: it was changed within this time, such as "10m".
        older: it was not changed within this time.
        text: a text in the first 16 MiB of the file, which must be a regular one.
    """
    from time import time

    try:
        age = time() - posix.stat(path).st_mtime
    except FileNotFoundError:
        if exists:
            raise Reject(f"{path} does not exist") from None
        return
    except OSError as error:
        raise Reject(f"{path}: {error.strerror}") from None
    if not exists:
        raise Reject(f"{path} exists")
    if newer is not None and age > _time(newer):
        raise Reject(f"{path} was not changed within {newer}")
    if older is not None and age < _time(older):
        raise Reject(f"{path} was changed within {older}")
    if text is not None and text.encode() not in _content(path):
        raise Reject(f"{path} does not contain {text!r}")


def command(run: tuple[str, ...], status: int = 0, contains: str | None = None, lacks: str | None = None) -> None:
    """Run a program, and require how it ends and what it writes.

    Args:
        run: the program and its arguments; no shell reads them.
        status: the exit code that it must have.
        contains: a text that its output must have; its errors are output, too.
        lacks: a text that its output must not have.
    """
    code, output = _output(run)
    last = output.rstrip().rpartition("\n")[2][:200]
    if code != status:
        raise Reject(f"{run[0]} ended with {_ended(code)}" + (f": {last}" if last else ""))
    if contains is not None and contains not in output:
        raise Reject(f"{run[0]} did not write {contains!r}" + (f" but: {last}" if last else ""))
    if lacks is not None and lacks in output:
        line = next((line for line in output.split("\n") if lacks in line), lacks)
        raise Reject(f"{run[0]} wrote: {line.strip()[:200]}")


def gpus(count: int, errors: int = 0, program: str = "nvidia-smi") -> None:
    """Require GPUs of NVIDIA without errors of their memory.

    Args:
        count: how many nvidia-smi must list.
        errors: the most uncorrected errors of a GPU since the driver was loaded.
        program: nvidia-smi or its path.
    """
    query = "--query-gpu=index,ecc.errors.uncorrected.volatile.total,retired_pages.pending"
    code, output = _output((program, query, "--format=csv,noheader,nounits"))
    if code:
        last = output.rstrip().rpartition("\n")[2][:200]
        raise Reject(f"{program} ended with {_ended(code)}" + (f": {last}" if last else ""))
    rows = [[word.strip() for word in line.split(",")] for line in output.split("\n") if "," in line]
    if len(rows) != count:
        raise Reject(f"{len(rows)} GPUs, not {count}")
    for index, uncorrected, pending in rows:
        if uncorrected.isdecimal() and int(uncorrected) > errors:
            raise Reject(f"GPU {index} has {uncorrected} uncorrected memory errors")
        if pending == "Yes":
            raise Reject(f"GPU {index} waits for a reset, which retires pages of its memory")


def link(interface: str, speed: int | None = None) -> None:
    """Require that a network interface is up.

    Args:
        interface: its name, such as "eth0" or "ib0".
        speed: its least speed in Mbit/s.
    """
    folder = f"/sys/class/net/{interface}"
    try:
        state = _text(f"{folder}/operstate")
        # lo and many virtual interfaces say "unknown".
        up = state == "up" or (state == "unknown" and int(_text(f"{folder}/flags"), 16) & 1)
    except OSError:
        raise Reject(f"{interface} does not exist") from None
    if not up:
        raise Reject(f"{interface} is {state}")
    if speed is not None:
        try:
            real = int(_text(f"{folder}/speed"))
        except OSError:
            real = -1
        if real < 0:  # as of interfaces of virtual machines
            raise Reject(f"{interface} does not know its speed, which must be {speed} Mbit/s")
        if real < speed:
            raise Reject(f"{interface} has {real} Mbit/s, less than {speed}")


def infiniband(device: str, port: int = 1, rate: int | None = None) -> None:
    """Require that a port of InfiniBand or Omni-Path is active.

    Args:
        device: such as "mlx5_0".
        port: its number.
        rate: its least rate in Gbit/s.
    """
    folder = f"/sys/class/infiniband/{device}/ports/{port}"
    try:
        state = _text(f"{folder}/state").partition(": ")[2]
        real = _text(f"{folder}/rate").partition(" ")[0]
    except OSError:
        raise Reject(f"{device} has no port {port}") from None
    if state != "ACTIVE":
        raise Reject(f"port {port} of {device} is {state}")
    if rate is not None and float(real) < rate:
        raise Reject(f"port {port} of {device} has {real} Gbit/s, less than {rate}")


def clock(error: float = 1.0) -> None:
    """Require that the clock is synchronized, as the kernel knows from ntpd, chronyd or systemd-timesyncd.

    Args:
        error: the greatest error, in seconds, that the kernel estimates.
    """
    import ctypes

    words = (ctypes.c_long * 64)()  # struct timex: modes, offset, freq, maxerror, esterror, status ...
    state = ctypes.CDLL(None).adjtimex(ctypes.byref(words))
    if state < 0 or state == 5:  # TIME_ERROR
        raise Reject("the clock is not synchronized")
    if words[4] > error * 1e6:
        raise Reject(f"the clock may be wrong by {words[4] / 1e6:.3g} s, more than {error:g} s")


CHECKS = (mount, space, memory, swap, cpus, process, file, command, gpus, link, infiniband, clock)
"""The functions that ``check`` of ``[[node.checks]]`` names."""


def _read(path: str) -> bytes:
    return trusted.rest_of(posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC))


def _content(path: str) -> bytes:
    """Return the beginning of a file, which a user may have made: of any kind, and of any size.

    Raises:
        Reject: it cannot be read, or is no regular file.
    """
    from slurmhooks.files import regular  # few checks need it

    try:
        return trusted.rest_of(regular.opened(path), LARGEST)[:LARGEST]
    except OSError as error:
        raise Reject(f"{path}: {error.strerror}") from None


def _text(path: str) -> str:
    return _read(path).decode("utf-8", "surrogateescape").strip()


def _meminfo() -> dict[str, int]:
    pairs = (line.split() for line in _text("/proc/meminfo").split("\n"))
    return {words[0].rstrip(":"): int(words[1]) << 10 for words in pairs}


def _amount(text: str, whole: int) -> float:
    """Return the number of a text such as "10GiB", "5%" or "1000".

    Raises:
        ValueError: it is no such text.
    """
    share = text.endswith("%")
    unit = 1 if share else _UNITS.get(text[-3:])
    number = (text[:-1] if share else text if unit is None else text[:-3]).strip()
    # float() also takes "nan" and "-5", with which every node would pass.
    if not (number if unit is None else number.replace(".", "", 1)).isdecimal():
        raise ValueError(f"must be a size such as 10GiB, a share such as 5% or a number, not {text!r}")
    return float(number) * whole / 100 if share else float(number) * (unit or 1)


def _time(text: str) -> int:
    """Return the seconds of a text such as "10m".

    Raises:
        ValueError: it is no such text.
    """
    value = seconds(text)
    if not isinstance(value, int):
        raise ValueError(f"must be a time such as 30s, 10m, 6h or 1d, not {text!r}")
    return value


def _shown(size: float) -> str:
    unit, scale = next(((unit, scale) for unit, scale in reversed(_UNITS.items()) if size >= scale), ("B", 1))
    return f"{size / scale:.4g} {unit}"


def _ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _output(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a program; return its exit code (-N: signal N ended it) and its output.

    Raises:
        Reject: it cannot be started.
    """
    read, write = posix.pipe()
    environment = {**posix.environ, b"PATH": posix.environ.get(b"PATH", processes.PATH.encode()), b"LC_ALL": b"C"}
    actions = [
        (posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0),
        (posix.POSIX_SPAWN_DUP2, write, 1),
        (posix.POSIX_SPAWN_DUP2, write, 2),
    ]
    try:
        number = posix.posix_spawn(found(words[0]), words, environment, file_actions=actions)
    except OSError as error:
        posix.close(read)
        raise Reject(f"{words[0]}: {error.strerror}") from None
    finally:
        posix.close(write)
    output = trusted.rest_of(read).decode("utf-8", "replace")
    return posix.waitstatus_to_exitcode(posix.waitpid(number, 0)[1]), output


def _size(text: str) -> object:
    return _amount(text, 0)


def _absolute(text: str) -> None:
    """Raise ValueError for a path that depends on the working directory."""
    if not text.startswith("/"):
        raise ValueError(f"must be an absolute path, not {text!r}")


AMOUNTS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("free", "inodes", "total", "available", "most"), _size),
    **dict.fromkeys(("newer", "older"), _time),
    "path": _absolute,
}
"""What converts the texts of some arguments, for checks of the configuration."""
