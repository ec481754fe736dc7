# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the exchanger, a host that exchanges messages with workers as slurmctld does, and looks at processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.native.building import ROOT, Build

START = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from slurmhooks import identity;"
    " sys._xoptions[identity.OPTION] = identity.here();"  # as the plugins do
    " from slurmhooks.worker.__main__ import main; sys.exit(main(sys.argv[1:]))"
)
PATIENCE = 30.0
"""Seconds until a condition counts as not fulfilled."""
DEADLINE_MS = 60_000
"""The deadline of exchanges that are to succeed: on a busy machine, the first worker may be ready late."""


class Process:
    """A process as shown in /proc: its name has at most 15 characters; the state Z is that of a zombie."""

    def __init__(self, folder: Path) -> None:
        text = (folder / "stat").read_text()
        before, _, after = text.rpartition(")")
        self.pid = int(folder.name)
        self.name = before.partition("(")[2]
        self.state, parent = after.split()[:2]
        self.parent = int(parent)

    def kill(self) -> None:
        """Kill the process, unless it has already ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def processes() -> list[Process]:
    """Return all processes of this machine."""
    result = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                result.append(Process(folder))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return result


def below(pid: int, name: str = "") -> list[Process]:
    """Return the descendants of a process, or those with a name; zombies are included."""
    every = processes()
    family = {pid}
    result: list[Process] = []
    while True:
        more = [each for each in every if each.parent in family and each.pid not in family]
        if not more:
            return [each for each in result if name in ("", each.name)]
        family |= {each.pid for each in more}
        result += more


def pages(pid: int) -> int:
    """Return how many status pages of workers a process has open. A generation has those of starting workers open."""
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    return sum(link.startswith("/memfd:slurmhooks") for link in links)


def wait_for(condition: Callable[[], Any], what: str, progress: Callable[[], object] = lambda: None) -> Any:
    """Wait until a condition is true, and return its value.

    As long as the value that ``progress`` returns changes, the wait goes on.
    """
    until, seen = time.monotonic() + PATIENCE, progress()
    while not (result := condition()):
        if (now := progress()) != seen:
            until, seen = time.monotonic() + PATIENCE, now
        assert time.monotonic() < until, f"not fulfilled: {what}"
        time.sleep(0.01)
    return result


class Exchanger:
    """The exchanger; supervisor, generations and workers are its descendants."""

    def __init__(
        self, build: Build, folder: Path, state: dict[str, Any] | None = None, python: str = sys.executable
    ) -> None:
        """Start it in an interpreter, which need not exist; for ``state`` see worker_service.py."""
        self._state = folder / "state.json"
        self._errors = folder / "errors"
        self.set(**(state or {}))
        environment = os.environ | {"WORKER_TEST": str(self._state), "SLURM_CONF": str(folder / "slurm.conf")}
        host = build.host.with_name("exchanger")
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [host, python, "-I", "-c", START, "tests.native.worker_service:load"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        self.pid = self._process.pid

    def set(self, **state: Any) -> None:
        """Replace the state, see worker_service.py."""
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self._state)

    def ask(self, command: str) -> str:
        """Give a command and return its answer, one line."""
        self.begin(command)
        assert self._process.stdout
        return self._process.stdout.readline().rstrip("\n")

    def begin(self, command: str) -> None:
        """Give a command without reading its answer."""
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def exchange(self, text: str, deadline_ms: int = DEADLINE_MS) -> tuple[str, str]:
        """Exchange a message; return the result, and the answer or what went wrong."""
        result, _, rest = self.ask(f"exchange {deadline_ms} {text}").partition("\t")
        return result, rest

    def many(self, threads: int, count: int, text: str = "echo", deadline_ms: int = DEADLINE_MS) -> dict[str, int]:
        """Exchange messages in several threads; return how often each result occurred."""
        words = self.ask(f"many {threads} {count} {deadline_ms} {text}").split()
        return {name: int(number) for name, number in (word.split("=") for word in words)}

    @property
    def workers(self) -> int:
        """The number of workers that the client knows."""
        return pages(self.pid)

    @property
    def log(self) -> str:
        """All lines that have been logged."""
        return self._errors.read_text(errors="replace")

    def stop(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Stop the client, and assert that no process is left."""
        self.begin("stop")
        meanwhile()
        assert self._process.stdout
        assert self._process.stdout.readline() == "stopped\n"
        assert below(self.pid) == []
        self._process.communicate()
        assert self._process.returncode == 0, self.log

    def kill(self) -> None:
        """Kill the exchanger."""
        self._process.kill()
        self._process.communicate()
