# SPDX-License-Identifier: GPL-2.0-or-later
"""One process of a replay: loads one set of hooks and runs it over a part of the requests.

Old and new hooks have modules with the same names, so each process has only one set. It sends its results to the
replaying command through a pipe, as messages that are checked there, because this process runs code of a site.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from struct import Struct
from typing import TYPE_CHECKING

from slurmhooks.workshop.replay import clock

if TYPE_CHECKING:
    from types import FrameType

    from slurmhooks.recording.request import Recorded
    from slurmhooks.workshop.recorded import Contents
    from slurmhooks.workshop.replay.convert import Conversions
    from slurmhooks.workshop.replay.engine import Engine

LENGTH = Struct("<I")
NOBODY = 65534
REQUEST_TIMEOUT = 10.0
"""Seconds that a request may take; slurmctld would have ended the worker long before."""
REPLAYING = "SLURMHOOKS_REPLAYING"
"""The environment variable that tells handlers about the replay, see :func:`slurmhooks.replaying`."""


class TookTooLong(Exception):  # noqa: N818 - reported as a bug of the handler, by this name
    """A handler ran for more than REQUEST_TIMEOUT."""


@dataclass(frozen=True)
class Task:
    """The task of a process.

    ``recording`` and ``results`` are descriptors, ``offsets`` those of the first and the last frame. ``user`` is the id
    of the user that handlers run as; None: that of this process. For the others see
    slurmhooks.workshop.replay.run.Options.
    """

    recording: int
    results: int
    hooks: str
    offsets: tuple[int, int]
    user: int | None = None
    network: bool = False
    guard: bool = False
    enforce_all: bool = False

    def arguments(self) -> list[str]:
        """Return the command line arguments of a process for this task."""
        return ["-m", "slurmhooks.workshop.replay.side", json.dumps(asdict(self))]


def main(task: Task) -> None:
    """Do a task; write findings and results to the pipe."""
    # Before the import of any module that stores a reference to a clock.
    clock.install()
    os.environ[REPLAYING] = "1"
    isolated = task.network or without_network()
    from slurmhooks.errors import ConfigError, LoadError
    from slurmhooks.files import trusted
    from slurmhooks.job_submit.request import HOOKS
    from slurmhooks.wire.tables import installed
    from slurmhooks.workshop.recorded import Contents
    from slurmhooks.workshop.replay import hooks
    from slurmhooks.workshop.replay.answers import Answers, Snapshots
    from slurmhooks.workshop.replay.convert import Conversions
    from slurmhooks.workshop.replay.engine import Engine

    if task.guard and os.getuid() == 0:
        trusted.guard()
    contents = Contents(task.recording)
    tables = installed() or contents.newest()
    sys.dont_write_bytecode = True
    try:
        registry, settings = hooks.load(task.hooks, tables)
    except (ConfigError, LoadError) as error:
        send(task.results, json.dumps({"findings": error.findings}).encode())
        return
    drop(task.user)
    handlers = [handler.label for hook in HOOKS for handler in registry.handlers(hook)]
    send(task.results, json.dumps({"isolated": isolated, "handlers": handlers}).encode())
    conversions = Conversions(contents, tables)
    snapshots = Snapshots(tables, conversions.rows())
    answers = Answers(tables, snapshots, conversions.facts(), contents.users)
    engine = Engine(tables, registry, answers, enforce_all=task.enforce_all, settings=settings)
    with engine.running():
        _run(task, engine, contents, conversions)
        engine.stop()


def _run(task: Task, engine: Engine, contents: Contents, conversions: Conversions) -> None:
    from slurmhooks.workshop.replay.engine import pack_results

    signal.signal(signal.SIGALRM, took_too_long)

    def run(request: Recorded) -> tuple[bytes, bytes]:
        signal.setitimer(signal.ITIMER_REAL, REQUEST_TIMEOUT)
        try:
            return engine.run(request)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    first, last = task.offsets
    for offset in contents.offsets:
        if first <= offset <= last:
            send(task.results, pack_results(list(map(run, map(conversions.request, contents.requests(offset))))))


def took_too_long(number: int, frame: FrameType | None) -> None:
    """Handle SIGALRM: end the handler by an exception."""
    raise TookTooLong(f"a request took more than {REQUEST_TIMEOUT:g} s")


def send(fd: int, data: bytes) -> None:
    """Write a message with its length."""
    data = LENGTH.pack(len(data)) + data
    while data:
        data = data[os.write(fd, data) :]


def drop(user: int | None) -> None:
    """Become another user permanently; None: stay the same user."""
    if user is not None and os.getuid() == 0:
        from slurmhooks.processes import process

        process.become(user)


def without_network() -> bool:
    """Disconnect this process from the network; tell whether the kernel allowed that."""
    import ctypes

    user_namespace, network_namespace = 0x10000000, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if os.getuid() == 0:
        return bool(libc.unshare(network_namespace) == 0)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(user_namespace | network_namespace) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return True


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    code = 1
    try:
        main(Task(**arguments | {"offsets": tuple(arguments["offsets"])}))
        code = 0
    finally:
        if code:
            sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(code)  # at once: threads of hook files do not matter
