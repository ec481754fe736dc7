# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets each run of a periodic handler happen once, whatever processes, controllers and restarts there are.

The folder ``slurmhooks/every`` in StateSaveLocation, which the controllers share, has a file that is locked while a
rule runs, and a note of the last run of each rule, written before it begins. The supervisor has both in hand: the
processes that run rules may belong to a user who cannot write there. They ask it over a socket; what they say decides
only when the rules of that user run.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from enum import IntEnum

from slurmhooks.errors import ConfigError
from slurmhooks.files import durable, regular, slurm_conf
from slurmhooks.log import log, visible
from slurmhooks.processes import control, descriptors
from slurmhooks.processes.control import Message

LOCK, RUNS = "lock", "runs.json"
MOST = 1000
"""How many rules have a note; that of the rule which has not run for the longest time is forgotten first."""
SHORT = 2.0
"""Seconds that a run of another supervisor may delay a rule before commands and the log report it."""


class Claim(IntEnum):
    """Kinds of messages between a process that runs rules and the supervisor.

    To the supervisor:
    RUN: may this rule run now? text: the rule; about: the number of the run; value: 1 to take the rule over from
        another controller.
    NONE: nothing runs, and nothing is to run.

    From the supervisor:
    GRANTED: yes, until the next message or the end of the process; value: 1 if there was a run before; about: its
        number.
    DONE: this run has been, or a later one, and not because this machine's clock was ahead.
    LOCKED: not yet, because a rule runs, here or elsewhere, or because the lock or the notes cannot be used.
    OTHERS: not yet: nothing runs, but another controller has run this rule the last time.
    """

    RUN = 1
    NONE = 2
    GRANTED = 3
    DONE = 4
    LOCKED = 5
    OTHERS = 6


