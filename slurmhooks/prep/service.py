# SPDX-License-Identifier: GPL-2.0-or-later
"""The service of PrEp's workers: handles jobs that start or have ended, while slurmctld holds no locks."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slurmhooks.hooks.points import POINTS
from slurmhooks.log import log
from slurmhooks.slurmctld.asking import begin
from slurmhooks.slurmctld.point_service import PointService, log_each
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_from_c
from slurmhooks.wire.message import answer, read_texts
from slurmhooks.wire.protocol import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.processes.settings import Settings
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Query

HOOKS = POINTS["prep"].called
"""Hooks by their numbers in a request."""
NOTHING = "(null)"
"""What a variable of Slurm has that would be empty."""


class Service(PointService):
    """Handlers of controller_prolog and controller_epilog."""

    point = "prep"

    def __init__(self, tables: Tables, registry: Registry, settings: Settings, views: Views | None = None) -> None:
        """Store the handlers; tests pass views of their own."""
        super().__init__(tables, registry, settings)
        self._views = Views(tables) if views is None else views

    def handle(self, request: bytes, query: Query) -> bytes:
        """Run the handlers of a request and return the answer.

        Raises:
            MessageError: the request is damaged, or comes from another build.
        """
        (number, _, _), items, excluded = self._open(request, len(HOOKS))
        hook = HOOKS[number]
        asking = begin(self._tables, query)
        values = dict(items)
        arguments: dict[str, Any] = {"environment": _environment(values, hook)}
        place = self._tables.place("record") if self._views.private else None
        record = asking.struct(place, values[place]) if place in values else None
        views = self._views.arguments(self._wanted[hook], asking, record)
        try:
            outcome, messages = self._call(hook, arguments | views, None, excluded)
            if self.call is not None:
                self.call.about = partial(_about, arguments["environment"])
        finally:
            for view in views.values():
                view.close()
        for text in messages:
            log_each(log.info, hook, text)
        code = 0 if outcome.passed else self._number(outcome.code)
        reason = None if outcome.text is None else outcome.text.encode()
        return answer(self._tables, code, reason)


def _environment(items: dict[int, bytes], hook: str) -> Mapping[str, str]:
    """Return the variables that PrologSlurmctld and EpilogSlurmctld have.

    Slurm's prep/script itself adds the one that says which of them runs.
    """
    pairs = (text_from_c(raw).partition("=") for raw in read_texts(items.get(VARIABLES, b"")))
    context = {"SLURM_SCRIPT_CONTEXT": f"{hook.removeprefix('controller_')}_slurmctld"}
    return MappingProxyType({name: value for name, _, value in pairs} | context)


def _about(environment: Mapping[str, str]) -> dict[str, object]:
    about: dict[str, object] = {
        name: environment[f"SLURM_JOB_{variable}"]
        for name, variable in (("user", "USER"), ("account", "ACCOUNT"), ("partition", "PARTITION"), ("name", "NAME"))
        # Slurm prints a job without an account as a null pointer (src/slurmctld/job_mgr.c:job_common_env_vars()).
        if environment.get(f"SLURM_JOB_{variable}", NOTHING) != NOTHING
    }
    for name, variable in (("job_id", "ID"), ("user_id", "UID")):
        if environment.get(f"SLURM_JOB_{variable}", "").isdecimal():
            about[name] = int(environment[f"SLURM_JOB_{variable}"])
    return about
