# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of hook.job: what they see, when they count, and what is sent."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks import UnknownError
from slurmhooks.errors import LoadError
from slurmhooks.fields.constants import JobFlag
from slurmhooks.handlers import loader
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit import judging, updates
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from slurmhooks.workshop.testing.job_submit import request_of
from tests.unit.job_submit.rules import Public, Rule

SHOW = 'log.user("%r %r %r %r", job.partitions, job.partition, job.account, job.time_limit)'


def seen(result: Result) -> str:
    """Return what a handler told its user."""
    assert result.accepted, result
    return "\n".join(result.user_messages)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "('day',) 'day' 'physics' 60"),
        ({"partition": "debug,day", "account": "chemistry"}, "('debug', 'day') 'debug,day' 'chemistry' 10"),
        ({"partition": "day,debug"}, "('day', 'debug') 'day,debug' 'physics' 60"),
        ({"partition": "debug"}, "('debug',) 'debug' 'physics' 10"),
        ({"partition": "open,debug"}, "('open', 'debug') 'open,debug' 'physics' UNLIMITED"),
        ({"time_limit": 5}, "('day',) 'day' 'physics' 5"),
    ],
)
def test_a_submission_has_what_slurm_fills_in(rule: Rule, fields: dict[str, Any], expected: str) -> None:
    """Partition, account and time limit that a submission leaves out are those that Slurm will choose."""
    assert seen(rule(SHOW)(**fields)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"partition": "debug"}, "('debug',) 'debug' 'chemistry' 100"),
        ({"time_limit": 7}, "('day',) 'day' 'chemistry' 7"),
        ({"account": ""}, "('day',) 'day' 'physics' 100"),
    ],
)
def test_an_update_has_the_job_with_the_change(rule: Rule, fields: dict[str, Any], expected: str) -> None:
    """What an update leaves alone is what the job has."""
    record = {"partition": "day", "account": "chemistry", "time_limit": 100}
    assert seen(rule(SHOW)(record, **fields)) == expected


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (None, {"qos": "Urgent"}),
        ({"qos": "normal"}, {"qos": "URGENT"}),
        ({"qos": "normal"}, {"qos": "normal,uRgent"}),
        ({"qos": "Urgent"}, {"min_nodes": 4}),
    ],
)
def test_qos_are_in_lower_case(rule: Rule, record: dict[str, Any] | None, fields: dict[str, Any]) -> None:
    """Slurm takes a QOS in any case, so no spelling passes a rule that names it."""
    call = rule('if "urgent" in job.qos.split(",") and job.bounds.nodes.most != 1:\n    raise Reject("one node")')
    assert not call(record, **{"min_nodes": 4, **fields}).accepted


LIMIT = 'if "debug" in job.partitions and job.time_limit > 30:\n    raise Reject("debug: 30 minutes")'


@pytest.mark.parametrize(
    ("record", "fields", "accepted"),
    [
        ({"partition": "day", "time_limit": 60}, {"partition": "debug"}, False),
        ({"partition": "debug", "time_limit": 20}, {"time_limit": 60}, False),
        ({"partition": "debug", "time_limit": 20}, {"time_limit": 30}, True),
        ({"partition": "debug", "time_limit": 60}, {"comment": "by an administrator"}, True),
        ({"partition": "debug", "time_limit": 60}, {"priority": 0}, True),
        ({"partition": "debug", "time_limit": 60}, {"time_limit": 50}, False),
        ({"partition": "debug", "time_limit": 20, "end_time": 6000}, {"end_time": 6000 + 60 * 60}, False),
        ({"partition": "day", "time_limit": 60}, {"time_limit": 90}, True),
    ],
)
def test_an_update_counts_if_it_sets_what_the_handler_reads(
    rule: Rule, record: dict[str, Any], fields: dict[str, Any], accepted: bool
) -> None:
    """A rule refuses an update that takes a job to where it counts, and none that sets nothing of what it reads."""
    assert rule(LIMIT)(record, **fields).accepted == accepted


def test_an_update_that_does_not_count_has_no_effect_and_no_text(rule: Rule) -> None:
    """What a handler writes and tells is dropped if the update sets nothing that it reads, even if it writes that."""
    call = rule('if job.time_limit > 30:\n    job.time_limit = 30\n    log.user("limited")')
    result = call({"time_limit": 60}, comment="x")
    assert (result.accepted, result.changes, result.user_messages) == (True, {}, [])
    result = call({"time_limit": 60}, time_limit=50)
    assert (result.changes, result.user_messages) == ({"time_limit": 30}, ["limited"])


