# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers that warn instead of deciding, in a request."""

from pathlib import Path

import pytest

from slurmhooks import loader
from slurmhooks.registry import Registry
from slurmhooks.rollout import Rollout, assign
from slurmhooks.testing import FakeJob, FakeRecord, run

WARN = "Warning: a rule that is not in force yet would "


def loaded(folder: Path, text: str) -> Registry:
    """Load a hook file."""
    (folder / "limits.py").write_text("from slurmhooks import Reject, hook, log\n" + text)
    return loader.load([loader.Source(path=str(folder / "limits.py"))])


WARNS = """
@hook.job_submit(mode="warn", note="from 1 March on")
def refuses(job):
    job.comment = "lost"
    job.environment["SITE"] = "1"
    log.user("read the manual")
    raise Reject("no\\naccount", code="ESLURM_INVALID_ACCOUNT")

@hook.job_submit(mode="warn")
def changes(job):
    assert job.comment is None and "SITE" not in job.environment
    job.comment = "lost"
    job.environment["SITE"] = "2"

@hook.job_submit(mode="warn")
def has_a_bug(job):
    job.comment = "lost"
    raise ValueError

@hook.job_submit(mode="warn")
def passes(job):
    job.comment = job.comment
    job.environment["HOME"] = "/"
    log.user("this was not done")

@hook.job_submit
def decides(job):
    assert job.comment is None and "SITE" not in job.environment
    job.name = "changed"
"""


def test_warnings_have_no_effect(tmp_path: Path) -> None:
    """What a handler refuses or writes that only warns is not applied; the user reads one line; its bug is logged."""
    job = FakeJob(script="#!/bin/sh\n", environment={"HOME": "/"})
    result = run(loaded(tmp_path, WARNS), "job_submit", job=job)
    assert result.accepted
    assert result.changes == {"name": "changed"}
    assert result.user_messages == [
        f"{WARN}refuse this request: read the manual; no; account (from 1 March on)",
        f"{WARN}change this request",
    ]
    assert [(each.handler, each.mode, each.accepted, each.text) for each in result.observed] == [
        ("limits:refuses", "warn", False, "no\naccount"),
        ("limits:changes", "warn", True, None),
        ("limits:has_a_bug", "warn", True, None),
        ("limits:passes", "warn", True, None),
    ]
    refused, changed, bug, passed = result.observed
    assert refused.code == "ESLURM_INVALID_ACCOUNT"
    assert changed.changes == {"comment": "lost", "environment": {"HOME": "/", "SITE": "2"}}
    assert bug.error_id is not None
    assert any(f"error {bug.error_id}: ValueError" in line for line in result.log)
    assert passed.changes == {}


SHARED = """
@hook.job_submit(order=1)
def fills_in(job):
    job.account = job.account or "chemistry"

@hook.job_submit(order=2, accounts="physics", partitions=["gpu"], otherwise="warn")
def refuses(job):
    raise Reject("no")
"""


@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        ({"account": "physics", "partition": "long,gpu"}, False),
        ({"account": "physics", "partition": "long"}, True),
        ({"default_account": "physics", "partition": "gpu"}, True),
        ({"account": "physics"}, False),
    ],
)
def test_share_of_a_request(fields: dict[str, str], accepted: bool, tmp_path: Path) -> None:
    """Account and partition are those that earlier handlers left; the default partition counts if none is named."""
    registry = loaded(tmp_path, SHARED)
    result = run(registry, "job_submit", job=FakeJob(**fields), partitions={"gpu": {"flag_default": True}, "long": {}})
    assert result.accepted is accepted
    assert (result.user_messages == [f"{WARN}refuse this request: no"]) is accepted


def test_share_of_an_update(tmp_path: Path) -> None:
    """User, account and partition of an update are those of the job that it changes, unless it names others."""
    registry = loaded(
        tmp_path,
        "@hook.job_modify(users=[1001], accounts='physics', partitions='gpu')\n"
        "def refuses(job):\n    raise Reject('no')\n",
    )
    record = FakeRecord(user_id=1001, account="physics", partition="gpu,long")
    assert not run(registry, "job_modify", job=FakeJob(), record=record, modify_uid=0).accepted
    assert run(registry, "job_modify", job=FakeJob(partition="long"), record=record, modify_uid=0).accepted
    assert run(registry, "job_modify", job=FakeJob(), record=FakeRecord(), modify_uid=1001).accepted


def test_off(tmp_path: Path) -> None:
    """A handler can be switched off by the configuration."""
    registry = loaded(tmp_path, "@hook.job_submit\ndef refuses(job):\n    raise Reject('no')\n")
    assert assign({"limits:refuses": Rollout(mode="off")}, registry.all_handlers()) == []
    result = run(registry, "job_submit")
    assert (result.accepted, result.observed) == (True, [])


def test_lua_scripts_have_modes(tmp_path: Path) -> None:
    """Each function of a job_submit.lua is a handler, which the configuration can have warn."""
    from slurmhooks.lua import job_submit

    script = tmp_path / "job_submit.lua"
    script.write_text(
        "function slurm_job_submit(job, parts, uid) job.comment = 'x' slurm.log_user('no GPU') return slurm.ERROR end\n"
        "function slurm_job_modify(job, rec, parts, uid) return slurm.SUCCESS end\n"
    )
    registry = loader.load([loader.Source(path=str(script), read=job_submit.load)])
    assert assign({"job_submit.lua:slurm_job_submit": Rollout(mode="warn")}, registry.all_handlers()) == []
    result = run(registry, "job_submit")
    assert result.accepted
    assert result.changes == {}
    assert result.user_messages == [f"{WARN}refuse this request: no GPU"]
