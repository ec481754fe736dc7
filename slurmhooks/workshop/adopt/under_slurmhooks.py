# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a job_submit.lua as slurmhooks does in production, over requests without Slurm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from slurmhooks.fields.rows import release_of
from slurmhooks.handlers import loader
from slurmhooks.handlers.codes import stand_ins
from slurmhooks.handlers.registry import Registry
from slurmhooks.lua import job_submit
from slurmhooks.site.loading import Named
from slurmhooks.values import ENCODING, ERRORS
from slurmhooks.workshop.adopt.answers import Answer, TrialRequest, plain
from slurmhooks.workshop.testing.job_submit import request_of, struct_of
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.slurmctld import submit

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.lua.runtime import LuaState

GUARD = os.path.join(os.path.dirname(__file__), "guard.lua")
FAILED = "job_submit/lua: "
FAILURES = ("job_submit/lua: ", "job_modify/lua: ")


def guard(stopped: list[str], now: int) -> Callable[[LuaState], None]:
    """Return what prepares a Lua state for a trial."""

    def note(what: object) -> tuple[()]:
        stopped.append(what.decode(ENCODING, ERRORS) if isinstance(what, bytes) else str(what))
        return ()

    return lambda state: state.call(state.load(GUARD), state.function(note), float(now))


class UnderSlurmhooks:
    """A script under slurmhooks."""

    def __init__(self, path: str, release: str, version: str, partitions: Any, now: int) -> None:
        """Load a script.

        Raises:
            LoadError: it does not load.
        """
        self._stopped: list[str] = []
        self._path = path
        self._partitions = partitions
        options = job_submit.Options(version)
        number = release_of(release)
        prepare = guard(self._stopped, now)
        read = loader.Source(path=path, read=lambda name: job_submit.load(name, options, number, prepare=prepare))
        with CapturedLog().capturing():
            self._registry: Registry = Named([read]).load()

    def answer(self, request: TrialRequest) -> Answer:
        """Return the answer to a request."""
        self._stopped.clear()
        job = request.job()
        before = dict(request_of(job, request.hook).raws)
        captured = CapturedLog()
        uids = {"submit_uid": request.uid, "modify_uid": request.uid}
        given = dict.fromkeys(("record", "reservations", "jobs", "nodes", "licenses", "qos", "associations"))
        with captured.capturing():
            outcome, *_ = submit(
                self._registry, request.hook, {**given, **uids, "job": job, "partitions": self._partitions}
            )
        after = struct_of(job).raws
        writes = {name: plain(raw) for name, raw in after.items() if raw != before[name]}
        log, error = [], None
        for line in captured.lines:
            level, _, text = line.partition(": ")
            place = text.partition(FAILED)[2] if FAILED in text else text.partition("job_modify/lua: ")[2]
            if "non-numeric return code" in text:
                log.append("info: non-numeric return code")
            elif text.startswith(FAILURES) and text.startswith(tuple(f"{name}{self._path}: " for name in FAILURES)):
                error = place.removeprefix(f"{self._path}: ")
            elif text.startswith(("lua: ", "_set_job_field: ")):
                log.append(f"{level}: {text}")
        messages = [*captured.user_messages, *filter(None, [outcome.text])]
        return Answer(0 if outcome.passed else _code(outcome.code), messages, writes, log, error, self._stopped[:])


def _code(code: str | int | None) -> int:
    return code if isinstance(code, int) else stand_ins()[code or "SLURM_ERROR"]
