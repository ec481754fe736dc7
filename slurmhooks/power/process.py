# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls, as SlurmUser; it ends when nothing waits.

``python -m slurmhooks.power.process FOLDER``. Only one delivers at a time. Each turn runs in a child, in a session of
its own, so that a handler that does not end, or ends its process, is a failed attempt like any other. A call stays in
the spool until its handlers have passed, whatever is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
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
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.delivery import IDLE
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.jobcomp.trouble import Trouble
from slurmhooks.log import INFO, NAMES, log
from slurmhooks.power.delivery import PowerDelivery
from slurmhooks.processes import deliverer, process
from slurmhooks.processes.deliverer import LOCK, LOG, MAX_LOG, SEGMENT, waits
from slurmhooks.processes.last_file import LastFile
from slurmhooks.site import reload
from slurmhooks.site import sources as site
from slurmhooks.worker import worker
from slurmhooks.worker.attempts import REPEAT
from slurmhooks.worker.channel import end_timer
from slurmhooks.worker.polling import POLL

if TYPE_CHECKING:
    from collections.abc import Callable

HOOKS = tuple(spec.name for spec in POINTS["power"].hooks)
MOST_ANSWER = 1 << 16
"""Bytes of an error that is reported at most."""
MOST = 1 << 20
"""Bytes of a message of a child at most."""
LOADED = b"loaded"
PAUSE = 5.0
"""Seconds after a turn whose process was ended, at most: whatever the reason is, it may come at once again."""


def main(spool: Path) -> None:
    """Deliver until no call waits, unless another process does that already."""
    log.attach(_line, lambda text: _line(INFO, text))
    # slurmctld's processes block some signals and a supervisor ignores others; programs of handlers would inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with (spool / LOCK).open("a") as lock:
        # Processes that handlers have forked, and left behind, would keep it.
        os.register_at_fork(after_in_child=lock.close)
        while waits(spool):
            if not locks.take(lock.fileno()):
                return
            with suppress(OSError):  # a full disk
                os.ftruncate(lock.fileno(), 0)
                os.write(lock.fileno(), f"process {os.getpid()}, slurmhooks {__version__}\n".encode())
            deliver(spool)
            # A call that came since the last look found the lock taken, so look again without it.
            locks.release(lock.fileno())


def _line(level: int, text: str) -> None:
    """Write a line to the log in the spool, as Slurm's daemons write theirs; to the system's log if that is full."""
    name = "" if level == INFO else f"{NAMES[level]}: "
    line = f"[{time.strftime('%Y-%m-%dT%H:%M:%S')}] {name}{text}\n".encode("utf-8", "surrogateescape")
    with suppress(OSError):
        if os.write(2, line) == len(line):
            return
    deliverer.to_system_log(text)


def deliver(spool: Path) -> None:
    """Deliver until no call waits."""
    failure = None
    trouble = Trouble("power calls are delivered again")
    look = partial(bound, spool / LOG, MAX_LOG)
    while waits(spool):
        try:
            section = site.read_config(site.config_name()).power
        except (ConfigError, LoadError) as error:
            trouble.note("\n".join(error.findings))
            time.sleep(IDLE)
            continue
        done = in_child(partial(turn, spool, failure), section.timeout, look)
        failure = done.failure
        if failure is None:
            trouble.note(done.why)
        else:
            _rest(min(PAUSE, section.backoff), look, lambda: False)
        if done.watch is not None:
            _rest(REPEAT, look, done.watch.changed)
        elif done.wait and (segments := _segments(spool)):
            _rest(done.wait, look, lambda known=segments: _segments(spool) != known)  # type: ignore[misc]


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


def turn(spool: Path, failure: str | None, tell: Callable[[bytes], object]) -> float:
    """Load the hooks as they are now, and deliver one call, if one is due; return the seconds until the next turn.

    Args:
        spool: the folder with the calls.
        failure: what has ended the process of the last turn; None: nothing.
        tell: tells the parent which files it has to watch if the hooks do not load, and when they are loaded.

    Raises:
        ConfigError, LoadError, OSError: nothing can be delivered.
    """
    watch = Watch()

    def show(_: object = None) -> None:
        with suppress(OSError):  # too long: the files are loaded again after the pause
            tell(json.dumps(watch.plain()).encode())

    trusted.guard()
    try:
        config, registry = reload.load(site.config_path(), watch, lambda _: [], hooks=HOOKS, prepare=show)
    except (ConfigError, LoadError):
        show()  # with modules that hook files have imported
        raise
    tell(LOADED)
    # The next turn knows only what is on the disk. So a handler does not run if it cannot be noted that it has begun:
    # on a full disk it would run again and again. The room for this note mostly suffices for the other ones.
    calls = Spool(spool, in_memory=False)
    delivery = PowerDelivery(calls, registry, config.power)
    wait = delivery.turn(0, 1, failure)
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
        watch: the files of hooks that do not load; None: they are loaded.
    """

    wait: float = 0.0
    failure: str | None = None
    why: str | None = None
    watch: Watch | None = field(default_factory=Watch)


def in_child(body: Callable[[Callable[[bytes], object]], float], limit: float, look: Callable[[], None]) -> Turn:
    """Run a turn in a child.

    Args:
        body: the turn, see :func:`turn`.
        limit: seconds after which it is killed.
        look: called at the beginning, and every second.
    """
    me = os.getpid()
    last = LastFile()
    pid, ours, theirs = process.fork()
    if not pid:
        process.die_with(me)
        last.follow()
        ours.close()
        os.setsid()
        worker.end_timer = end_timer
        process.end_after(lambda: _answer(body, theirs.send))
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
                done.watch = None
            elif message and message[:1] == b"{":
                done.watch = Watch.of(json.loads(message))
            elif message:
                result = message
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
        done.why = f"no power call is delivered: the process that loads the hooks {how}{last}"
    return done


def _answer(body: Callable[[Callable[[bytes], object]], float], tell: Callable[[bytes], object]) -> None:
    """Tell the seconds until the next turn, and in more lines why nothing can be delivered."""
    try:
        answer = f"{body(tell)}"
    except (ConfigError, LoadError) as error:
        answer = _unable(error.findings)
    except (OSError, SlurmhooksError) as error:
        answer = _unable([str(error)])
    tell(answer.encode("utf-8", "surrogateescape")[:MOST_ANSWER])


def _unable(findings: list[str]) -> str:
    return "\n".join([f"{IDLE}", *(f"no power call is delivered: {finding}" for finding in findings)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
