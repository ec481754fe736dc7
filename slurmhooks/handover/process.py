# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers the calls of a plugin point, as SlurmUser; it ends when nothing waits.

``python -m slurmhooks.POINT.process FOLDER``. Only one of a point delivers at a time. Each turn runs in a child, in a
session of its own, so that a handler that does not end, or ends its process, is a failed attempt like any other. A call
stays in the spool until its handlers have passed, whatever is killed.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks._version import __version__
from slurmhooks.errors import ConfigError, LoadError, SlurmhooksError
from slurmhooks.files import locks, trusted
from slurmhooks.files.bounded import bound
from slurmhooks.files.watch import Watch
from slurmhooks.handover.metrics import Counts
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.delivery import IDLE, UNREADABLE, Delivery
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.jobcomp.trouble import Trouble
from slurmhooks.log import log
from slurmhooks.processes import deliverer, memory, process
from slurmhooks.processes.deliverer import LOCK, LOG, MAX_LOG, SEGMENT, waits
from slurmhooks.processes.last_file import LastFile
from slurmhooks.processes.renewal import Release
from slurmhooks.site import reload
from slurmhooks.site import sources as site
from slurmhooks.worker import worker
from slurmhooks.worker.attempts import REPEAT
from slurmhooks.worker.polling import POLL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from slurmhooks.config.controller import Deliveries, Tables
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.jobcomp.segment import Record

MOST_ANSWER = 1 << 16
"""Bytes of an error that is reported at most."""
MOST = 1 << 20
"""Bytes of a message of a child at most."""
LOADED = b"loaded"
ENDING = 0.005
"""Seconds between two looks whether a child has ended that has said its last."""
PAUSE = 5.0
"""Seconds after a turn whose process was ended, at most: whatever the reason is, it may come at once again."""


class CallDelivery(Delivery):
    """Delivers the calls of a plugin point.

    Attributes:
        counts: what became of the calls.
        seconds: for which a child goes on with the next call; 0: each call gets a child of its own.
    """

    seconds = 0.0
    _orders: dict[tuple[str, int], tuple[str, ...]]

    def __init__(self, spool: Spool, registry: Registry, section: Deliveries) -> None:
        super().__init__(spool, registry, section)
        self.counts = Counts(spool.folder)
        self.command = f"slurmhooks spool --{spool.folder.name}"
        self._orders = {}

    def _order(self, message: bytes) -> tuple[str, ...]:
        """Return what a call is delivered in order for, from its message.

        Raises:
            ValueError: it is damaged.
        """
        raise NotImplementedError

    def _keys(self, record: Record) -> Collection[object]:
        place = (record.segment.path.name, record.frame.position)
        if place not in self._orders:
            try:
                self._orders[place] = self._order(record.segment.message(record.frame))
            except UNREADABLE:
                self._orders[place] = ()  # its attempt will fail, and keeps no other call waiting
        return self._orders[place]

    def _end(self, record: Record, refused: Mapping[str, str] | None = None) -> None:
        outcome = "failed" if self._handlers(record) else "delivered"
        super()._end(record, refused)
        self.counts.add(record.frame.hook, outcome)

    def _bury(self, record: Record) -> None:
        super()._bury(record)
        if record.frame.position not in record.segment.records:  # otherwise the disk is full, and it is tried again
            self.counts.add(record.frame.hook, "given_up")


def main(kind: type[CallDelivery]) -> None:
    """Deliver until no call waits, unless another process does that already; the argument is the spool."""
    spool = Path(sys.argv[1])
    deliverer.attach_log()
    process.reset_signals()
    with (spool / LOCK).open("a") as lock:
        # Processes that handlers have forked, and left behind, would keep it.
        os.register_at_fork(after_in_child=lock.close)
        while waits(spool):
            if not locks.take(lock.fileno()):
                return
            with suppress(OSError):  # a full disk
                os.ftruncate(lock.fileno(), 0)
                os.write(lock.fileno(), f"process {os.getpid()}, slurmhooks {__version__}\n".encode())
            deliver(spool, kind)
            # A call that came since the last look found the lock taken, so look again without it.
            locks.release(lock.fileno())


def deliver(spool: Path, kind: type[CallDelivery]) -> None:
    """Deliver until no call waits."""
    failure = None
    trouble = Trouble(f"{spool.name} calls are delivered again")
    look = partial(bound, spool / LOG, MAX_LOG)
    release = Release()
    while waits(spool):
        # Calls may fail for days: until the service answers that their handlers need.
        release.renew(log.info)
        try:
            section = section_of(site.read_config(), spool)
        except (ConfigError, LoadError) as error:
            trouble.note("\n".join(error.findings))
            time.sleep(IDLE)
            continue
        done = in_child(partial(turn, spool, kind, failure), spool.name, section.timeout, look)
        failure = done.failure
        if failure is None:
            trouble.note(done.why)
        else:
            _rest(min(PAUSE, section.backoff), look, lambda: False)
        if done.watch is not None:
            _rest(REPEAT, look, done.watch.changed)
        elif done.wait and (segments := _segments(spool)):
            _rest(done.wait, look, lambda known=segments: _segments(spool) != known)  # type: ignore[misc]


