# SPDX-License-Identifier: GPL-2.0-or-later
"""The decision log: a line of JSON for each request, in files that only SlurmUser and root can read.

Only the collector imports this module; ``slurmhooks why`` reads what it writes. Lines are written together, with one
system call for all that have arrived.
"""

from __future__ import annotations

import importlib
import os
import pwd
import random
import stat
import time
from contextlib import suppress
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import structlog

from slurmhooks.collector import json_lines
from slurmhooks.handlers.dispatch import UNTIL
from slurmhooks.log import log

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from slurmhooks.collector.checked import Decision

REPEAT = 60.0
"""Seconds before the same error is logged again, and an unknown user is looked up again."""
USERS = 4096
"""Most names that are kept."""
COUNTED = frozenset({"priority"})
"""Hooks whose calls are counted but not logged: they are too many, and decide about no request."""
WOULD = frozenset({"would refuse", "would fail"})
"""Outcomes of handlers that only warn or observe."""
LOGGED = frozenset({"unserved", "dropped"})
"""Events that are logged in addition to decisions."""
TOGETHER = 1 << 20
"""Bytes of lines that are kept until they are written."""
LAST_SECOND = 253402300799
"""Of the year 9999, the last one of dates in ISO format."""
COMPLETER = "slurmhooks.slurmctld.logged_fields", "completer"
"""Module and function that returns the function which completes what workers report. It knows Slurm's structs, and so
belongs to a higher layer."""