def test_a_write_equal_to_the_view_sends_nothing(rule: Rule) -> None:
    """A request stays as it is if a handler writes what the job has anyway."""
    call = rule('job.partition = "day"\njob.time_limit = 60\njob.account = "physics"')
    assert call().changes == {}
    assert call(partition="debug").changes == {"partition": "day"}
    assert rule("job.time_limit = job.time_limit")({"time_limit": 20}, partition="debug").changes == {}


@pytest.mark.parametrize("value", ["60", 60.0])
def test_a_wrong_value_is_refused_even_if_it_is_equal(rule: Rule, value: object) -> None:
    """Equality does not hide a wrong type."""
    result = rule(f"job.time_limit = {value!r}")(time_limit=60)
    assert result.error_id is not None


def test_later_handlers_see_earlier_writes(rule: Rule) -> None:
    """A write changes what the job would be, also what depends on it."""
    assert seen(rule(f'{SHOW}\njob.partition = "debug"\n{SHOW}')()).splitlines()[1] == "('debug',) 'debug' 'physics' 10"


@pytest.mark.parametrize(
    ("name", "record", "fields", "expected"),
    [
        ("account", None, {}, True),
        ("account", None, {"account": "physics"}, False),
        ("account", {}, {"comment": "x", "account": None}, False),
        ("account", {}, {"account": ""}, True),
        ("account", {}, {"account": "physics"}, False),
        ("begin_time", None, {}, True),
        ("bitflags", None, {"bitflags": JobFlag(0)}, True),
        ("argv", None, {"argv": ["run.sh"]}, False),
    ],
)
def test_what_the_user_leaves_out(
    rule: Rule, name: str, record: dict[str, Any] | None, fields: dict[str, Any], expected: bool
) -> None:
    """leaves_out() tells what a submission does not name, or an update clears."""
    body = f'if job.leaves_out("{name}"):\n    raise Reject("left out")'
    assert rule(body)(record, **fields).accepted != expected


@pytest.mark.parametrize(
    ("record", "fields", "expected"),
    [
        (None, {"time_limit": 5}, True),
        (None, {}, False),
        ({}, {"time_limit": 5}, True),
        ({"time_limit": 5}, {"partition": "debug"}, False),
    ],
)
def test_what_the_request_sets(
    rule: Rule, record: dict[str, Any] | None, fields: dict[str, Any], expected: bool
) -> None:
    """sets() tells whether the request itself names a field."""
    body = 'if job.sets("time_limit", "nice"):\n    raise Reject("set")'
    assert rule(body)(record, **fields).accepted != expected


@pytest.mark.parametrize("name", ["environment", "array_inx", "shared", "task_dist"])
def test_what_slurmctld_does_not_keep_is_unknown_at_an_update(rule: Rule, name: str) -> None:
    """It is an error, which says so, not an empty value; an update of something else than the code names passes."""
    call = rule(f'if job.{name} is not None and job.partition == "debug":\n    raise Reject("no")')
    assert call(partition="day").accepted
    result = call({"partition": "day"}, partition="debug")
    assert result.error_id is not None
    assert any(f"job.{name} is not known at an update" in line for line in result.log)
    assert call({"partition": "day"}, comment="x").accepted
    safe = rule(
        f'if not job.is_update and job.{name} is not None and job.partition == "debug":\n    raise Reject("no")'
    )
    assert safe({"partition": "day"}, partition="debug").accepted


def test_what_an_update_cannot_change_is_that_of_the_job(rule: Rule) -> None:
    """A client may send fields that slurmctld ignores in an update; they do not hide those of the job."""
    body = 'if job.partition == "gpu" and job.submit_line == "sbatch bad":\n    raise Reject("no")'
    record = {"partition": "day", "submit_line": "sbatch bad"}
    assert not rule(body)(record, partition="gpu", submit_line="sbatch good").accepted
    assert rule('job.comment\njob.argv = ["x"]')({"argv": ["run.sh"]}, comment="x").error_id is not None
    assert (
        seen(rule('log.user("%r", (job.argv, job.sets("comment")))')({"argv": ["a"]}, comment="x")) == "(('a',), True)"
    )


