# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers serve in the tests: a request is Python code; its answer is what the code leaves in ``answer``.

A request that begins with ``echo`` is its own answer, after a millisecond if it begins with ``echo slowly``.
"""

import json
import os
import time
from pathlib import Path

from slurmhooks.errors import LoadError
from slurmhooks.watch import LoadedHandler, Watch
from slurmhooks.worker import worker
from slurmhooks.worker.service import Query, Settings

STATE = Path(os.environ.get("WORKER_TEST", "/nonexistent"))
"""A JSON file: ``settings``, ``version``, and what goes wrong."""


class Service:
    """Runs the code in a request."""

    def __init__(self, state: dict[str, object]) -> None:
        """Keep what the file said when it was loaded."""
        self.settings = Settings(**state.get("settings", {}))  # type: ignore[arg-type] # as the test wrote it
        self._state = state
        self._names: dict[str, object] = {"version": state.get("version"), "kept": [], "before": state.get("before")}

    def start(self) -> None:
        """Do what the test asks for."""
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

    def stop(self) -> None:
        """Do what the test asks for."""
        exec(str(self._state.get("stop", "")))


def load(watch: Watch) -> Service:
    """Load the test's file."""
    watch.file(str(STATE))
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    exec(str(state.get("load", "")))
    watch.handlers = {str(STATE): [LoadedHandler("job_submit", f"tests:v{state.get('version')}", str(STATE))]}
    state["before"] = watch.before and watch.before.handlers
    if "findings" in state:
        raise LoadError(state["findings"])
    return Service(state)
