# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of workers in tests. A request is Python code; its answer is the value of ``answer`` after that.

A request that begins with ``echo`` is returned unchanged, after a millisecond if it begins with ``echo slowly``.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slurmhooks.config import plain
from slurmhooks.errors import LoadError
from slurmhooks.files import watch as files_watch
from slurmhooks.files.watch import LoadedHandler, Watch
from slurmhooks.processes.settings import Settings
from slurmhooks.worker import worker
from slurmhooks.worker.interface import Announce, Progress, Query, Turns

RULES = ("colorsys",)
"""A module that stands for those that ready-made rules need."""
STATE = Path(os.environ.get("WORKER_TEST", "/nonexistent"))
"""A JSON file in place of hook files: ``settings``, ``version``, ``findings``, and the code of ``start`` and others."""


def in_force() -> str:
    """Stand for the set in force, which has changed with the file, unless it has ``still``."""
    try:
        is_still = '"still": true' in STATE.read_text()
    except OSError:  # also without a descriptor, which the link to a set does not need
        is_still = False
    try:
        status = STATE.stat()
    except OSError as error:
        return str(error)
    return "still" if is_still else f"{status.st_ino} {status.st_ctime_ns}"


files_watch.in_force = in_force


def settings_of(state: dict[str, Any]) -> Settings:
    """Return the settings that a test has written: keys of ``[job_submit]``, and orders for the collector."""
    given = {**state.get("settings", {})}
    collect = given.pop("collect", {})
    return Settings(plain.table("job_submit", given), collect=collect, **state.get("needs", {}))


class Service:
    """Runs the code in requests, and in the observer process too if the state file says so."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.observes = bool(state.get("observe"))
        self.repeats = bool(state.get("repeat"))
        self.settings = settings_of(state)
        self._state = state
        self._names: dict[str, object] = {"version": state.get("version"), "kept": []}

    def start(self) -> None:
        """Run the code of the test."""
        exec(str(self._state.get("start", "")))

    def handle(self, request: bytes, query: Query) -> bytes:
        """Run a request."""
        if request.startswith(b"echo"):
            if request.startswith(b"echo slowly"):
                time.sleep(0.001)
            return request
        worker.doing("tests:handler")
        self._names |= {"query": query, "answer": ""}
        exec(request.decode(), self._names)
        return str(self._names["answer"]).encode()

    def after(self) -> None:
        """Return what to observe, if the request has set ``observed``."""
        observed = self._names.pop("observed", None)
        if self.observes and observed is not None:
            self._send(str(observed).encode())

    def observed_by(self, send: Callable[[bytes], object]) -> None:
        """Keep the function."""
        self._send = send

    def observe(self, data: bytes, query: Query, progress: Progress) -> None:
        """Run the code of the test."""
        exec(str(self._state["observe"]), {"data": data, "query": query, "running": progress})

    def repeat(self, query: Query, turns: Turns) -> None:
        """Run the code of the test."""
        exec(str(self._state["repeat"]), {"turns": turns})

    def stop(self) -> None:
        """Run the code of the test."""
        exec(str(self._state.get("stop", "")))


def load(watch: Watch, announce: Announce) -> Service:
    """Load the file."""
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    announce(settings_of(state))
    exec(str(state.get("load", "")))
    watch.handlers = {str(STATE): [LoadedHandler("job_submit", f"tests:v{state.get('version')}", str(STATE))]}
    if "findings" in state:
        raise LoadError(state["findings"])
    return Service(state)
