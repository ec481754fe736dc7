# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in a virtual machine: it executes the requests that arrive at a serial port, one a line, as JSON."""

import base64
import json
import os
import tempfile
import tty
from typing import Any

from tests.cluster.lab import cluster, commands, daemons, releases
from tests.cluster.lab.errors import LabError

PORT = "/dev/ttyS1"
SLOWER = 5.0
"""How many times longer than in other clusters something may take, because the processor is emulated."""


def main() -> None:
    """Answer requests until the machine ends."""
    for name in ("START_SECONDS", "GRACE_SECONDS", "STOP_SECONDS", "ASK_SECONDS"):
        setattr(daemons, name, getattr(daemons, name) * SLOWER)
    port = os.open(PORT, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(port)
    with open(port, "rb", closefd=False) as requests:
        _send(port, {})  # what came before was lost
        for line in requests:
            _send(port, _answer(json.loads(line)))


def _send(port: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode() + b"\n"
    while data:
        data = data[os.write(port, data) :]


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        if "command" in request:
            return _run(request)
        if "put" in request:
            cluster.write(request["put"], base64.b64decode(request["data"]), request["mode"], (0, 0))
        else:
            release = releases.find(request["restart"])
            daemons.stop(request["names"])
            nodes = sum(name.startswith("n") for name in os.listdir("/var/spool/slurm"))
            daemons.prepare(release, nodes)
            daemons.start(release, nodes)
    except (LabError, OSError) as error:
        return {"code": 1, "out": "", "err": str(error)}
    return {"code": 0, "out": "", "err": ""}


def _run(request: dict[str, Any]) -> dict[str, Any]:
    # Files, because processes that go on would keep a pipe open.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(request["stdin"].encode(errors="surrogateescape"))
        given.seek(0)
        streams = [file.fileno() for file in (given, out, err)]
        code = commands.exit_code(
            commands.start_command(request["user"], request["command"], request["env"], None, streams)
        )
        texts = [os.pread(file, os.fstat(file).st_size, 0).decode(errors="surrogateescape") for file in streams[1:]]
    return {"code": code, "out": texts[0], "err": texts[1]}


if __name__ == "__main__":
    main()
