# SPDX-License-Identifier: GPL-2.0-or-later
"""Which jobs a rule, or the share of a mode, is for: what Slurm will choose counts, not what the user wrote."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.fields.constants import JobFlag
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.handlers.rollouts import assign
from slurmhooks.rules import source
from slurmhooks.testing import FakeJob, FakeRecord, Result, run
from tests.unit.rules.conftest import Rules

PARTITIONS: dict[str, dict[str, object]] = {"debug": {"flag_default": True}, "fb": {}, "gpu": {}}
RESERVATIONS: dict[str, dict[str, object]] = {"course": {"partition": "fb"}, "anywhere": {}}
CLOSED = '[[rule]]\nrule = "forbid"\npartitions = ["fb"]\n'


def submitted(made: Registry, **fields: Any) -> Result:
    """Submit a job to a site with reservations."""
    return run(made, "job_submit", job=FakeJob(**fields), partitions=PARTITIONS, reservations=RESERVATIONS)


RESERVED = [
    ({"reservation": "course"}, "fb"),
    ({"reservation": "course", "partition": ""}, "fb"),
    ({"reservation": "course", "partition": "gpu"}, "gpu"),
    ({"reservation": "anywhere"}, "debug"),
    ({"reservation": "course,anywhere"}, "debug,fb"),
    ({"reservation": "anywhere,course"}, "debug,fb"),
    ({"reservation": "course,"}, "debug,fb"),
    ({"reservation": "course,anywhere", "partition": "gpu"}, "gpu"),
    ({"reservation": "course,anywhere", "partition": "gpu", "bitflags": JobFlag.JOB_PART_ASSIGNED}, "gpu,debug,fb"),
    ({"reservation": "course", "partition": "gpu", "bitflags": JobFlag.JOB_PART_ASSIGNED}, "gpu"),
    ({"reservation": "gone"}, "debug"),
    ({"reservation": ""}, "debug"),
    ({}, "debug"),
    ({"partition": "debug,fb"}, "debug,fb"),
    ({"partition": ",fb,"}, "fb"),
]
"""Requests, and where _get_job_parts() of slurmctld puts them; for several reservations, also _queue_resv_list()."""


@pytest.mark.parametrize("given", [None, "debug"])
@pytest.mark.parametrize(("fields", "expected"), RESERVED)
def test_the_partition_of_a_reservation(rules: Rules, fields: dict[str, Any], expected: str, given: str | None) -> None:
    """Without a partition a job runs in that of its one reservation, before the default one; messages name it."""
    default = f'[rules.defaults]\ndefault_partition = "{given}"\n' if given else ""
    for only in ("fb", "debug", "gpu"):
        made = rules(
            f'{default}[[rule]]\nrule = "time_ceiling"\nlimit = 60\npartitions = ["{only}"]\n'
            'message = "{partition}: {limit}"\n'
        )
        text = f"{only}: 01:00:00" if only in expected.split(",") else None
        assert submitted(made, time_limit=61, **fields).text == text
    made = rules('[[rule]]\nrule = "time_ceiling"\nlimit = 60\nmessage = "{partition}"\n')
    assert submitted(made, time_limit=61, **fields).text == expected


@pytest.mark.parametrize(("fields", "expected"), RESERVED)
def test_shares_by_partition(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    """The share of a mode sees the same partitions as a rule."""
    for only in ("fb", "debug", "gpu"):
        path = tmp_path / "h.py"
        path.write_text(
            "from slurmhooks import hook, Reject\n"
            f"@hook.job_submit(partitions=['{only}'], otherwise='off')\ndef no(job):\n    raise Reject('no')\n"
        )
        made = loader.load([loader.Source(path=str(path))])
        assert submitted(made, **fields).accepted == (only not in expected.split(","))


@pytest.mark.parametrize(
    ("change", "flags", "accepted"),
    [
        ({"reservation": "course,"}, JobFlag.JOB_PART_ASSIGNED, False),
        ({"reservation": "course"}, JobFlag.JOB_PART_ASSIGNED, True),
        ({"reservation": "course,"}, JobFlag(0), True),
        ({"reservation": "course,", "partition": "debug"}, JobFlag.JOB_PART_ASSIGNED, True),
    ],
)
def test_an_update_to_several_reservations(
    rules: Rules, change: dict[str, Any], flags: JobFlag, *, accepted: bool
) -> None:
    """A job whose partition Slurm has chosen may run in the partition of each of several reservations."""
    made = rules(CLOSED)
    record = FakeRecord(partition="debug", bitflags=flags)
    done = run(made, "job_modify", job=FakeJob(**change), record=record, partitions=PARTITIONS,
               reservations=RESERVATIONS)  # fmt: skip
    assert done.accepted == accepted


def test_where_the_reservation_cannot_be_seen(rules: Rules) -> None:
    """A build without Slurm's sources knows only the configured partition."""
    made = rules(f'[rules.defaults]\ndefault_partition = "fb"\n{CLOSED}')
    assert not run(made, "job_submit", job=FakeJob(reservation="course")).accepted


