# SPDX-License-Identifier: GPL-2.0-or-later
"""The job of an update as it is now, for bounds: an update that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.model import Job
    from slurmhooks.slurmctld.model import Record

_FIELDS = rows(JobFields)


class Unchanged:
    """Has no value in any field that an update could set; everything else is that of a request."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._facts: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return what the update has, but no field that it could set."""
        row = _FIELDS.get(name)
        return None if row is not None and row.members else getattr(self._job, name)

    def _as_stored(self, record: Record | None) -> tuple[Any, Record | None]:
        return self, record

    def _once(self, name: object, ask: Callable[[], Any]) -> Any:
        """Return what was worked out, which is not what was worked out of the update; or work it out."""
        if name not in self._facts:
            self._facts[name] = ask()
        return self._facts[name]
