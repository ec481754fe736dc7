# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands of slurmhooks in forks of a process that has imported them: most take longer to start than to work.

One process serves all clusters that have the same build; each fork enters the cluster of its command. The text of this
module is the program of that process, in the Python of the clusters.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence

UNSERVED = "-"
"""The answer if a command must be started, because the cluster's files are others, or the cluster has ended."""

IMPORTED = (
    *(f"slurmhooks.cli.commands.{name}" for name in ("check", "deploy", "info", "rules", "status", "why")),
    *(
        f"slurmhooks.cli.checks.{name}"
        for name in ("access", "calls", "evaded", "lines", "mistakes", "programs", "report", "undefined")
    ),
    *(f"slurmhooks.{name}" for name in ("config.model", "handlers.refusals", "handlers.structured", "hooks.hook")),
    *(f"slurmhooks.{name}" for name in ("job_submit.whole", "slurmctld.actions", "slurmctld.logged_fields")),
    *("slurmhooks.lua.needs", "slurmhooks.rules.conflicts", "slurmhooks.spank.model", "slurmhooks.worker.commands"),
)
"""What most commands import, some of it late; each imports what is missing."""


def serve(link: str, program: str, namespaces: int) -> None:
    """Answer requests, one at a time, until the socket is closed.

    Each request has four descriptors: a file with the arguments and the keeper's process id, as JSON, and the streams
    of the command. The answer is the exit code, or UNSERVED.

    ``link`` is the path of the command, ``program`` what it leads to in a cluster that has the build; setns() takes the
    ``namespaces`` of the keeper.
    """
    import slurmhooks
    from slurmhooks import identity

    for module in IMPORTED:
        importlib.import_module(module)
    folders = [folder for folder, *_ in os.walk(slurmhooks.__path__[0]) if "__" not in folder]
    times = _times(folders)
    sources = identity.here()
    identity.here = lambda: sources  # the forks run only while no file of it has been replaced
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as connection:
        while True:
            request, descriptors, _, _ = socket.recv_fds(connection, 1, 4)
            if not request:
                return
            child = os.fork()
            if child == 0:
                connection.close()
                arguments = _enter(descriptors[0], namespaces)
                if arguments is None or os.path.realpath(link) != program or _times(folders) != times:
                    os.kill(os.getpid(), signal.SIGKILL)
                _run([link, *(arguments or ())], descriptors[1:])
            for descriptor in descriptors:
                os.close(descriptor)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            connection.send((str(code) if code >= 0 else UNSERVED).encode())


def _enter(request: int, namespaces: int) -> list[str] | None:
    """Enter the cluster of a request; return the arguments, or None if the cluster has ended."""
    with open(request, encoding="utf-8", closefd=False) as file:
        arguments, keeper = json.load(file)
    try:
        has_entered = ctypes.CDLL(None).setns(os.pidfd_open(keeper), namespaces) == 0
    except ProcessLookupError:
        has_entered = False
    return list(arguments) if has_entered else None


def _times(folders: Sequence[str]) -> list[int]:
    """Return when files of the package were last added, removed or replaced."""
    return [os.stat(folder).st_mtime_ns if os.path.isdir(folder) else 0 for folder in folders]


def _run(words: list[str], streams: Sequence[int]) -> None:
    """Run a command in a child, which is in the process namespace that this process has entered, and end as it does."""
    from slurmhooks.cli import main
    from slurmhooks.processes import process

    process.die_with(os.getppid())
    child = os.fork()
    if child == 0:
        process.die_with(0)  # a process outside its namespace
        os.chdir(os.environ["HOME"])
        sys.argv[:] = words
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        try:
            main()
        except SystemExit as ended:
            if not isinstance(ended.code, int):
                raise
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            # At once: an interpreter that ends writes to each of its objects, so that all pages would be copied.
            os._exit(ended.code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(128 - code if code < 0 else code)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
