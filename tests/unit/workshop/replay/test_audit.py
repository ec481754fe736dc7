# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks audit` without slurmctld: jobs that do not differ are decided about once, and as if they were alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmhooks.config import model as config
from slurmhooks.fields import LISTS
from slurmhooks.fields.constants import JobFlag
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.rules import source
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.views import Views
from slurmhooks.testing import FakeRecord, fake_associations, fake_nodes, fake_partitions
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.replay.audit import Audited, Auditor
from slurmhooks.workshop.testing.job_submit import struct_of
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld, fake_table
from slurmhooks.workshop.testing.tables import tables_of

pytestmark = pytest.mark.slow

RELEASE = "24.11"
TABLES = tables_of(RELEASE)
TOML = """
[[rule]]
rule = "time_ceiling"
limit = "10:00:00"
[[rule]]
rule = "cpu_count"
most = 4
[[rule]]
rule = "require_account"
partitions = ["long"]
[[rule]]
rule = "default_qos"
value = "normal"
[[rule]]
rule = "reserved_names"
names = ["root*"]
[[rule]]
rule = "array_size"
most = 3
"""
HOOKS = """
from slurmhooks import Reject, hook
@hook.job_submit
def rules(job):
    if job.interactive and job.time_limit is None:
        raise Reject("please give a time")
    if job.name == "env" and job.environment:
        raise Reject("no environment")
"""
GIVEN: dict[str, Any] = {
    "partitions": fake_partitions({"debug": {"flag_default": True, "default_time": 10}, "long": {}}, release=RELEASE),
    "associations": fake_associations([{"user": "alice", "user_id": 1000, "account": "physics", "is_default": True}]),
    "nodes": fake_nodes({"n1": {"partitions": ["debug", "long"], "cpus": 8, "real_memory": 9000}}, release=RELEASE),
}
FIELDS: dict[str, list[Any]] = {
    "partition": ["debug", "long"],
    "account": ["physics", None],
    "time_limit": [5, 700, UNLIMITED],
    "min_cpus": [1, 8],
    "num_tasks": [1, 8],
    "name": ["a", "b", "rooted", "env"],
    "user_id": [1000, 1001],
    "array_job_id": [0, 7],
    "batch_flag": [0, 1],
    "whole_node": [0, 1],
    "qos": ["normal", "high"],
    "bitflags": [JobFlag(0), JobFlag.JOB_MEM_SET],
}
JOBS = st.lists(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in FIELDS.items()}), max_size=6)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """The handlers of a site."""
    folder = tmp_path_factory.mktemp("site")
    path, hooks = folder / "slurmhooks.toml", folder / "site.py"
    path.write_text(TOML)
    hooks.write_text(HOOKS)
    return loader.load([*source.sources(config.read(path), path), loader.Source(path=str(hooks))])


class Answering:
    """Stands for slurmctld, and counts its questions."""

    def __init__(self) -> None:
        self.asked = 0
        records = {table: fake_table(name, GIVEN.get(name), RELEASE) for name, table in LISTS.items()}
        self._slurmctld = FakeSlurmctld(TABLES, records, {})

    def __call__(self, *_: int) -> Any:
        """Return the function that asks."""

        def ask(question: bytes) -> bytes:
            self.asked += 1
            return self._slurmctld(question)

        return ask


def job_of(number: int, fields: dict[str, Any]) -> Any:
    """Return the record of a job as slurmctld sends it."""
    asking = Asking(TABLES, Answering()())
    record = FakeRecord(release=RELEASE, job_id=number, min_nodes=1, user_name="alice", **fields)
    return Views(TABLES).record(asking.struct(TABLES.place("record"), struct_of(record).data))


def seen(audited: Audited) -> tuple[Any, ...]:
    """Return what a command shows of a decision."""
    decision = audited.decision
    return audited.unsure, decision.verdict, decision.code, decision.decided, decision.text, tuple(decision.needs)


@pytest.mark.moved
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JOBS)
def test_each_job_is_decided_as_if_it_were_alone(registry: Registry, jobs: list[dict[str, Any]]) -> None:
    """What was decided about other jobs changes nothing."""
    together = Auditor(TABLES, registry, Answering())
    for number, fields in enumerate(jobs, 1):
        alone = Auditor(TABLES, registry, Answering())
        with alone.running():
            expected = alone.audit(job_of(number, fields))
        with together.running():
            assert seen(together.audit(job_of(number, fields))) == seen(expected), fields


def test_equal_jobs_are_decided_once(registry: Registry) -> None:
    """For jobs that differ in nothing that a rule reads, nobody is asked, and no handler runs."""
    answering = Answering()
    auditor = Auditor(TABLES, registry, answering)
    job = {name: values[0] for name, values in FIELDS.items()}
    with auditor.running():
        first = auditor.audit(job_of(1, job))
        before = answering.asked
        for number in range(2, 10):
            assert auditor.audit(job_of(number, {**job, "comment": str(number)})) is first
    assert before > 0
    assert answering.asked == before


@pytest.mark.parametrize(("account", "compared"), [("chem_gpu", True), ("physics", False)])
def test_an_account_that_slurm_has_not_filled_in(registry: Registry, account: str, compared: bool) -> None:
    """A job in another account than its user's default one named it, so it is compared; others may have named none."""
    auditor = Auditor(TABLES, registry, Answering())
    job = {name: values[0] for name, values in FIELDS.items()} | {"account": account, "partition": "long", "qos": None}
    with auditor.running():
        audited = auditor.audit(job_of(1, job))
    assert audited.unsure == f"it depends on whether the request had {'time_limit' if compared else 'account'}"