class _File:
    """A file that only its owner can read, in a folder that only its owner can write to.

    Attributes:
        lost: how many lines are missing.
        trouble: why the last lines could not be written; None: they could.
    """

    def __init__(self, path: str, size: int, keep: int, gap: Callable[[int], bytes], lost: int = 0) -> None:
        """Prepare; the file is opened for the first line.

        ``size`` is in bytes, unless one line has more. ``keep`` full files are kept, as PATH.1 and so on. ``gap``
        returns a line that says how many lines are missing before it; ``lost`` are so far.
        """
        self._gap = gap
        self.lost = lost
        self._path = path
        self._most = size
        self._keep = keep
        self._fd: int | None = None
        self._size = 0
        self._lines: list[bytes] = []
        self._waiting = 0
        self._told_at = 0.0
        self.trouble: str | None = None

    def add(self, line: bytes) -> None:
        """Keep a line until :meth:`flush`, or until there are many."""
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting > TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write all lines; errors are logged at most every REPEAT seconds, and the file is opened anew afterwards."""
        lines, self._lines, self._waiting = self._lines, [], 0
        gap = [self._gap(self.lost)] if lines and self.lost else []
        lines, count = gap + lines, len(lines)
        try:
            while lines:
                self._write(lines)
            self.lost = 0 if gap else self.lost
            self.trouble = None if count else self.trouble
        except OSError as error:
            self.close()
            # Once the gap has been written, only what comes after it is missing.
            self.lost = self.lost + count if len(lines) > count else len(lines)
            self._tell(error)

    def _tell(self, error: OSError) -> None:
        self.trouble = f"{self._path}: the decision log cannot be written: {error}"
        now = time.monotonic()
        if not self._told_at or now - self._told_at > REPEAT:
            self._told_at = now
            log.error("%s", self.trouble)

    def _write(self, lines: list[bytes]) -> None:
        """Write as many lines as the file may hold, and remove them from the list; there is a new file for the others.

        Raises:
            OSError: they cannot be written; what could be is removed from the list.
        """
        fd = self._opened()
        count = size = 0
        for line in lines:
            if size + self._size and size + self._size + len(line) > self._most:
                break
            size += len(line)
            count += 1
        written = os.write(fd, b"".join(lines[:count])) if count else 0
        self._size += written
        is_short = written < size
        while lines and written >= len(lines[0]) - 1 > 0:  # _opened() adds a newline that is missing
            written -= len(lines.pop(0))
        if is_short:
            raise OSError("only a part could be written; the disk is full")
        if lines:
            self._rotate()

    def _opened(self) -> int:
        """Return the descriptor of the file, which somebody may have renamed, removed or emptied meanwhile.

        Raises:
            OSError: it cannot be opened, or others may write to its folder.
        """
        if self._fd is not None:
            status = os.fstat(self._fd)
            with suppress(FileNotFoundError):
                if os.path.samestat(status, os.lstat(self._path)):
                    self._size = status.st_size
                    return self._fd
            self.close()
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        status = os.stat(folder)
        if status.st_uid not in (0, os.getuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{folder}: only SlurmUser and root may be able to write to it")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(fd).st_size
        if self._size and os.pread(fd, 1, self._size - 1) != b"\n":
            self._size += os.write(fd, b"\n")  # a full disk or a crash has left the beginning of a line
        return fd

    def _rotate(self) -> None:
        """Rename the file, and those that were renamed before.

        Raises:
            OSError: a file cannot be renamed.
        """
        self.close()
        names = [self._path, *(f"{self._path}.{number}" for number in range(1, self._keep + 1))]
        for old, new in reversed(list(pairwise(names))):
            with suppress(FileNotFoundError):
                os.replace(old, new)

    def close(self) -> None:
        """Close the file, even if its server says only now that it has not taken lines, as with NFS."""
        fd, self._fd = self._fd, None
        try:
            if fd is not None:
                os.close(fd)
        except OSError as error:
            self._tell(error)


class DecisionLog:
    """Writes decisions; see slurmhooks.collector.collection.Sink."""

    def __init__(self, orders: dict[str, Any]) -> None:
        module, function = COMPLETER
        self._complete: Callable[[Decision], dict[str, Any]]
        self._complete = getattr(importlib.import_module(module), function)()
        self._random = random.Random()
        self._users = UserNames()
        self._file: _File | None = None
        self._second, self._clock = 0, ("", "")
        self._lines = structlog.wrap_logger(
            structlog.ReturnLogger(),
            processors=[self._stamp, structlog.processors.JSONRenderer(_line)],
            context_class=dict,
        )
        self.order(orders)

    def order(self, orders: dict[str, Any]) -> None:
        """Take changed files, or a changed share."""
        self.close()
        settings = orders["decisions"]
        self._sample = settings["sample"]
        former = self._file
        lost = 0 if former is None else former.lost
        self._file = _File(settings["file"], settings["max_size"], settings["keep"], self._gap, lost)
        self._file.trouble = None if former is None else former.trouble

    def decision(self, decision: Decision) -> None:
        """Write a line, unless it is one of the accepted requests that are left out."""
        if decision.hook in COUNTED:
            return
        if self._sample < 1 and _unremarkable(decision) and self._random.random() >= self._sample:
            return
        event = "observed" if decision.verdict is None else "decision"
        line = self._complete(decision)
        if "user_id" in line and "user" not in line:
            line["user"] = self._users.get(line["user_id"])
        self._add(event, decision.time, line)

    def event(self, content: dict[str, Any]) -> None:
        """Write a line about requests that no worker could serve, or that are missing in the log."""
        if content["event"] in LOGGED:
            self._add(content["event"], content["time"], content)

    def _add(self, event: str, seconds: float, content: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.add(self._lines.msg(event, time=seconds, content=content))

    def _gap(self, count: int) -> bytes:
        line: bytes = self._lines.msg("dropped", time=time.time(), content={"count": count})
        return line

    def _stamp(self, _logger: object, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
        """Begin a line with its time and its event, whatever was reported as such; a processor of structlog."""
        first = {"time": self._time(line["time"]), "event": line["event"]}
        return {**first, **line["content"], **first}

    def _time(self, seconds: float) -> str:
        """Return a time in ISO format, in milliseconds and with the offset of the local time zone.

        Raises:
            ValueError: it is after the year 9999.
        """
        second, milliseconds = divmod(int(seconds * 1000), 1000)
        if second != self._second or not self._clock[0]:
            if second > LAST_SECOND:
                raise ValueError(f"the time {seconds}")
            local = time.localtime(second)
            zone = time.strftime("%z", local)
            self._second, self._clock = second, (time.strftime("%Y-%m-%dT%H:%M:%S", local), f"{zone[:3]}:{zone[3:]}")
        return f"{self._clock[0]}.{milliseconds:03}{self._clock[1]}"

    @property
    def trouble(self) -> str | None:
        """Why lines are being lost; None: they are not."""
        return None if self._file is None else self._file.trouble

    def turn(self) -> None:
        """Write the lines that have been added."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write the lines that have been added, and close the file."""
        if self._file is not None:
            self._file.flush()
            self._file.close()


def _line(content: dict[str, Any], **_: object) -> bytes:
    """Return the line for a content; structlog's renderer adds arguments of the json module."""
    return json_lines.encode(content) + b"\n"


def _unremarkable(decision: Decision) -> bool:
    """Tell whether a request passed without a message to the user, and every handler would have passed it.

    A rule that did nothing because of an exemption until a day might have refused it otherwise.
    """
    passed = decision.verdict is None or (decision.verdict == "accepted" and "text" not in decision.more)
    return passed and not any(
        outcome in WOULD or str(more.get("exempt", "")).startswith(UNTIL)
        for _, outcome, _, _, more in decision.handlers
    )


class UserNames:
    """Names of users; the name service is asked once for each user whom it knows."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[str | None, float]] = {}

    def get(self, uid: int) -> str | None:
        """Return the name of a user; None if there is none, or the name service has failed in the last minute.

        It does not tell one from the other, and may take long to fail.
        """
        name, until = self._names.get(uid, (None, 0.0))
        if time.monotonic() < until:
            return name
        try:
            name, until = pwd.getpwuid(uid).pw_name, inf
        except (KeyError, OverflowError):
            name, until = None, time.monotonic() + REPEAT
        if len(self._names) >= USERS:
            self._names.clear()
        self._names[uid] = (name, until)
        return name
