# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases of one rule, in a short notation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from slurmhooks.handlers.registry import Registry
from slurmhooks.testing import FakeJob, FakeRecord, fake_jobs, run


class Case(NamedTuple):
    """A request, and what the rule does to it.

    ``refused`` is a part of the text that the user reads, ``record`` the fields of the job of an update as it is;
    ``uid`` is by default the user of the job.
    """

    keys: str
    job: dict[str, Any]
    refused: str | None = None
    changes: Mapping[str, Any] = MappingProxyType({})
    record: dict[str, Any] | None = None
    uid: int | None = None

    def toml(self, rule: str) -> str:
        """Return the file that switches the rule on."""
        return f'[[rule]]\nrule = "{rule}"\n{self.keys}\n'

    def show(self, registry: Registry) -> None:
        """Run the request, and compare what happens."""
        if self.record is None:
            result = run(registry, "job_submit", job=FakeJob(**self.job), submit_uid=self.uid)
        else:
            record = FakeRecord(**self.record)
            job, jobs = FakeJob(**self.job), fake_jobs([record])
            result = run(registry, "job_modify", job=job, record=record, modify_uid=self.uid, jobs=jobs)
        assert result.error_id is None, result
        if self.refused is None:
            assert result.accepted, result
            assert result.changes == dict(self.changes), result
        else:
            assert not result.accepted, result
            assert self.refused in (result.text or ""), result
            assert result.code is not None, result


def parameters(cases: dict[str, list[Case]]) -> list[tuple[str, Case]]:
    """Return the cases of some rules for pytest.mark.parametrize."""
    return [(rule, case) for rule, several in cases.items() for case in several]
