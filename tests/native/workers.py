# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives the host that exchanges messages with workers, in slurmctld's place."""

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
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from slurmhooks.worker.__main__ import main;"
    " sys.exit(main(sys.argv[1:]))"
)
PATIENCE = 30.0
"""Seconds after which what should happen is taken not to happen."""


class Process:
    """A process as /proc shows it.

    Attributes:
        pid: its number.
        parent: its parent's.
        name: as the kernel has it.
        state: a letter; Z is a zombie.
    """

    def __init__(self, folder: Path) -> None:
        """Read /proc/PID."""
        text = (folder / "stat").read_text()
        before, _, after = text.rpartition(")")
        self.pid = int(folder.name)
        self.name = before.partition("(")[2]
        self.state, parent = after.split()[:2]
        self.parent = int(parent)

    def kill(self) -> None:
        """Kill it, unless it has ended already."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def processes() -> list[Process]:
    """Return all processes of this machine."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                found.append(Process(folder))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def below(pid: int, name: str = "") -> list[Process]:
    """Return the descendants of a process, zombies included, or those of a name."""
    every = processes()
    family = {pid}
    found: list[Process] = []
    while True:
        more = [each for each in every if each.parent in family and each.pid not in family]
        if not more:
            return [each for each in found if name in ("", each.name)]
        family |= {each.pid for each in more}
        found += more


def pages(pid: int) -> int:
    """Return how many status pages of workers a process has open; a generation has those of workers not yet ready."""
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    return sum(link.startswith("/memfd:slurmhooks") for link in links)


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Return what a condition returns once that is true."""
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.01)
    return found


class Exchanger:
    """The host, and below it the supervisor, generations and workers.

    Attributes:
        pid: of the host.
    """

    def __init__(self, build: Build, folder: Path, state: dict[str, Any] | None = None) -> None:
        """Start it.

        Args:
            build: has the host.
            folder: for its files.
            state: see worker_service.py.
        """
        self._state = folder / "state.json"
        self._errors = folder / "errors"
        self.set(**(state or {}))
        environment = os.environ | {"WORKER_TEST": str(self._state), "SLURM_CONF": str(folder / "slurm.conf")}
        host = build.host.with_name("exchanger")
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [host, sys.executable, "-I", "-c", START, "tests.native.worker_service:load"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        self.pid = self._process.pid

    def set(self, **state: Any) -> None:
        """Write what the hooks are, at once and under a new identity."""
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self._state)

    def ask(self, command: str) -> str:
        """Return the answer to a command, one line."""
        self.begin(command)
        assert self._process.stdout
        return self._process.stdout.readline().rstrip("\n")

    def begin(self, command: str) -> None:
        """Give a command; its answer is still to be read."""
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def exchange(self, text: str, deadline_ms: int = 20000) -> tuple[str, str]:
        """Return the result of an exchange, and the answer or the detail."""
        result, _, rest = self.ask(f"exchange {deadline_ms} {text}").partition("\t")
        return result, rest

    def many(self, threads: int, count: int, text: str = "echo", deadline_ms: int = 20000) -> dict[str, int]:
        """Return how many exchanges had which result."""
        words = self.ask(f"many {threads} {count} {deadline_ms} {text}").split()
        return {name: int(number) for name, number in (word.split("=") for word in words)}

    @property
    def workers(self) -> int:
        """How many workers the client knows: it has the status page of each."""
        return pages(self.pid)

    @property
    def log(self) -> str:
        """What was logged until now."""
        return self._errors.read_text(errors="replace")

    def stop(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Stop the client; nothing may be left.

        Args:
            meanwhile: what happens while it stops.
        """
        self.begin("stop")
        meanwhile()
        assert self._process.stdout
        assert self._process.stdout.readline() == "stopped\n"
        assert below(self.pid) == []
        self._process.communicate()
        assert self._process.returncode == 0, self.log

    def kill(self) -> None:
        """Kill the host, however it is."""
        self._process.kill()
        self._process.communicate()
