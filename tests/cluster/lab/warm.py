# SPDX-License-Identifier: GPL-2.0-or-later
"""Run commands of slurmhooks in forks of a process that has imported them: most take longer to start than to work.

The text of this module is the program of that process, too.
"""

import contextlib
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

IMPORTED = (
    *(f"slurmhooks.cli.commands.{name}" for name in ("check", "deploy", "info", "rules", "status", "why")),
    *(f"slurmhooks.cli.checks.{name}" for name in ("lines", "plugins", "report")),
    *(f"slurmhooks.{name}" for name in ("config.model", "job_submit.whole", "slurmctld.logged_fields")),
    *("slurmhooks.lua.needs", "slurmhooks.worker.commands"),
)
"""What most commands import, some of it late; each imports what is missing."""

with open(__file__, encoding="utf-8") if __name__ != "__main__" else contextlib.nullcontext() as _file:
    _TEXT = _file.read() if _file else ""  # read before this process enters a cluster


class Warm:
    """The processes of one cluster, one after the other."""

    def __init__(self, link: str, program: str, environment: Mapping[str, str]) -> None:
        """Start nothing yet.

        Args:
            link: the path of the command.
            program: what it leads to; the first line of that file names its Python.
            environment: of all commands.
        """
        self._link = link
        self._program = program
        self._environment = environment
        self._started: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    def run(self, arguments: Sequence[str], streams: Sequence[int], limit: float) -> int | str | None:
        """Run a command; return the exit code, "late", or None if it must be started.

        Args:
            arguments: of the command.
            streams: its standard streams.
            limit: seconds that it may take; then it is killed.
        """
        while os.path.realpath(self._link) == self._program and os.path.exists(self._program):
            is_new = self._started is None
            _, connection = self._started = self._started or self._start()
            try:
                socket.send_fds(connection, [json.dumps(arguments).encode()], streams)
                connection.settimeout(limit)
                answer = connection.recv(16)
            except TimeoutError:
                self.close()
                return "late"
            except OSError:
                answer = b""
            if answer:
                return int(answer)
            self.close()  # the package has changed, or cannot be imported
            if is_new:
                break
        return None

    def close(self) -> None:
        """End the process, and a command with it."""
        if self._started is not None:
            process, connection = self._started
            process.kill()
            process.wait()
            connection.close()
            self._started = None

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        with open(self._program, encoding="utf-8") as file:
            python = file.readline().removeprefix("#!").strip()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [python, "-P", "-c", _TEXT, self._link]
            home = self._environment["HOME"]
            return subprocess.Popen(command, stdin=theirs.fileno(), cwd=home, env=self._environment), ours


def serve() -> None:
    """Answer requests, one at a time, until the socket is closed or the package has changed."""
    import slurmhooks

    sys.argv.pop(0)  # "-c"; what follows is the command
    for module in IMPORTED:
        importlib.import_module(module)
    folders = [folder for folder, *_ in os.walk(slurmhooks.__path__[0]) if "__" not in folder]
    times = _times(folders)
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as connection:
        while True:
            request, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            if not request or _times(folders) != times:
                return
            child = os.fork()
            if child == 0:
                connection.close()
                sys.argv[1:] = json.loads(request)
                _run(streams)
            for descriptor in streams:
                os.close(descriptor)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            connection.send(str(128 - code if code < 0 else code).encode())


def _times(folders: Sequence[str]) -> list[int]:
    """Return when files of the package were last added, removed or replaced."""
    return [os.stat(folder).st_mtime_ns if os.path.isdir(folder) else 0 for folder in folders]


def _run(streams: list[int]) -> None:
    from slurmhooks.cli import main
    from slurmhooks.processes import process

    process.die_with(os.getppid())
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    main()  # it raises SystemExit


if __name__ == "__main__":
    serve()