@pytest.mark.parametrize(("uid", "keywords", "accepted"), [(0, "", True), (0, "admins=True", False), (7, "", False)])
@pytest.mark.parametrize("record", [None, {"time_limit": 5}])
def test_administrators_are_exempt_unless_asked_for(
    rule: Rule, record: dict[str, Any] | None, uid: int, keywords: str, accepted: bool
) -> None:
    """A rule is not for root and SlurmUser, except with admins=True."""
    call = rule('if job.time_limit > 60:\n    raise Reject("no")', keywords=keywords)
    assert call(record, uid, time_limit=90).accepted == accepted


def test_siblings_of_a_federation_count_as_the_user(rule: Rule) -> None:
    """A cluster that passes on a user's job sends it as root; the rule is for it, and its sender is the user."""
    call = rule('log.user("%r", sender_uid)\nif job.time_limit > 60:\n    raise Reject("no")', "job, sender_uid")
    assert not call(None, 0, time_limit=90, job_id=5, fed_siblings_viable=3, user_id=1001).accepted
    assert seen(call(None, 0, time_limit=9, job_id=5, fed_siblings_viable=3, user_id=1001)) == "1001"


def test_a_handler_gets_the_record_and_tables_that_it_names(rule: Rule) -> None:
    """The record is None at a submission; tables are those of both hooks."""
    call = rule('log.user("%r %r", record and record.time_limit, len(partitions))', "partitions, record, job")
    assert seen(call()) == "None 3"
    assert seen(rule('log.user("%r %r", record.time_limit, job.time_limit)', "job, record")({"time_limit": 5},
                time_limit=6)) == "5 6"  # fmt: skip


def test_options_of_spank_are_known_at_an_update(tmp_path: Path) -> None:
    """greet.of(job) works at both; at an update by what slurmctld keeps."""
    path = tmp_path / "greet.py"
    path.write_text(
        "from slurmhooks import Reject, hook\n"
        'greet = hook.spank.option("greet", "NAME", usage="x")\n'
        "@hook.job\ndef rule(job):\n"
        '    if greet.of(job) == "Ada" and job.partition == "debug":\n        raise Reject("no")\n'
    )
    registry: Registry = loader.load([loader.Source(path=str(path))])
    record = FakeRecord(spank_job_env=["SPANK__SLURM_SPANK_OPTION_slurmhooks_greet=Ada"], partition="day")
    name = registry.options[0].variable
    record = FakeRecord(spank_job_env=[f"SPANK_{name}=Ada"], partition="day")
    assert not run(registry, "job_modify", job=FakeJob(partition="debug"), record=record).accepted
    job = FakeJob(partition="debug", spank_job_env={name: "Ada"})
    assert not run(registry, "job_submit", job=job).accepted


@pytest.mark.parametrize("body", ["job.jbo", 'job.sets("tiem_limit")', 'job.leaves_out("tiem_limit")', "job.tiem = 1"])
def test_a_misspelt_name_is_an_error(rule: Rule, body: str) -> None:
    """What does not exist raises AttributeError, as in the other views."""
    result = rule(body)()
    assert any("AttributeError: job has no" in line for line in result.log), result


def test_a_view_ends_with_its_call(rule: Rule) -> None:
    """A view that is kept raises StaleHandleError."""
    call = rule("global kept\nkept = job")
    assert call().accepted
    again = rule("try:\n    kept.time_limit\nexcept NameError:\n    pass")
    assert again().accepted
    body = "global kept\ntry:\n    kept.time_limit\nexcept NameError:\n    kept = job"
    twice = rule(body)
    assert twice().accepted
    assert any("StaleHandleError" in line for line in twice().log)


def test_a_copy_stays_valid(rule: Rule) -> None:
    """dict(job) has every field that is known, and nothing else."""
    assert [name for name in dict(FakeJob()) if not name.islower()] == []
    assert (
        seen(rule('log.user("%r", (dict(job)["time_limit"], "environment" in dict(job)))')(time_limit=5)) == "(5, True)"
    )
    call = rule('log.user("%r", (dict(job)["time_limit"], "environment" in dict(job)))')
    assert seen(call({"time_limit": 5}, partition="debug")) == "(5, False)"


def test_arguments_are_those_of_the_hook(rule: Rule) -> None:
    """An argument that hook.job does not have, and a wrong keyword, are refused when the file is loaded."""
    with pytest.raises(LoadError, match=r"takes 'submit_uid', which the hook does not have; it may take: job, record"):
        rule("pass", "job, submit_uid")
    with pytest.raises(LoadError, match="admins takes True or False"):
        rule("pass", keywords='admins="yes"')