@pytest.mark.parametrize("rule", ['rule = "default_partition"\nvalue = "gpu"', 'rule = "choose_partition"\n'
                                  'override = true\ncases = [{ to = "gpu" }]'])  # fmt: skip
def test_jobs_in_a_reservation_get_no_partition(rules: Rules, rule: str) -> None:
    """Rules that choose a partition leave jobs in a reservation to Slurm, which chooses its partition."""
    made = rules(f"[[rule]]\n{rule}\n")
    assert submitted(made).changes == {"partition": "gpu"}
    for name in ("course", "anywhere", "course,anywhere"):
        assert submitted(made, reservation=name).changes == {}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"partition": "debug,fb"}, "at most 01:00:00 in fb"),
        ({"partition": "fb,gpu"}, "at most 01:00:00 in fb,gpu"),
        ({"partition": "fb,gpu2"}, "at most 01:00:00 in fb"),
    ],
)
def test_messages_name_the_partition_that_limits(rules: Rules, fields: dict[str, Any], text: str) -> None:
    """Of a list of partitions, a message names only those that the rule is for."""
    made = rules(
        '[[rule]]\nrule = "time_ceiling"\nlimit = 60\npartitions = ["fb", "gpu*"]\n'
        'except_partitions = ["gpu2"]\nmessage = "at most {limit} in {partition}"\n'
    )
    assert submitted(made, time_limit=61, **fields).text == text


# Accounts.


def test_shares_by_account_ignore_case(tmp_path: Path) -> None:
    """No spelling of an account is outside of its share; without one, that of the user counts."""
    path = tmp_path / "slurmhooks.toml"
    path.write_text(
        '[[rule]]\nrule = "require_time"\n[rules.modes."rule:require_time"]\n'
        'accounts = ["Physics"]\notherwise = "off"\n'
    )
    read = config.read(path)
    made = loader.load(source.sources(read, path))
    assert assign(read.rollouts(), made.all_handlers()) == []
    for account in ("physics", "PHYSICS", "Physics"):
        assert not submitted(made, account=account).accepted
    for unset in (None, ""):
        assert not submitted(made, account=unset, default_account="physics").accepted
    assert submitted(made, account="maths", default_account="physics").accepted


SHARED = '[rules.modes."rule:RULE"]\notherwise = "off"\nKEYS\n[[rule]]\nrule = "RULE"\n'


@pytest.mark.parametrize(("key", "field"), [("partitions", "partition"), ("accounts", "account")])
def test_a_job_leaves_a_share(tmp_path: Path, key: str, field: str) -> None:
    """The share of a rule has the jobs that would be there after an update; that of a guard also those that are now."""

    def accepted(rule: str, old: str, new: str, **fields: Any) -> bool:
        path = tmp_path / "slurmhooks.toml"
        text = SHARED.replace("RULE", rule.partition("\n")[0]).replace("KEYS", f'{key} = ["gpu"]')
        path.write_text(text + rule.partition("\n")[2])
        read = config.read(path)
        made = loader.load(source.sources(read, path))
        assert assign(read.rollouts(), made.all_handlers()) == []
        record = FakeRecord(time_limit=60, **{field: old})
        return run(made, "job_modify", job=FakeJob(**{field: new, **fields}), record=record).accepted

    ceiling, guard = "time_ceiling\nlimit = 10\n", 'guard_updates\nchanges = ["time_limit"]\n'
    assert accepted(ceiling, "gpu", "low")
    assert accepted(ceiling, "gpu", "low", time_limit=90)
    assert not accepted(ceiling, "low", "gpu")
    assert not accepted(ceiling, "gpu", "gpu", time_limit=90)
    assert not accepted(guard, "gpu", "low", time_limit=90)
    assert not accepted(guard, "low", "gpu", time_limit=90)


