# SPDX-License-Identifier: GPL-2.0-or-later
"""Run long commands with their output in a log file and progress on the terminal."""

import os
import time
from collections.abc import Callable, Sequence

from . import commands, namespace
from .errors import LabError
from .places import say

EVERY = 10.0
"""Seconds between two lines of progress."""


class Reporter:
    """Reports the steps for one release, with the seconds since the start."""

    def __init__(self, subject: str, log: str) -> None:
        self.subject = subject
        self.log = log
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        """Print one line."""
        say(f"[{self.subject} +{time.monotonic() - self.began:.0f}s] {text}")

    def host(self, label: str, command: Sequence[str]) -> None:
        """Run a command on the host, with mounts that the host does not see."""

        def body() -> int:
            namespace.private_mounts()
            os.execvp(command[0], list(command))

        self.watch(label, body)

    def inside(
        self, label: str, keeper: namespace.Keeper, command: Sequence[str], more: dict[str, str] | None = None
    ) -> None:
        """Run a command as root in the keeper's namespaces."""
        self.watch(label, lambda: commands.execute(keeper.pid, "root", command, more or {}, "/"))

    def watch(self, label: str, body: Callable[[], int]) -> None:
        """Run `body` in a child process.

        Raises:
            LabError: it failed; the text ends with the last lines of the log.
        """
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(log, f"==== {label}\n".encode())

        def logged() -> int:
            namespace.die_with_parent()
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            return body()

        child = namespace.fork(logged, lambda text: os.write(2, f"{text}\n".encode(errors="replace")))
        os.close(log)
        began = shown = time.monotonic()
        delay = 0.001
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(delay)
            delay = min(delay * 2, 0.1)
            if time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                self.say(f"{label}: still running after {shown - began:.0f} s")
        if status != 0:
            raise LabError(f"{self.subject}: {label} failed; the end of {self.log}:\n{tail(self.log)}")


def tail(path: str, lines: int = 25) -> str:
    """Return the last lines of a file, indented."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return "\n".join("    " + line.rstrip() for line in file.readlines()[-lines:])