def test_without_records_users_may_not_change_what_a_rule_reads(rule: Rule) -> None:
    """A build with public headers refuses updates of what the handler reads, because it does not know the job."""
    call = rule(
        'helper = job.time_limit\nif job.partition == "debug" and job.leaves_out("account"):\n    raise Reject("no")'
    )
    public = Public(call.registry)  # type: ignore[attr-defined]
    assert public("job_submit", partition="debug") == "no"
    assert public("job_submit", partition="debug", account="physics") is None
    assert public("job_modify", partition="debug") == "only administrators may change partition of a job"
    assert (
        public("job_modify", time_limit=5, partition="x")
        == "only administrators may change partition, time_limit of a job"
    )
    assert public("job_modify", comment="x") is None
    assert public("job_modify", 0, partition="debug") is None


def test_without_records_an_update_decides_by_itself_if_it_can(rule: Rule) -> None:
    """A handler that asks only what the request sets and leaves out needs no record."""
    public = Public(rule('if job.leaves_out("account"):\n    raise Reject("no")\njob.time_limit = 5').registry)  # type: ignore[attr-defined]
    assert public("job_modify", account="physics") is None
    assert public("job_modify", account="") == "no"
    assert public("job_modify", time_limit=7) is None


def test_without_records_a_field_that_the_code_does_not_name_cannot_be_read(rule: Rule) -> None:
    """Users are not kept from changing it, so reading it is an error that names the remedy."""
    call = rule('job.partition\nif getattr(job, "_".join(("tres", "per", "job"))):\n    raise Reject("no")')
    with pytest.raises(UnknownError, match=r"job\.tres_per_job could be changed by an update"):
        Public(call.registry)("job_submit", partition="debug")  # type: ignore[attr-defined]


def test_what_code_names_includes_helpers_and_lists(tmp_path: Path) -> None:
    """Fields in functions that a handler calls, in functions in them, and in lists of names are found."""
    path = tmp_path / "rules.py"
    path.write_text(
        "from slurmhooks import hook\n"
        'FIELDS = ("tres_per_job", "no_field")\n'
        "def helper(j):\n    return [lambda: j.time_limit]\n"
        "@hook.job\ndef rule(job):\n    helper(job), job.bounds.nodes\n"
        "    for each in FIELDS:\n        getattr(job, each)\n"
    )
    handler = loader.load([loader.Source(path=str(path))]).handlers("job_modify")[0]
    assert isinstance(handler, JobRule)
    assert judging.named(handler) == {"tres_per_job", "time_limit", "bounds"}
    assert judging.shown(handler) == ["bounds", "time_limit"]


def test_what_an_update_asks_for() -> None:
    """The decision log has what an update sets, each member once, and not what clients always send."""
    job = FakeJob(time_limit=5, comment="x\ny", account="")
    request_of(job, "job_modify")
    assert updates.asked(job) == ["account=", "comment=x\ny", "time_limit=5"]


@pytest.mark.parametrize(
    ("field", "value", "releases"),
    [
        ("segment_size", 4, {"24.11": False, "26.05": False, "26.11": True}),
        ("mcs_label", "x", {"24.11": False, "25.05": True, "26.11": True}),
        ("std_err", "x", {"22.05": False, "24.11": True}),
    ],
)
def test_a_field_that_updates_change_since_a_release(
    tmp_path: Path, field: str, value: object, releases: dict[str, bool]
) -> None:
    """From that release on, an update is judged by it, and a handler may write it; before, a write is a bug."""
    reads = f"if job.{field} == {value!r}:\n        raise Reject('no')"
    writes = f"if job.time_limit:\n        job.{field} = {value!r}"
    for name, body in (("reads", reads), ("writes", writes)):
        head = "from slurmhooks import Reject, hook\n\n@hook.job\ndef rule(job):\n    "
        (tmp_path / f"{name}.py").write_text(f"{head}{body}\n")
    for release, changes in releases.items():
        record = FakeRecord(release=release, time_limit=60)
        asked = FakeJob(release=release, **{field: value})
        assert (
            run(tmp_path / "reads.py", "job_modify", job=asked, record=record, modify_uid=1000).accepted is not changes
        )
        job = FakeJob(release=release, time_limit=30)
        result = run(tmp_path / "writes.py", "job_modify", job=job, record=record, modify_uid=1000)
        assert (result.accepted, result.changes) == ((True, {field: value}) if changes else (False, {})), release