# Updates: what the job has counts as well.

GUARDED = [
    ('partitions = ["gpu"]', "partition", "gpu", "debug"),
    ('qos = ["gpu"]', "qos", "gpu", "low"),
    ('accounts = ["gpu"]', "account", "gpu", "low"),
    ('except_partitions = ["low"]', "partition", "gpu", "low"),
    ('except_accounts = ["low"]', "account", "gpu", "low"),
]


@pytest.mark.parametrize(("keys", "field", "inside", "outside"), GUARDED)
def test_an_update_cannot_leave_a_guard(rules: Rules, keys: str, field: str, inside: str, outside: str) -> None:
    """A guard holds if the job is, or would be, one of those that it is for."""
    made = rules(f'[[rule]]\nrule = "guard_updates"\nchanges = ["time_limit"]\n{keys}\n')

    def update(old: str, new: str | None) -> bool:
        fields = {field: new} if new else {}
        record = FakeRecord(time_limit=60, **{field: old})
        return run(made, "job_modify", job=FakeJob(time_limit=90, **fields), record=record).accepted

    assert not update(inside, None)
    assert not update(inside, outside)
    assert not update(outside, inside)
    assert update(outside, None)


@pytest.mark.parametrize(("keys", "field", "inside", "outside"), GUARDED)
def test_an_update_cannot_leave_a_guard_for_an_exemption(
    rules: Rules, keys: str, field: str, inside: str, outside: str
) -> None:
    """A job is exempt from a guard only if it is now, and would be, where the exemption counts."""
    key = keys.partition(" ")[0].removeprefix("except_")
    exempt = f'[[rules.exemptions]]\nrules = ["*"]\nuntil = 9999-12-30\n{key} = ["{outside}"]\n'
    made = rules('[[rule]]\nrule = "guard_updates"\nchanges = ["time_limit"]\n' + exempt)
    for old, new, accepted in (
        (inside, outside, False),
        (inside, None, False),
        (outside, inside, False),
        (outside, None, True),
        (outside, outside, True),
    ):
        job = FakeJob(time_limit=90, **({field: new} if new else {}))
        result = run(made, "job_modify", job=job, record=FakeRecord(time_limit=60, **{field: old}))
        assert result.accepted is accepted, (old, new)


@pytest.mark.parametrize(
    ("named", "chosen", "change", "accepted"),
    [
        ("low,gpu", "low", None, False),
        ("low,high", "low", None, True),
        ("low,gpu", "low", "low", True),
        ("low", "low", "low,gpu", False),
        (None, "gpu", None, False),
        (None, "low", None, True),
    ],
)
def test_an_update_of_a_job_with_several_qos(
    rules: Rules, named: str | None, chosen: str, change: str | None, *, accepted: bool
) -> None:
    """All QOS that the user has named count, not only the one that Slurm has chosen for now."""
    made = rules('[[rule]]\nrule = "time_ceiling"\nlimit = 60\nqos = ["gpu"]\n')
    record = FakeRecord(time_limit=60, qos=chosen, qos_req=named)
    job = FakeJob(time_limit=90, **({} if change is None else {"qos": change}))
    assert run(made, "job_modify", job=job, record=record).accepted == accepted