def section_of(config: Tables, spool: Path) -> Deliveries:
    """Return the table of slurmhooks.toml for the plugin point of a spool."""
    section: Deliveries = getattr(config, spool.name)
    return section


def _rest(seconds: float, look: Callable[[], None], is_over: Callable[[], bool]) -> None:
    """Wait some seconds, unless something ends the pause."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        look()
        time.sleep(min(left, POLL))
        if is_over():
            return


def _segments(spool: Path) -> set[str]:
    return {name for name in os.listdir(spool) if name.endswith(SEGMENT)}


def turn(spool: Path, kind: type[CallDelivery], failure: str | None, tell: Callable[[bytes], object]) -> float:
    """Load the hooks as they are now, and deliver what is due; return the seconds until the next turn.

    ``failure`` has ended the process of the last turn. ``tell`` tells the parent which set it has tried if the hooks do
    not load, and when they are loaded or the next call begins.

    Raises:
        ConfigError, LoadError, OSError: nothing can be delivered.
    """
    watch = Watch()

    def show(_: object = None) -> None:
        with suppress(OSError):  # too long: the hooks are loaded again after the pause
            tell(json.dumps(watch.plain()).encode())

    trusted.guard()
    hooks = tuple(spec.name for spec in POINTS[spool.name].hooks)
    try:
        config, registry = reload.load(site.config_path(), watch, lambda _: [], hooks=hooks, prepare=show)
    except (ConfigError, LoadError):
        show()
        raise
    tell(LOADED)
    # The next turn knows only what is on the disk. So a handler does not run if it cannot be noted that it has begun:
    # on a full disk it would run again and again. The room for this note mostly suffices for the other ones.
    calls = Spool(spool, in_memory=False)
    delivery = kind(calls, registry, section_of(config, spool))
    wait = delivery.turn(0, 1, failure)
    until = time.monotonic() + delivery.seconds
    while not wait and time.monotonic() < until and any(calls.records()):
        tell(LOADED)  # the next call has all of its time
        wait = delivery.turn(0, 1, None)
    delivery.counts.export(calls, config.metrics)
    calls.refresh()  # removes the call if it is done, also if the disk has become full meanwhile
    return wait


@dataclass
class Turn:
    """What became of a turn.

    Attributes:
        wait: the seconds until the next turn.
        failure: what has ended the process after it had loaded the hooks; None: nothing.
        why: why nothing can be delivered; None: nothing keeps it.
        watch: the set whose hooks do not load; None: they are loaded.
    """

    wait: float = 0.0
    failure: str | None = None
    why: str | None = None
    watch: Watch | None = field(default_factory=Watch)


def in_child(
    body: Callable[[Callable[[bytes], object]], float], point: str, limit: float, look: Callable[[], None]
) -> Turn:
    """Run a turn in a child.

    A call's handlers are killed after ``limit`` seconds. ``look`` is called at the beginning, and every second.
    """
    me = os.getpid()
    last = LastFile()
    pid, ours, theirs = process.fork()
    if not pid:
        process.die_with(me)
        last.follow()
        ours.close()
        os.setsid()
        memory.prefer_to_kill()
        os.register_at_fork(after_in_child=theirs.close)  # such a process may stay after this one has ended
        worker.ends_timers = True
        process.end_after(lambda: _answer(body, point, theirs.send))
    theirs.close()
    done, result = Turn(), b""
    with ours:
        # End of file: the child has ended. A program that a handler started has not inherited the socket.
        until = time.monotonic() + limit
        message: bytes | None = None
        while message != b"" and not result and (left := until - time.monotonic()) > 0:
            look()
            message = ours.recv(MOST) if select.select([ours], [], [], min(left, 1.0))[0] else None
            if message == LOADED:
                done.watch, until = None, time.monotonic() + limit
            elif message and message[:1] == b"{":
                done.watch = Watch.of(json.loads(message))
            elif message:
                result = message
    # A handler may have closed all files, as code does that makes a daemon, and not end.
    while message is not None and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() > until:
            message = None
        time.sleep(ENDING)
    # Programs that a handler left behind may serve for long, as agents of clouds do: they are only killed at the limit.
    if message is None:
        process.kill(pid, group=True)
    _, status = os.waitpid(pid, 0)
    if result:
        wait, _, why = result.decode("utf-8", "replace").partition("\n")
        done.wait, done.why = float(wait), why or None
        return done
    how = f"did not end within {limit:g} seconds" if message is None else process.describe(status)
    if done.watch is None:
        done.failure = f"{'it' if message is None else 'its process'} {how}"
    else:
        done.why = f"no {point} call is delivered: the process that loads the hooks {how}{last}"
    return done


def _answer(body: Callable[[Callable[[bytes], object]], float], point: str, tell: Callable[[bytes], object]) -> None:
    """Tell the seconds until the next turn, and in more lines why nothing can be delivered."""
    try:
        answer = f"{body(tell)}"
    except (ConfigError, LoadError) as error:
        answer = _unable(point, error.findings)
    except (OSError, SlurmhooksError) as error:
        answer = _unable(point, [str(error)])
    tell(answer.encode("utf-8", "surrogateescape")[:MOST_ANSWER])


def _unable(point: str, findings: list[str]) -> str:
    return "\n".join([f"{IDLE}", *(f"no {point} call is delivered: {finding}" for finding in findings)])
