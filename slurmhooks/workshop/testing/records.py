# SPDX-License-Identifier: GPL-2.0-or-later
"""Pass records of jobs through the code of priority's and PrEp's workers, as in production."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from slurmhooks.fields import LISTS
from slurmhooks.fields.number_rows import NICE_OFFSET
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.prep import service as prep
from slurmhooks.processes.settings import Settings
from slurmhooks.site_factor import service as priority
from slurmhooks.slurmctld.views import Views
from slurmhooks.values import text_to_c
from slurmhooks.wire.message import Message, decode, texts_value
from slurmhooks.wire.protocol import VARIABLES, Type
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.controller_variables import of_record
from slurmhooks.workshop.testing.job_submit import FakeRecord, release_of_view, struct_of
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld, fake_table
from slurmhooks.workshop.testing.tables import code_of, tables_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.wire.tables import Tables
    from slurmhooks.workshop.testing.job_tables import FakeTable


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Run the handlers of a hook; return the outcome, and for hook.priority the site factor, if they return one."""
    record: FakeRecord = given["record"] if given["record"] is not None else FakeRecord()
    tables = tables_of(release_of_view(record))
    records = {table: fake_table(name, given[name], release_of_view(record)) for name, table in LISTS.items()}
    views = _views(tables, record, records["record"])
    query = FakeSlurmctld(tables, records)
    items = [(tables.place("record"), struct_of(record).data)]
    if hook in priority.HOOKS:
        rating = priority.Service(tables, registry, Settings(), views)
        request = Message(Type.REQUEST, items=tuple(items)).encode(tables)
        (value,) = array("I", decode(rating.handle(request, query), tables).items[0][1])
        outcome = rating.failure or Outcome(passed=True)
        return outcome, {} if value == priority.KEEP else {"site_factor": value - NICE_OFFSET}
    environment = {**of_record(record, ended=hook == "controller_epilog"), **(given["environment"] or {})}
    variables = [text_to_c(name, f"{name}={value}") for name, value in environment.items()]
    items.append((VARIABLES, texts_value(variables)))
    request = Message(Type.REQUEST, prep.HOOKS.index(hook), items=tuple(items)).encode(tables)
    service = prep.Service(tables, registry, Settings(), views)
    answer = read_answer(tables["job"], decode(service.handle(request, query), tables))
    text = None if answer.text is None else answer.text.decode()
    return Outcome(passed=not answer.code, code=code_of(answer.code) if answer.code else None, text=text), {}


def _views(tables: Tables, record: FakeRecord, jobs: FakeTable) -> Views:
    """Return the classes of views, which read computed fields from the values of the test."""
    facts: dict[Any, Any] = {key: struct.facts for key, struct in jobs.structs.items()}
    facts.setdefault(record.job_id, struct_of(record).facts)
    of_record = {name: (lambda view, name=name: facts[view.job_id].get(name)) for name in ("script", "user_name")}
    return Views(tables, of_record)