def test_a_guard_on_the_partition_itself(rules: Rules) -> None:
    """A job can neither be moved out of a guarded partition, nor into one."""
    made = rules('[[rule]]\nrule = "guard_updates"\nchanges = ["partition"]\npartitions = ["gpu"]\n')
    for old, new, accepted in (("gpu", "debug", False), ("debug", "gpu", False), ("debug", "fb", True),
                               ("debug,gpu", "debug", False)):  # fmt: skip
        result = run(made, "job_modify", job=FakeJob(partition=new), record=FakeRecord(partition=old))
        assert result.accepted is accepted, (old, new)


# Who asks.

SIBLING: dict[str, Any] = {"job_id": 67108880, "fed_siblings_viable": 3, "user_id": 1000}
CEILING = '[[rule]]\nrule = "time_ceiling"\nlimit = 10\n'


@pytest.mark.parametrize(
    ("fields", "sender", "origin", "exempt"),
    [
        ({"user_id": 0}, 0, "user", True),
        ({"user_id": 1000}, 0, "user", True),  # root submits for a user
        ({"user_id": 1000}, 1000, "user", False),
        (SIBLING, 0, "sibling", False),
        ({**SIBLING, "restart_cnt": 2}, 0, "requeue", False),
        ({**SIBLING, "user_id": 0}, 0, "sibling", True),
        (SIBLING, 1000, "user", False),  # forged by the user
        ({**SIBLING, "fed_siblings_viable": 0}, 0, "user", True),
    ],
)
def test_a_sibling_of_a_federation_is_no_admin(
    rules: Rules, tmp_path: Path, fields: dict[str, Any], sender: int, origin: str, exempt: bool
) -> None:
    """A cluster of a federation sends jobs of users as root: the user decides about exemptions there."""
    job = FakeJob(time_limit=15, **fields)
    assert run(rules(CEILING), "job_submit", job=job, submit_uid=sender).accepted is exempt
    path = tmp_path / "h.py"
    path.write_text(f"from slurmhooks import hook\n@hook.job_submit\ndef f(job): assert job.origin == {origin!r}\n")
    assert run(path, "job_submit", job=FakeJob(**fields), submit_uid=sender).accepted


@pytest.mark.parametrize("updates", ["check", "refuse"])
def test_who_changes_jobs_of_others(rules: Rules, updates: str) -> None:
    """A user or group that is exempt may also change jobs of others, who are not exempt themselves."""
    for exempt, accepted in (('users = ["root"]', True), ('groups = ["root"]', True), ('users = ["daemon"]', False)):
        made = rules(f'{CEILING}updates = "{updates}"\nexcept_admins = false\nexcept_{exempt}\n')
        for sender in (0, 1000):
            job, record = FakeJob(time_limit=15, user_name="alice"), FakeRecord(user_id=1000)
            result = run(made, "job_modify", job=job, record=record, modify_uid=sender)
            assert result.accepted is (accepted and sender == 0), (exempt, sender)
        assert not run(made, "job_submit", job=FakeJob(time_limit=15, user_name="alice"), submit_uid=1000).accepted


def test_the_origin_of_an_update(tmp_path: Path) -> None:
    """An update says that it is one."""
    path = tmp_path / "h.py"
    path.write_text("from slurmhooks import hook\n@hook.job_modify\ndef f(job):\n    assert job.origin == 'update'\n")
    assert run(path, "job_modify", job=FakeJob(**SIBLING), record=FakeRecord(), modify_uid=0).accepted


# Groups.


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ({"users": 1}, None),
        ({"students": 7}, "name a time limit"),
        ({"7001": 7001}, "does not know all groups"),
        ({"students": 7, "7001": 7001}, "name a time limit"),
        ({}, None),
    ],
)
def test_groups_that_the_name_service_does_not_know(rules: Rules, groups: dict[str, int], text: str | None) -> None:
    """While the name service knows neither all groups of a user nor those of a rule, the rule is not passed by."""
    made = rules('[[rule]]\nrule = "require_time"\ngroups = ["students"]\n')
    result = run(made, "job_submit", job=FakeJob(groups=groups))
    assert (result.text is None) if text is None else (text in (result.text or ""))
    made = rules('[[rule]]\nrule = "require_time"\ngroups = ["root"]\n')  # which is known
    assert run(made, "job_submit", job=FakeJob(groups=groups)).accepted


# Interactive jobs.

