# SPDX-License-Identifier: GPL-2.0-or-later
"""Which processes run, as the kernel knows it: by their files and their real users.

A user chooses the name of a process and the words of its command line, and starts setuid programs, which have another
effective user. So a process counts

- by its file (``/proc/PID/exe``), also if that has been replaced meanwhile, as by an upgrade of its package;
- if an interpreter runs it, by the script: the name of the process, or the first word of the command line that is no
  option;
- if it is a thread of the kernel, by its name.
"""

from __future__ import annotations

import posix

from slurmhooks.files import trusted

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""slurmd starts its program without PATH."""
INTERPRETERS = frozenset(
    (
        "bash",
        "busybox",
        "dash",
        "java",
        "ksh",
        "lua",
        "luajit",
        "node",
        "perl",
        "php",
        "python",
        "ruby",
        "sh",
        "tclsh",
        "zsh",
    )
)
"""Names of the files of interpreters, without the number of their version."""
DELETED = " (deleted)"
"""What the kernel appends to the path of a file that is no longer there."""
NAMED = 15
"""Bytes of a name of a process, except threads of the kernel."""
KERNEL_THREAD = 0x00200000
"""PF_KTHREAD in the flags of a process."""


def runs(program: str, user: int | None) -> bool:
    """Tell whether a process runs a program.

    ``program`` is the path of its file or script, or only the name of that; ``user`` the id of its real user, None:
    any.
    """
    wanted = _Wanted(program)
    for number in posix.listdir("/proc"):
        if number.isdecimal():
            try:
                if wanted.is_run_by(number) and (user is None or _real_user(number) == user):
                    return True
            except (OSError, ValueError):  # it has ended
                continue
    return False


class _Wanted:
    """A program to look for."""

    def __init__(self, program: str) -> None:
        self._is_path = program.startswith("/")  # names of threads of the kernel may have slashes
        self._name = program.rpartition("/")[2] if self._is_path else program
        path = found(program)
        self._file = _real(path)
        """What the kernel shows for it: without links."""
        self._paths = {path, self._file}

    def is_run_by(self, number: str) -> bool:
        """Tell whether a process runs it.

        Raises:
            OSError, ValueError: the process has ended.
        """
        try:
            file = posix.readlink(f"/proc/{number}/exe").removesuffix(DELETED)
        except FileNotFoundError:  # it is a thread of the kernel, or has ended
            return not self._is_path and self._is_kernel_thread(number)
        except PermissionError:  # this process is not root's: somebody tries a check
            return self._is_named(number) and _is_alive(number)
        name = file.rpartition("/")[2]
        if name.rstrip("0123456789.-") in INTERPRETERS and self._is_script(number):
            return _is_alive(number)
        if self._is_path:
            return file in self._paths and _is_alive(number)
        # One file may have several names, as busybox has.
        matches = name == self._name or (file == self._file and self._is_named(number))
        return matches and _is_alive(number)

    def _is_named(self, number: str) -> bool:
        name = self._name.encode()
        return _read(f"/proc/{number}/comm").rstrip(b"\n") in (name, name[:NAMED])

    def _is_kernel_thread(self, number: str) -> bool:
        flags = int(_stat(number)[6])
        return bool(flags & KERNEL_THREAD) and self._is_named(number)

    def _is_script(self, number: str) -> bool:
        words = _read(f"/proc/{number}/cmdline").decode("utf-8", "surrogateescape").split("\0")[1:]
        script = next((word for word in words if word[:1] not in ("", "-")), "")
        if self._is_path:
            # A relative path counts from a folder that the process may have left.
            return script in self._paths or ("/" in script and _real(script) == self._file)
        return script.rpartition("/")[2] == self._name or self._is_named(number)


def found(program: str) -> str:
    """Return the path of a program; the name itself if no folder of PATH has it."""
    if "/" in program:
        return program
    paths = (f"{folder}/{program}" for folder in posix.environ.get(b"PATH", PATH.encode()).decode().split(":"))
    return next((path for path in paths if posix.access(path, posix.X_OK)), program)


def _real(path: str) -> str:
    """Return a path without links, as the kernel shows it for a process; the path itself if there is no such file."""
    try:
        file = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
    except OSError:
        return path
    try:
        return posix.readlink(f"/proc/self/fd/{file}")
    finally:
        posix.close(file)


def _real_user(number: str) -> int:
    """Return the real user of a process: the owner of /proc/PID is the effective one."""
    status = _read(f"/proc/{number}/status")
    return int(status.partition(b"\nUid:")[2].split(None, 1)[0])


def _is_alive(number: str) -> bool:
    return _stat(number)[0] not in (b"Z", b"X")


def _stat(number: str) -> list[bytes]:
    """Return what /proc/PID/stat has after the name: the state, the parent and so on."""
    return _read(f"/proc/{number}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    return trusted.rest_of(posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC))
