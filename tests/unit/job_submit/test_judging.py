# SPDX-License-Identifier: GPL-2.0-or-later
"""Which updates are the business of a handler of hook.job."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers.rollouts import assign
from slurmhooks.hooks.rollout import Rollout
from slurmhooks.job_submit import judging
from tests.unit.job_submit.rules import Public, Rule

LIMIT = 'if job.time_limit > 60:\n    raise Reject("60 minutes")'
JOB = {"partition": "debug", "account": "chemistry", "time_limit": 600}
SHARES = [({"partitions": ("day",)}, {"partition": "day"}), ({"accounts": ("physics",)}, {"account": "physics"})]
"""Shares, and the update that takes a job into them."""


@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize(("share", "fields"), SHARES)
def test_an_update_into_a_share_counts(
    rule: Rule, share: dict[str, Any], fields: dict[str, Any], configured: bool
) -> None:
    """Whoever takes a job to where a rule is in force meets the rule, although its code does not read where that is."""
    keywords = f"{', '.join(f'{key}={value!r}' for key, value in share.items())}, otherwise='off'"
    call = rule(LIMIT, keywords="" if configured else keywords)
    registry = call.registry  # type: ignore[attr-defined]
    if configured:
        (handler,) = registry.handlers("job_modify")
        assert not assign({handler.label: Rollout(**share, otherwise="off")}, registry.all_handlers())
    assert call(**JOB).accepted
    assert not call(**{**JOB, **fields}).accepted
    assert not call(JOB, **fields).accepted
    assert call({**JOB, "time_limit": 60}, **fields).accepted
    assert call({**JOB, **fields}, comment="x").accepted


@pytest.mark.parametrize(("share", "fields"), SHARES)
def test_without_records_users_may_not_take_a_job_into_a_share(
    rule: Rule, share: dict[str, Any], fields: dict[str, Any]
) -> None:
    """A build with public headers does not know a job that comes to where a rule is in force; check tells that."""
    keywords = ", ".join(f"{key}={value!r}" for key, value in share.items())
    registry = rule(LIMIT, keywords=keywords).registry  # type: ignore[attr-defined]
    public = Public(registry)
    (name,) = fields
    (handler,) = registry.handlers("job_modify")
    assert judging.shown(handler) == sorted((name, "time_limit"))
    assert public("job_modify", **fields) == f"only administrators may change {name} of a job"
    assert public("job_modify", comment="x") is None


@pytest.mark.parametrize("bug", ["len(job.comment)", "job.argv = ['x']", "job.nodes", "return 'no'", "exit(0)"])
def test_a_bug_counts_only_at_updates_that_are_its_business(rule: Rule, bug: str) -> None:
    """A bug is logged at each update, and refuses those of anything that the handler has read or its code names."""
    call = rule(f'{LIMIT}\n{bug}\nif job.partition == "gpu":\n    raise Reject("no")')
    for fields in ({"priority": 0}, {"name": "x"}):
        result = call({"partition": "day", "time_limit": 5}, **fields)
        assert result.accepted, result
        assert any("rules:rule" in line and "raised" in line for line in result.log)
    assert call({"partition": "day", "time_limit": 5}, time_limit=6).error_id is not None
    assert call({"partition": "day", "time_limit": 5}, partition="gpu").accepted == bug.startswith("return")


@pytest.mark.parametrize("then", ["pass", 'raise Reject("other")', "1 / 0"])
def test_without_records_no_handler_hides_that_it_has_asked_for_the_job(rule: Rule, then: str) -> None:
    """An ``except:`` around what a build does not know lets no update pass of what the code names."""
    call = rule(
        f"try:\n    known = job.partitions\nexcept:\n    known = ()\nif not known:\n    {then}\n"
        'if "gpu" in known and job.time_limit > 60:\n    raise Reject("no")'
    )
    public = Public(call.registry)  # type: ignore[attr-defined]
    assert public("job_modify", partition="gpu") == "only administrators may change partition of a job"
    assert public("job_modify", time_limit=600) == "only administrators may change time_limit of a job"
    assert public("job_modify", comment="x") is None


def test_without_records_a_write_asks_for_nothing(rule: Rule) -> None:
    """To compare a write with what a job has is no question of the handler."""
    public = Public(rule('job.time_limit = 5\nif job.sets("partition"):\n    job.account = "physics"').registry)  # type: ignore[attr-defined]
    assert public("job_modify", partition="gpu") is None


def test_a_rule_that_compares_with_the_record_is_for_jobs_that_leave_its_share(rule: Rule) -> None:
    """What such a rule forbids in a partition, an update that leaves the partition cannot do on its way."""
    body = 'if record is not None and job.time_limit > record.time_limit:\n    raise Reject("no extension in day")'
    call = rule(body, "job, record", 'partitions=["day"], otherwise="off"')
    record = {"partition": "day", "time_limit": 100}
    assert not call(record, time_limit=600).accepted
    assert not call(record, time_limit=600, partition="debug").accepted
    assert call({**record, "partition": "debug"}, time_limit=600).accepted
    ahead = rule(LIMIT, keywords='partitions=["day"], otherwise="off"')
    assert ahead(record, time_limit=600, partition="debug").accepted


def test_without_records_a_reservation_may_have_any_partition(
    rule: Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only slurmctld knows the partition of a reservation; until then a job in it may be in each of slurm.conf."""
    (tmp_path / "slurm.conf").write_text("PartitionName=cpu Default=YES\nPartitionName=gpu\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    public = Public(rule('raise Reject("%s %s" % (job.partitions, job.partition))').registry)  # type: ignore[attr-defined]
    assert public("job_submit") == "('cpu',) cpu"
    assert public("job_submit", reservation="of_gpu") == "('cpu', 'gpu') cpu,gpu"
    assert public("job_submit", reservation="of_gpu", partition="cpu") == "('cpu',) cpu"


def test_what_a_rule_reads_of_the_record_counts(rule: Rule) -> None:
    """An update of a field is the business of a rule that looks only at what the job has of it."""
    record = {"time_limit": 9, "resv_name": "r", "job_id": 7}
    call = rule('if record and record.time_limit != 5:\n    raise Reject("no")', "job, record")
    assert not call(record, time_limit=6).accepted
    assert call(record, comment="x").accepted
    call = rule('if record and record.resv_name:\n    raise Reject("no")', "job, record")
    assert not call(record, reservation="other").accepted
    call = rule('if record and dict(record)["time_limit"] != 5:\n    raise Reject("no")', "job, record")
    assert not call(record, time_limit=6).accepted
    call = rule('log.user("%r", (record.job_id, "job_id" in dir(record), job.time_limit))', "job, record")
    assert call(record, time_limit=6).user_messages == ["(7, True, 6)"]
    call = rule("job.time_limit\nrecord.tiem_limit", "job, record")
    assert any("record has no 'tiem_limit'" in line for line in call(record, time_limit=6).log)
    call = rule("job.time_limit\nrecord.time_limit = 3", "job, record")
    assert any("read-only" in line for line in call(record, time_limit=6).log)