EXTERNAL = JobFlag["EXTERNAL_JOB"]
BATCH: dict[str, Any] = {"environment": {"PATH": "/bin"}}
NO_SHELLS = '[[rule]]\nrule = "interactive_limit"\nforbid = true\n'


@pytest.mark.parametrize(
    ("fields", "interactive"),
    [
        ({}, True),
        ({"script": "#!/bin/sh\n", **BATCH}, False),
        ({"het_job_offset": 0}, True),
        ({"het_job_offset": 0, "script": "#!/bin/sh\n", **BATCH}, False),
        ({"het_job_offset": 1, **BATCH}, False),
        ({"het_job_offset": 1}, True),
        ({"script": "#!/bin/sh\n", "alloc_resp_port": 60001, **BATCH}, True),
        ({"bitflags": EXTERNAL}, False),  # sbatch --external
        ({"het_job_offset": 1, "bitflags": EXTERNAL}, False),
        ({"bitflags": EXTERNAL, "alloc_resp_port": 60001}, True),
        (BATCH, True),  # another client: only components of heterogeneous jobs lack the script
        ({"het_job_offset": 0, **BATCH}, True),
    ],
)
def test_components_of_batch_jobs_are_not_interactive(rules: Rules, fields: dict[str, Any], interactive: bool) -> None:
    """Only the first component of a batch job has the script, the other ones have an environment."""
    assert FakeJob(**fields).interactive is interactive
    assert run(rules(NO_SHELLS), "job_submit", job=FakeJob(**fields)).accepted is not interactive


@pytest.mark.parametrize(
    "fields", [{"script": "x", **BATCH}, {"het_job_offset": 1, **BATCH}, {"bitflags": EXTERNAL}, {"script": "x"}]
)
@pytest.mark.parametrize(
    "keys",
    [
        "partitions = ['*']\ninteractive = true",
        "partitions = ['*']\ninteractive = false",
        "partitions = ['*']\nany = [{ interactive = false }]",
        "partitions = ['*']\nunless = [{ interactive = true }]",
        "partitions = ['*']\nunless = [{ interactive = false }]",
        "field = 'wait_all_nodes'\nupdates = 'ignore'",
    ],
)
def test_what_may_become_an_interactive_job_or_another(rules: Rules, fields: dict[str, Any], keys: str) -> None:
    """No rule is evaded by a program that names a port, as if it waited for an allocation, but sends a batch job."""
    job = FakeJob(alloc_resp_port=60001, partition="p", wait_all_nodes=1, **fields)
    assert not run(rules(f'[[rule]]\nrule = "forbid"\n{keys}\n'), "job_submit", job=job).accepted


def test_the_script_of_whoever_waits_on_a_port(rules: Rules) -> None:
    """slurmctld runs a script of a program that names a port, so it is searched."""
    made = rules('[[rule]]\nrule = "script_content"\nforbidden = ["x"]\n')
    assert not run(made, "job_submit", job=FakeJob(alloc_resp_port=60001, script="x", **BATCH)).accepted


def test_updates_of_an_external_job(rules: Rules) -> None:
    """It is no batch job, and no interactive one."""
    made = rules('[[rule]]\nrule = "interactive_limit"\ntime = 10\n')
    record = FakeRecord(job_id=8, batch_flag=0, bitflags=EXTERNAL)
    assert run(made, "job_modify", job=FakeJob(time_limit=20), record=record).accepted


@pytest.mark.parametrize(("leader", "interactive"), [(1, False), (0, True), (None, True)])
def test_updates_of_components(rules: Rules, leader: int | None, interactive: bool) -> None:
    """In slurmctld, only the first component of a batch job is marked as one."""
    record = FakeRecord(job_id=8, het_job_id=7, het_job_offset=1, batch_flag=0)
    jobs = [] if leader is None else [FakeRecord(job_id=7, het_job_id=7, batch_flag=leader)]
    made = rules('[[rule]]\nrule = "interactive_limit"\ntime = 10\n')
    result = run(made, "job_modify", job=FakeJob(time_limit=20), record=record, jobs=jobs)
    assert result.accepted is not interactive
