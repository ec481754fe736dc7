# SPDX-License-Identifier: GPL-2.0-or-later
"""Call the verbs of `tests/cluster/run` without starting Python for each, because tests make thousands of calls."""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

RUN = Path(__file__).parent / "run"

_idle: list[subprocess.Popen[str]] = []
"""Idle servers; at most as many as there were simultaneous calls."""


def call(
    arguments: list[str], environment: Mapping[str, str], stdin: str | None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a verb like `run`.

    Output goes through files, because with pipes the call would wait for processes that outlive their parent.

    Raises:
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it has been killed.
    """
    with tempfile.TemporaryDirectory(prefix="slurmhooks-call-") as folder:
        streams = [Path(folder, name) for name in ("in", "out", "err")]
        for stream, text in zip(streams, (stdin or "", "", ""), strict=True):
            stream.write_bytes(text.encode(errors="surrogateescape"))
        request = {"arguments": arguments, "environment": dict(environment), "streams": list(map(str, streams))}
        server = _idle.pop() if _idle else _start()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        process = int(server.stdout.readline())
        late = threading.Event()

        def end() -> None:
            late.set()
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

        timer = threading.Timer(timeout, end)
        timer.start()
        code = int(server.stdout.readline())
        timer.cancel()
        _idle.append(server)
        out, err = (stream.read_bytes().decode(errors="surrogateescape") for stream in streams[1:])
    if late.is_set():
        raise subprocess.TimeoutExpired(arguments, timeout, out, err)
    return subprocess.CompletedProcess(arguments, code, out, err)


def _start() -> subprocess.Popen[str]:
    """Return a new server, which ends with this process: its standard input is then closed."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(RUN), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@atexit.register
def _end() -> None:
    for server in _idle:
        server.communicate()
