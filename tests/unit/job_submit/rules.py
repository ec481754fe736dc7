# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of hook.job, and a build that knows no jobs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from slurmhooks import UNLIMITED, Reject
from slurmhooks.fields.classes import bind
from slurmhooks.handlers import loader
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit import judging
from slurmhooks.job_submit.model import Job
from slurmhooks.job_submit.origin import OF_REQUESTS
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of

PARTITIONS = {
    "debug": {"default_time": 10, "max_time": 30},
    "day": {"flag_default": True, "default_time": 60, "max_time": 1440},
    "open": {"default_time": None, "max_time": UNLIMITED},
}
ASSOCIATIONS = [{"user_id": 1000, "account": "physics", "is_default": True}]

Rule = Callable[..., Callable[..., Result]]


def maker(folder: Path) -> Rule:
    """Return a function that makes a handler of hook.job of some lines, and returns one that calls it."""

    def make(body: str, arguments: str = "job", keywords: str = "") -> Callable[..., Result]:
        path = folder / "rules.py"
        path.write_text(
            "from slurmhooks import UNLIMITED, Reject, UnknownError, hook, log\n\n"
            f"@hook.job{f'({keywords})' if keywords else ''}\ndef rule({arguments}):\n"
            + "".join(f"    {line}\n" for line in body.splitlines())
        )
        registry = loader.load([loader.Source(path=str(path))])

        def call(record: dict[str, Any] | None = None, uid: int | None = None, **fields: Any) -> Result:
            tables: dict[str, Any] = {"partitions": PARTITIONS, "associations": ASSOCIATIONS}
            if record is None:
                return run(registry, "job_submit", job=FakeJob(**fields), submit_uid=uid, **tables)
            known = FakeRecord(**record)
            return run(registry, "job_modify", job=FakeJob(**fields), record=known, modify_uid=uid, **tables)

        call.registry = registry  # type: ignore[attr-defined]
        return call

    return make


class Public:
    """A build with public headers, which knows no jobs."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def __call__(self, hook: str, uid: int = 1000, **fields: Any) -> str | None:
        """Return the text of a refusal, or None."""
        job = FakeJob(**fields)
        struct = request_of(job, hook)
        kind: Any = bind(Job, tables_of(job._release)["job"], job._release, {**OF_REQUESTS, "user_name": str})
        view = kind(struct, hook == "job_modify", 1000, uid)
        (handler,) = self.registry.handlers(hook)
        assert isinstance(handler, JobRule)
        try:
            judging.call(view, handler, {"job": view})
        except Reject as reject:
            return reject.text
        return None