class Claims:
    """The supervisor's side.

    Attributes:
        trouble: why rules do not run here, although this slurmctld is in control; None: they do, or none is due.
    """

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._told: str | None = None  # what the log has said: the host of another controller, or an error
        self._locked_since = 0.0
        self._suspect: tuple[int, str] | None = None  # who asked last for a run of the past
        self._host = _host()
        self._place: str | None = None
        self._connections: dict[int, socket.socket] = {}
        self._holder: int | None = None
        self._lock = -1

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets to wait for."""
        return list(self._connections.values())

    def connect(self, generation: int, fds: tuple[int, ...]) -> None:
        """Take the socket to the process of a generation whose former process has ended.

        Raises:
            ValueError: it is no such socket.
        """
        self.drop(generation)
        if len(fds) != 1 or not descriptors.is_seqpacket(fds[0]):
            raise ValueError("not one socket")
        try:
            self._connections[generation] = socket.socket(fileno=os.dup(fds[0]))
        except OSError as error:
            log.error("periodic handlers of generation %d do not run: %s", generation, error.strerror)

    def ready(self, fds: set[int]) -> None:
        """Answer what the processes ask, without waiting for one of them."""
        for generation, connection in list(self._connections.items()):
            if connection.fileno() not in fds:
                continue
            try:
                message = control.receive(connection, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except OSError:  # not connected
                message = None
            if message is None:
                self.drop(generation)
                continue
            descriptors.discard(message.fds)
            answer = self._answer(generation, message)
            if answer is not None:
                with suppress(OSError):  # it has ended, or does not read: then it has no right to run, or keeps it
                    control.send(connection, answer, socket.MSG_DONTWAIT)

    def drop(self, generation: int) -> None:
        """Forget the process of a generation, if there is one: it has ended."""
        connection = self._connections.pop(generation, None)
        if connection is not None:
            connection.close()
        self._free(generation)

    def close(self) -> None:
        """Close everything, in a forked child."""
        for end in self.sockets:
            end.close()
        if self._lock >= 0:
            os.close(self._lock)

    def _answer(self, generation: int, message: Message) -> Message | None:
        self._free(generation)
        if message.kind != Claim.RUN:
            self.trouble = self._told = None
            return None
        if self._holder is not None:
            return Message(Claim.LOCKED, generation)
        try:
            return self._claim(generation, visible(message.text), message.about, take_over=message.value == 1)
        except (OSError, ConfigError, ValueError) as error:
            self._say(str(error), f"no periodic handler runs: their lock or their notes cannot be used: {error}")
        return Message(Claim.LOCKED, generation)

    def _claim(self, generation: int, rule: str, run: int, *, take_over: bool) -> Message:
        """Lock the file, and note the run, if it may begin.

        Raises:
            OSError, ConfigError: the files cannot be used.
            ValueError: the notes are damaged.
        """
        folder = self._folder()
        lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                self._wait(os.pread(lock, 1024, 0).decode("utf-8", "replace"))
                return Message(Claim.LOCKED, generation)
            except OSError as error:  # such as ENOLCK, of NFS without locks
                error.filename = f"{folder}/{LOCK}"
                raise
            self._locked_since = 0.0
            runs = _read(f"{folder}/{RUNS}")
            before, host = runs.get(rule, (None, self._host))
            if before is not None and before >= run:
                if host != self._host or before <= run + 1:
                    self._done(rule, before - run, host)
                    return Message(Claim.DONE, generation)
                # This machine is more than one run ahead: its clock has been put back since, or the process that asks
                # was held up on the way. Then its next question is for a later run.
                if self._suspect != (generation, rule):
                    self._suspect = generation, rule
                    return Message(Claim.LOCKED, generation)
            self._suspect = None
            if host != self._host and not take_over:
                return Message(Claim.OTHERS, generation)
            runs.pop(rule, None)
            runs[rule] = (run, self._host)
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{self._host}, process {os.getpid()}, for {rule}".encode("utf-8", "replace"), 0)
            durable.write(f"{folder}/{RUNS}", json.dumps(dict(list(runs.items())[-MOST:])).encode())
            self._lock, self._holder, lock = lock, generation, -1
        finally:
            if lock >= 0:
                os.close(lock)
        self._say(None, "this slurmctld runs the periodic handlers")
        return Message(Claim.GRANTED, generation, before or 0, int(before is not None))

    def _done(self, rule: str, ahead: int, host: str) -> None:
        """Tell why a run is not to begin, unless another process of this controller has done it."""
        if ahead > 1:
            text = f"{host} has run {rule} by a clock that is ahead of this one by {ahead} times this period"
            self._say(
                f"clock {host}",
                f"{text}: it does not run before then; remove {self._folder()}/{RUNS} if that was wrong",
            )
        elif host != self._host:
            self._say(host, f"another slurmctld is in control, too, and runs the periodic handlers: that on {host}")
        else:
            self.trouble = None

    def _wait(self, holder: str) -> None:
        """Tell, after a while, that another supervisor has the lock."""
        now = time.monotonic()
        self._locked_since = self._locked_since or now
        if now - self._locked_since > SHORT:
            self._say(
                holder.partition(",")[0],
                f"periodic handlers wait for the lock {self._folder()}/{LOCK} of {visible(holder, limit=400)}",
            )

    def _free(self, generation: int) -> None:
        """End the right of a process to run a rule."""
        if self._holder == generation:
            with suppress(OSError):  # of NFS, which has not taken the name of the holder
                os.close(self._lock)  # which ends the lock, too
            self._lock, self._holder = -1, None

    def _folder(self) -> str:
        """Return the folder of both files, which is made if need be.

        Raises:
            OSError: it cannot be made, or there is no StateSaveLocation.
            ConfigError: slurm.conf cannot be read.
        """
        if self._place is None:  # a slurmctld keeps its StateSaveLocation
            self._place = f"{slurm_conf.own_value('StateSaveLocation') or '/var/spool'}/slurmhooks"
        for folder in (self._place, f"{self._place}/every"):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        return folder

    def _say(self, about: str | None, text: str) -> None:
        """Keep for commands why rules do not run here, and log it if it is new; None: they run."""
        self.trouble = text if about is not None else None
        if about != self._told:
            (log.info if about is None else log.error)("%s", text)
            self._told = about


def _host() -> str:
    return os.uname().nodename


def _read(path: str) -> dict[str, tuple[int, str]]:
    """Return number and host of the last run of each rule.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged.
    """
    try:
        runs = json.loads(regular.read(path))
        if not isinstance(runs, dict):
            raise ValueError("not a table")
        for run in runs.values():
            if not (isinstance(run, list) and [type(each) for each in run] == [int, str] and 0 <= run[0] < 1 << 32):
                raise ValueError("not the number and the host of a run")
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path}: {error}; remove it, if no rule runs elsewhere: then each runs at its next time"
        ) from None
    return {rule: (run, host) for rule, (run, host) in runs.items()}
