# SPDX-License-Identifier: GPL-2.0-or-later
"""Periodic handlers without Slurm: what they would do is in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields import LISTS
from slurmhooks.handlers import dispatch
from slurmhooks.log import log
from slurmhooks.slurmctld.actions import Acting, ActingViews
from slurmhooks.slurmctld.every import plan, staged
from slurmhooks.workshop.testing.job_submit import RELEASE
from slurmhooks.workshop.testing.job_tables import FakeTable
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld, fake_table
from slurmhooks.workshop.testing.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> Outcome:
    """Run each rule once, logging what it would do, such as "cancel job 7: idle"; return the first failure, if any."""
    given_tables = (given[name] for name in LISTS)
    release = next((table.release for table in given_tables if isinstance(table, FakeTable)), RELEASE)
    tables = tables_of(release)
    records = {table: fake_table(name, given[name], release) for name, table in LISTS.items()}
    outcomes, views = [], ActingViews(tables)
    for handler in registry.handlers(hook):
        asking = Acting(tables, FakeSlurmctld(tables, records, {}), handler)
        outcome = staged(handler, views, asking)
        planned = plan(handler, outcome, list(asking.staged.values()))
        if planned.verdict != "done":
            count = len(asking.staged)
            log.info("%s: none of the %d actions is taken: %s", planned.verdict, count, planned.text)
        for left in planned.left:
            log.info("too many actions: %s: none of them is taken", left.text)
        for action in planned.actions:
            failed = f": failed ({action.wrong})" if action.wrong else ""
            log.info("%s%s%s", action.what, failed, f": {action.line}" if action.text else "")
        outcomes.append(outcome)
    return next((outcome for outcome in outcomes if not outcome.passed), dispatch.PASSED)
