# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls, as SlurmUser; it ends when nothing waits.

``python -m slurmhooks.power.process FOLDER``. Only one delivers at a time. Each turn runs in a child, in a session of
its own, so that a handler that does not end, or ends its process, is a failed attempt like any other. A call stays in
the spool until its handlers have passed, whatever is killed.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.errors import ConfigError, LoadError, SlurmhooksError
from slurmhooks.files.bounded import bound
from slurmhooks.files.watch import Watch
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.delivery import IDLE
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.jobcomp.trouble import Trouble
from slurmhooks.log import INFO, NAMES, log
from slurmhooks.power.delivery import PowerDelivery
from slurmhooks.processes import process
from slurmhooks.processes.deliverer import LOCK, LOG, MAX_LOG, waits
from slurmhooks.site import sources as site
from slurmhooks.worker import worker
from slurmhooks.worker.channel import end_timer
from slurmhooks.worker.service import load_site

if TYPE_CHECKING:
    from collections.abc import Callable

HOOKS = tuple(spec.name for spec in POINTS["power"].hooks)
MOST_ANSWER = 1 << 16
"""Bytes of an error that is reported at most."""


def main(spool: Path) -> None:
    """Deliver until no call waits, unless another process does that already."""
    log.attach(_line, lambda text: _line(INFO, text))
    # slurmctld's processes block some signals and a supervisor ignores others; programs of handlers would inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with (spool / LOCK).open("w") as lock:
        while waits(spool):
            try:
                # Not flock(): processes that handlers have forked, and left behind, would keep it.
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            deliver(spool)
            # A call that came since the last look found the lock taken, so look again without it.
            fcntl.lockf(lock, fcntl.LOCK_UN)


def _line(level: int, text: str) -> None:
    """Write a line to the log in the spool, as Slurm's daemons write theirs."""
    name = "" if level == INFO else f"{NAMES[level]}: "
    line = f"[{time.strftime('%Y-%m-%dT%H:%M:%S')}] {name}{text}\n"
    os.write(2, line.encode("utf-8", "surrogateescape"))


def deliver(spool: Path) -> None:
    """Deliver until no call waits."""
    failure = None
    trouble = Trouble("power calls are delivered again")
    while waits(spool):
        try:
            limit = site.read_config(site.config_name()).power.timeout
        except (ConfigError, LoadError) as error:
            trouble.note("\n".join(error.findings))
            time.sleep(IDLE)
            continue
        look = partial(bound, spool / LOG, MAX_LOG)
        wait, failure, why = in_child(lambda failed=failure: turn(spool, failed), limit, look)  # type: ignore[misc]
        if failure is None:
            trouble.note(why)
        if wait:
            time.sleep(min(wait, 1.0) if failure is None else wait)


def turn(spool: Path, failure: str | None) -> float:
    """Load the hooks as they are now, and deliver one call, if one is due; return the seconds until the next turn.

    Raises:
        ConfigError, LoadError, OSError: nothing can be delivered.
    """
    config, registry = load_site(Watch(), lambda _: [], hooks=HOOKS)
    calls = Spool(spool)
    delivery = PowerDelivery(calls, registry, config.power)
    wait = delivery.turn(0, 1, failure)
    delivery.counts.export(calls, config.metrics)
    return wait


def in_child(body: Callable[[], float], limit: float, look: Callable[[], None]) -> tuple[float, str | None, str | None]:
    """Run a turn in a child.

    Args:
        body: the turn.
        limit: seconds after which it is killed.
        look: called at the beginning, and every second.

    Returns:
        the seconds until the next turn; what ended the child, None if nothing did; why nothing can be delivered, or
        None.
    """
    me = os.getpid()
    pid, ours, theirs = process.fork()
    if not pid:
        process.die_with(me)
        ours.close()
        os.setsid()
        worker.end_timer = end_timer
        process.end_after(lambda: theirs.send(_answer(body).encode("utf-8", "surrogateescape")[:MOST_ANSWER]))
    theirs.close()
    with ours:
        # End of file: the child has ended. A program that a handler started has not inherited the socket.
        until = time.monotonic() + limit
        there = None
        while not there and (left := until - time.monotonic()) > 0:
            look()
            there, _, _ = select.select([ours], [], [], min(left, 1.0))
        answer = ours.recv(MOST_ANSWER) if there else b""
    # Programs that a handler left behind may serve for long, as agents of clouds do: they are only killed at the limit.
    if not there:
        process.kill(pid, group=True)
    _, status = os.waitpid(pid, 0)
    if answer:
        wait, _, error = answer.decode("utf-8", "replace").partition("\n")
        return float(wait), None, error or None
    how = f"its process {process.describe(status)}" if there else f"it did not end within {limit:g} seconds"
    return 0.0, how, None


def _answer(body: Callable[[], float]) -> str:
    """Return the seconds until the next turn, and in more lines why nothing can be delivered."""
    try:
        return f"{body()}"
    except (ConfigError, LoadError) as error:
        findings = error.findings
    except (OSError, SlurmhooksError) as error:
        findings = [str(error)]
    return "\n".join([f"{IDLE}", *(f"no power call is delivered: {finding}" for finding in findings)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
