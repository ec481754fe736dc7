# SPDX-License-Identifier: GPL-2.0-or-later
"""What a node remembers between two runs of its health checks: a file that only root can read.

It is replaced by rename, before slurmctld is asked to drain and after it has answered: whenever a process is killed,
the next run knows which reasons may be ours.
"""

from __future__ import annotations

import posix

from slurmhooks.files import trusted
from slurmhooks.node.rows import packed, unpacked

FOLDER = "/var/lib/slurmhooks-health"
"""Survives a reboot, unlike /run, because the drained state of a node does, too."""
HEAD = "slurmhooks-health 1"


class CheckState:
    """What is known about one check.

    Attributes:
        fails: refusals in sequence.
        text: the reason of the last refusal; "" if it passed.
        due: the time from which on it runs again, in seconds since 1970.
        hung: a process of it that SIGKILL could not end; "" if there is none.
    """

    __slots__ = ("due", "fails", "hung", "text")

    def __init__(self, fails: int = 0, text: str = "", due: float = 0.0, hung: str = "") -> None:
        self.fails = fails
        self.text = text
        self.due = due
        self.hung = hung


class NodeMemory:
    """The state of a node.

    Attributes:
        slurmd: process id and start time of the slurmd that ran the last checks.
        boot: the boot id of the last run.
        reasons: the reasons with which we have drained the node, or were about to, and when slurmctld says that they
            were set (0: it was not asked); empty if we have not.
        unconfirmed: the brake has not been asked after the node was drained.
        released: when we undrained it, in seconds since 1970; 0: we have not. The reasons are kept for a while.
        before: the reason that a node had which was down when we drained it; "" if it was not.
        checks: by the labels of the checks.
    """

    __slots__ = ("before", "boot", "checks", "reasons", "released", "slurmd", "unconfirmed")

    def __init__(self) -> None:
        self.slurmd = ""
        self.boot = ""
        self.forget()
        self.checks: dict[str, CheckState] = {}

    def forget(self) -> None:
        """Have nothing to do with a drain of the node."""
        self.reasons: list[tuple[str, int]] = []
        self.unconfirmed = False
        self.released = 0.0
        self.before = ""

    def of(self, label: str) -> CheckState:
        """Return the state of a check, which is empty at first."""
        return self.checks.setdefault(label, CheckState())

    def data(self) -> bytes:
        """Return the content of the file."""
        rows = [
            (HEAD,),
            ("run", self.slurmd, self.boot),
            ("before", self.before, repr(self.released)),
            *(("ours", reason, str(time)) for reason, time in self.reasons),
        ]
        rows += [("unconfirmed",)] if self.unconfirmed else []
        rows += [
            ("check", label, str(check.fails), check.text, repr(check.due), check.hung)
            for label, check in self.checks.items()
        ]
        return b"".join(map(packed, rows))


def read(data: bytes) -> NodeMemory:
    """Return the state that a file has.

    Raises:
        ValueError: it is damaged.
    """
    state = NodeMemory()
    head, *rows = [unpacked(line) for line in data.split(b"\n")[:-1]] or [[]]
    if head != [HEAD]:
        raise ValueError("not a state of health checks")
    for kind, *words in rows:
        if kind == "run":
            state.slurmd, state.boot = words
        elif kind == "before":
            state.before, released = words
            state.released = float(released)
        elif kind == "ours":
            reason, time = words if len(words) > 1 else (*words, "0")  # of a former version
            state.reasons.append((reason, int(time)))
        elif kind == "unconfirmed":
            state.unconfirmed = True
        elif kind == "check":
            label, fails, text, due, hung = words
            state.checks[label] = CheckState(int(fails), text, float(due), hung)
    return state


class StateFile:
    """The file of one node."""

    def __init__(self, node: str, folder: str = FOLDER) -> None:
        self.path = f"{folder}/{node.replace('/', '_')}"
        self._folder = folder
        self._data = b""
        self._lock = -1

    def lock(self) -> bool:
        """Be the only run for this node until this process ends; return False if there is another one.

        Raises:
            OSError: the folder or the lock cannot be made.
        """
        try:  # noqa: SIM105 - contextlib takes long to import
            posix.mkdir(self._folder, 0o700)
        except FileExistsError:  # also if another node of this machine has just made it
            pass
        self._lock = posix.open(f"{self.path}.lock", posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        try:
            posix.lockf(self._lock, posix.F_TLOCK, 0)  # unlike flock(), children do not inherit it
        except OSError as error:
            if isinstance(error, BlockingIOError | PermissionError):
                return False
            raise
        return True

    def read(self) -> NodeMemory:
        """Return the state; a new one if there is no file.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged.
        """
        try:
            file = posix.open(self.path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
        except FileNotFoundError:
            return NodeMemory()
        self._data = trusted.rest_of(file)
        return read(self._data)

    def write(self, state: NodeMemory) -> None:
        """Replace the file, unless the state is what it has.

        Raises:
            OSError: it cannot be written; the old one stays.
        """
        data = state.data()
        if data == self._data:
            return
        new = f"{self.path}.new"  # this process holds the lock
        file = posix.open(new, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o600)
        try:
            view = data
            while view:
                view = view[posix.write(file, view) :]
            posix.fsync(file)
        finally:
            posix.close(file)
        posix.rename(new, self.path)
        self._data = data
