# SPDX-License-Identifier: GPL-2.0-or-later
"""Quotas: what a user, an account or a group has in the queue, with requests whose jobs the queue does not show yet."""

import ctypes
import grp
import os
import pwd
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slurmhooks.errors import LoadError
from slurmhooks.fields.constants import JobState
from slurmhooks.job_submit import users
from slurmhooks.rules.ready import quota
from slurmhooks.testing import FakeJob, FakeRecord, fake_associations, fake_jobs, fake_partitions, run
from slurmhooks.values import UNLIMITED
from slurmhooks.worker import accepted
from tests.unit.rules.conftest import Rules

RULE = '[[rule]]\nrule = "quota"\n'
PARTITIONS = fake_partitions({"debug": {"flag_default": True}, "gpu": {}})


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[accepted.Accepted]:
    """The memory that workers share."""
    made = accepted.Accepted()
    monkeypatch.setattr(accepted, "shared", made)
    yield made
    os.close(made._fd)


def job(**fields: Any) -> FakeJob:
    """Return the request of a user."""
    given = {"user_id": 1000, "user_name": "alice", "time_limit": 60, "min_cpus": 4, "min_nodes": 1, "max_nodes": 1}
    return FakeJob(**{**given, **fields})


def record(number: int, **fields: Any) -> FakeRecord:
    """Return a job of the same user in the queue."""
    given = {
        "user_id": 1000,
        "account": "physics",
        "partition": "debug",
        "time_limit": 60,
        "job_state": JobState.JOB_PENDING,
        "tres_fmt_req_str": "cpu=4,mem=4G,node=1,billing=4,gres/gpu=1",
    }
    return FakeRecord(job_id=number, **{**given, **fields})


def is_accepted(registry: Any, request: FakeJob, *records: FakeRecord, **others: Any) -> bool:
    """Tell whether a submission is accepted, with these jobs in the queue."""
    result = run(registry, "job_submit", job=request, jobs=fake_jobs(records), partitions=PARTITIONS, **others)
    assert not result.errors, result
    return result.accepted


QUEUE = (
    record(1),
    record(2, job_state=JobState.JOB_RUNNING, tres_fmt_alloc_str="cpu=16,node=2,billing=16,gres/gpu=4"),
    record(3, array_job_id=3, array_task_cnt=5),
    record(4, job_state=JobState.JOB_COMPLETE),
    record(5, user_id=1001),
    record(6, account="chem", partition="gpu,debug"),
    record(7, user_id=1002, account="Äx"),
)
"""Of user 1000: 8 jobs and tasks, 7 of them of physics, 1 in gpu; 44 CPUs."""
LIMITS = [
    ("jobs = 9", {}, True),
    ("jobs = 8", {}, False),
    ("jobs = 10", {"array_inx": "1-2"}, True),
    ("jobs = 9", {"array_inx": "1-2"}, False),
    ("cpus = 48", {}, True),
    ("cpus = 47", {}, False),
    ("nodes = 10", {}, True),
    ("nodes = 9", {}, False),
    ("cpu_hours = 48", {}, True),
    ("cpu_hours = 47.5", {}, False),
    ("cpu_hours = 50", {"time_limit": 120}, False),
    ("cpu_hours = 1e9", {"time_limit": None}, False),
    ("cpu_hours = 1e9", {"time_limit": UNLIMITED}, False),
    ('jobs = 2\npartitions = ["gpu"]', {"partition": "gpu"}, True),
    ('jobs = 1\npartitions = ["gpu"]', {"partition": "gpu"}, False),
    ('jobs = 1\npartitions = ["gpu"]', {}, True),
    ('per = "account"\njobs = 9', {"account": "Physics"}, True),
    ('per = "account"\njobs = 8', {"account": "Physics"}, False),
    ('per = "account"\njobs = 2', {"account": "chem"}, True),
    ('per = "account"\njobs = 99', {}, False),
    ('per = "account"\njobs = 1', {"account": "ÄX"}, False),
]


@pytest.mark.parametrize(("lines", "fields", "passes"), LIMITS)
def test_what_is_in_the_queue(rules: Rules, lines: str, fields: dict[str, Any], passes: bool) -> None:
    """What pending and running jobs have, and what the job would add, must be within each limit."""
    assert is_accepted(rules(RULE + lines), job(**fields), *QUEUE) == passes


MEMBERS = {1000: {"physics", "staff"}, 1001: {"physics"}, 1002: {"chem", "physics"}, 1003: {"staff"}}
"""Users and their groups."""
OF_GROUPS = f'{RULE}per = "group"\n'


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> dict[int, set[str]]:
    """What the name service knows of users, by user id."""
    known = dict(MEMBERS)
    ids = {name: number for number, name in enumerate(("physics", "chem", "staff"))}

    def group(name: str) -> Any:
        if not any(name in groups for groups in known.values()):
            raise KeyError(name)
        return SimpleNamespace(gr_gid=ids[name])

    monkeypatch.setattr(users, "_kept", {})
    monkeypatch.setattr(grp, "getgrnam", group)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_name=user, pw_gid=7, is_known=known[user]))
    monkeypatch.setattr(os, "getgrouplist", lambda user, own: [own, *(ids[name] for name in known[user])])
    return known


def of_member(user: int, **fields: Any) -> FakeJob:
    """Return the request of a user with the groups of MEMBERS."""
    return job(user_id=user, user_name=f"u{user}", groups=dict.fromkeys(MEMBERS[user], 1), **fields)


@pytest.mark.parametrize(
    ("lines", "user", "passes"),
    [
        ('groups = ["physics"]\njobs = 11', 1000, True),
        ('groups = ["physics"]\njobs = 10', 1000, False),
        ('groups = ["physics"]\njobs = 10', 1002, False),
        ('groups = ["physics"]\njobs = 0', 1003, True),
        ('groups = ["chem", "physics"]\njobs = 2', 1002, True),
        ('groups = ["chem", "physics"]\njobs = 1', 1002, False),
        ('groups = ["chem", "physics"]\njobs = 10', 1001, True),
        ('groups = ["physics"]\npartitions = ["gpu"]\njobs = 1', 1001, True),
        ('groups = ["physics"]\ncpus = 56', 1001, True),
        ('groups = ["physics"]\ncpus = 55', 1001, False),
    ],
)
@pytest.mark.usefixtures("members")
def test_groups(rules: Rules, lines: str, user: int, passes: bool) -> None:
    """The jobs of all members count together, for the first group of the rule in which their user is."""
    assert is_accepted(rules(OF_GROUPS + lines), of_member(user), *QUEUE) == passes


def test_keys_that_share_a_bucket(memory: accepted.Accepted) -> None:
    """What was accepted of one quota counts for no other one, wherever it is kept."""
    one, other = (number.to_bytes(8, "little") for number in (7, 7 + accepted.BUCKETS))
    memory.add(one, 1000, [1.0] * accepted.AMOUNTS)
    assert ([entry.user_id for entry in memory.of(one)], memory.of(other)) == ([1000], [])


def test_jobs_of_several_qos_count_for_each(rules: Rules) -> None:
    """A job counts for each QOS that it names, whichever Slurm has chosen for now; one that names none, for its own."""
    registry = rules(f'{RULE}qos = ["low"]\njobs = 1')
    for qos, named, counts in (("high", "high,LOW", True), ("low", None, True), ("high", "high,normal", False)):
        assert is_accepted(registry, job(qos="low"), record(1, qos=qos, qos_req=named)) != counts
    before = record(1, user_id=1001, qos="high", qos_req="high,low")
    others: dict[str, Any] = {"record": before, "jobs": fake_jobs([before]), "partitions": PARTITIONS}
    assert run(registry, "job_modify", job=FakeJob(user_id=1001, qos="low"), **others).accepted


@pytest.mark.usefixtures("members")
def test_accepted_requests_of_other_members_count(rules: Rules) -> None:
    """A request counts for all members of the group from its answer on, also when the queue shows its job."""
    registry = rules(f'{OF_GROUPS}groups = ["physics", "chem"]\njobs = 2')
    assert is_accepted(registry, of_member(1000))
    assert is_accepted(registry, of_member(1001))
    assert not is_accepted(registry, of_member(1002))
    shown = [record(user, user_id=user, submit_time=int(time.time())) for user in (1000, 1001)]
    assert not is_accepted(registry, of_member(1002), *shown)
    ended = [record(1, user_id=1000, submit_time=int(time.time()), job_state=JobState.JOB_COMPLETE), shown[1]]
    assert is_accepted(registry, of_member(1002), *ended)


def test_a_clock_that_is_put_right(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it was years behind, as after the start of a machine, the queue is not asked about each second of them."""
    asked: list[object] = []
    real = quota.Quota._kinds

    def count(self: quota.Quota, *arguments: Any, **fields: Any) -> Any:
        asked.append(fields)
        assert len(asked) < 100
        return real(self, *arguments, **fields)

    monkeypatch.setattr(quota.Quota, "_kinds", count)
    now = [1e9]
    for clock in ("time", "clock_gettime"):
        monkeypatch.setattr(time, clock, lambda *_: now[0])
    registry = rules(f"{RULE}jobs = 2\n")
    assert is_accepted(registry, job())
    now[0] += 9e8
    assert is_accepted(registry, job())
    assert not is_accepted(registry, job())
    assert not is_accepted(registry, job(), record(1, submit_time=int(now[0])))


def test_an_outage_of_the_name_service(rules: Rules, members: dict[int, set[str]]) -> None:
    """A user who exists no more is in no group; if no group is known either, members are refused, not let in."""
    registry = rules(f'{OF_GROUPS}groups = ["gone", "physics"]\njobs = 1')
    assert is_accepted(registry, of_member(1000), record(1, user_id=77))
    registry = rules(f'{OF_GROUPS}name = "other"\ngroups = ["physics"]\njobs = 1')
    members.clear()
    assert not is_accepted(registry, of_member(1001), record(1, user_id=77))


def test_groups_are_remembered_for_a_minute(
    rules: Rules, members: dict[int, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who leaves the group counts for it until the groups are asked for again."""
    registry = rules(f'{OF_GROUPS}groups = ["physics"]\njobs = 1')
    assert not is_accepted(registry, of_member(1000), record(1, user_id=1001))
    members[1001] = {"staff"}
    assert not is_accepted(registry, of_member(1000), record(1, user_id=1001))
    later = time.monotonic() + users.KEPT_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert is_accepted(registry, of_member(1000), record(1, user_id=1001))


def test_a_quota_of_groups_names_them(rules: Rules) -> None:
    """Without groups, nobody has the quota."""
    with pytest.raises(LoadError, match="name the groups that have this quota"):
        rules(f"{OF_GROUPS}jobs = 1")


def test_waiting_jobs_count_with_the_most(rules: Rules) -> None:
    """A job that may get more nodes than Slurm says while it waits counts with all of them, until it has its nodes."""
    registry = rules(f"{RULE}nodes = 6")
    ranges = {"min_nodes": 1, "max_nodes": 4, "min_cpus": 1, "tres_fmt_req_str": "cpu=1,node=1"}
    assert is_accepted(registry, job(), record(1, **ranges))
    assert not is_accepted(registry, job(min_nodes=3, max_nodes=3), record(1, **ranges))
    started = {**ranges, "job_state": JobState.JOB_RUNNING, "tres_fmt_alloc_str": "cpu=2,node=2"}
    assert is_accepted(registry, job(min_nodes=3, max_nodes=3), record(1, **started))


@pytest.mark.parametrize(
    ("keys", "fields"),
    [('per = "account"\njobs = 2', {}), ("cpu_hours = 5", {"time_limit": None}), ("jobs = 0", {}), ("cpus = 5", {})],
    ids=["no account", "no time limit", "exceeded", "too many jobs"],
)
def test_a_message_of_the_site(
    rules: Rules, monkeypatch: pytest.MonkeyPatch, keys: str, fields: dict[str, Any]
) -> None:
    """It may have all placeholders, whatever the reason of the refusal is."""
    monkeypatch.setattr(quota, "MOST_KINDS", 0)
    message = " ".join(f"{{{name}}}" for name in quota.Quota.placeholders)
    registry = rules(f'{RULE}{keys}\nmessage = "quota: {message}"')
    result = run(registry, "job_submit", job=job(**fields), jobs=fake_jobs(QUEUE), partitions=PARTITIONS)
    assert (result.accepted, result.errors) == (False, [])
    assert result.text is not None
    assert result.text.startswith("quota: ")


def test_too_many_different_jobs(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody makes slurmctld wait by jobs that all differ; those whose jobs they count with read why."""
    monkeypatch.setattr(quota, "MOST_KINDS", 3)
    queue = [record(number, job_state=JobState.JOB_PENDING, num_tasks=number) for number in range(1, 5)]
    registry = rules(f'{RULE}per = "account"\ncpus = 1000')
    request = job(account="physics")
    assert is_accepted(registry, request, *queue[:3])
    result = run(registry, "job_submit", job=request, jobs=fake_jobs(queue), partitions=PARTITIONS)
    assert result.text is not None
    assert result.text.startswith("more than 3 different jobs wait; try again when fewer do")
    assert is_accepted(registry, job(account="chem"), *queue)
    assert is_accepted(rules(f"{RULE}jobs = 9"), request, *queue)


def test_the_text(rules: Rules) -> None:
    """The user reads whose quota it is, its size, what is there and what the job would add."""
    result = run(rules(f"{RULE}jobs = 8"), "job_submit", job=job(), jobs=fake_jobs(QUEUE), partitions=PARTITIONS)
    assert result.text == ("user alice may have at most 8 jobs in the queue; now 8 jobs, and the job would add 1 job")


def test_updates(rules: Rules) -> None:
    """An update counts the job once; one that adds nothing passes, whatever is there."""
    registry = rules(f"{RULE}cpu_hours = 44")

    def passes(minutes: int, **fields: Any) -> bool:
        return run(
            registry,
            "job_modify",
            job=FakeJob(time_limit=minutes),
            record=record(1, min_cpus=4, **fields),
            jobs=fake_jobs(QUEUE),
            partitions=PARTITIONS,
            modify_uid=1000,
        ).accepted

    assert passes(60)
    assert passes(30)
    assert not passes(75)


def test_moves(rules: Rules) -> None:
    """A job that is moved to where the rule counts is checked, although the queue has it already."""
    registry, queue = rules(f'{RULE}jobs = 7\nexcept_accounts = ["physics"]'), fake_jobs(QUEUE)
    for account, passes in (("chem", False), ("physics", True)):
        request = FakeJob(user_id=1000, user_name="alice", account=account)
        result = run(
            registry, "job_modify", job=request, record=QUEUE[0], jobs=queue, partitions=PARTITIONS, modify_uid=1000
        )
        assert result.accepted == passes, account


@pytest.mark.parametrize(("deadline", "default_time"), [(0, None), (1800, None), (0, 60)])
def test_a_move_without_a_time_limit(rules: Rules, deadline: int, default_time: int | None) -> None:
    """The queue shows no limit of such a job before it starts: a user who moves one keeps no others out."""
    registry = rules(f'{RULE}per = "account"\npartitions = ["gpu"]\ncpu_hours = 100')
    lacks: dict[str, Any] = {"time_limit": None, "min_cpus": 4, "deadline": deadline and int(time.time()) + deadline}
    moved = run(
        registry,
        "job_modify",
        job=FakeJob(partition="gpu"),
        record=record(8, **lacks),
        jobs=fake_jobs([*QUEUE, record(8, **lacks)]),
        partitions=fake_partitions({"debug": {"flag_default": True}, "gpu": {"default_time": default_time}}),
        modify_uid=1000,
    )
    others = job(user_id=1001, account="physics", partition="gpu")
    after = [*QUEUE, record(8, partition="gpu" if moved.accepted else "debug", **lacks)]
    assert is_accepted(registry, others, *after, associations=fake_associations([]))


def test_gpus_count_without_slurmdbd(rules: Rules) -> None:
    """Running jobs count with the GPUs that they have got, although their TRES have none without slurmdbd."""
    registry = rules(f"{RULE}gpus = 4")
    has = {"job_state": JobState.JOB_RUNNING, "tres_fmt_alloc_str": "cpu=2", "gres_used": "gpu:a100:1,gpu:2,tape:9"}
    assert is_accepted(registry, job(tres_per_node="gres/gpu:1"), record(1, **has))
    assert not is_accepted(registry, job(tres_per_node="gres/gpu:2"), record(1, **has))


# Requests that the queue does not show yet


def test_strangers_do_not_use_up_an_account(rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request does not count for an account in which Slurm knows no such user, and whose jobs it then refuses."""
    conf = tmp_path / "slurm.conf"
    monkeypatch.setenv("SLURM_CONF", str(conf))
    members = fake_associations([{"account": "physics", "user": "alice"}])
    registry = rules(f'{RULE}per = "account"\njobs = 1')
    asked = {"associations": members}
    conf.write_text("ClusterName=c\nAccountingStorageEnforce=limits,Safe\n")
    assert is_accepted(registry, job(account="physics", user_id=1001, user_name="bob"), **asked)
    assert is_accepted(registry, job(account="Physics"), **asked)
    assert not is_accepted(registry, job(account="physics"), **asked)
    conf.write_text("ClusterName=c\n")
    assert is_accepted(registry, job(account="chem", user_id=1001, user_name="bob"), **asked)
    assert not is_accepted(registry, job(account="chem"), **asked)


def test_accepted_requests_count(rules: Rules) -> None:
    """A request counts from its answer on, once, also when the queue shows its job; another user's does not."""
    registry = rules(f"{RULE}jobs = 2")
    assert is_accepted(registry, job())
    assert is_accepted(registry, job())
    assert not is_accepted(registry, job())
    assert is_accepted(registry, job(user_id=1001))
    now = int(time.time())
    shown = [record(number, submit_time=now) for number in (1, 2)]
    assert not is_accepted(registry, job(), *shown)
    ended = [record(number, submit_time=now, job_state=JobState.JOB_CANCELLED) for number in (1, 2)]
    assert is_accepted(registry, job(), *ended)
    requeued = [record(number, submit_time=now, restart_cnt=1, job_state=JobState.JOB_CANCELLED) for number in (1, 2)]
    assert not is_accepted(registry, job(), *requeued)


def test_refused_requests_do_not_count(rules: Rules) -> None:
    """A request that a later rule refuses does not count; one that says that it is only a test does: anybody can."""
    registry = rules(f'{RULE}jobs = 1\n[[rule]]\nrule = "forbid"\nfield = "name"\nforbidden = ["bad"]')
    assert not is_accepted(registry, job(name="bad"))
    assert is_accepted(registry, job(submit_line="sbatch --comment x --test-only x", argv=["x"]))
    assert not is_accepted(registry, job(submit_line="sbatch --test-only x", argv=["x"]))


def test_updates_see_accepted_requests(rules: Rules) -> None:
    """An update cannot take a job to where a request was accepted whose job the queue does not show yet."""
    registry = rules(f'{RULE}jobs = 2\npartitions = ["gpu"]')

    def moves(number: int) -> bool:
        known = record(number)
        return run(
            registry,
            "job_modify",
            job=FakeJob(partition="gpu"),
            record=known,
            jobs=fake_jobs([known]),
            partitions=PARTITIONS,
            modify_uid=1000,
        ).accepted

    assert is_accepted(registry, job(partition="gpu"))
    assert moves(1)
    assert is_accepted(registry, job(partition="gpu"))
    assert not moves(2)


def test_they_are_forgotten(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose job never came does not count for ever."""
    registry = rules(f"{RULE}jobs = 1")
    assert is_accepted(registry, job())
    later = time.monotonic() + accepted.KEPT_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert is_accepted(registry, job())


def test_a_killed_worker_keeps_nobody_out(memory: accepted.Accepted) -> None:
    """The kernel frees what a killed process has held."""
    key = accepted.key_of("rule:quota", "1000")
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        with memory.held(key):
            os.write(writes, b".")
            signal.pause()
    os.read(reads, 1)
    os.kill(child, signal.SIGKILL)
    with memory.held(key):
        memory.add(key, 1000, [1.0] * accepted.AMOUNTS)
    os.waitpid(child, 0)
    os.close(reads)
    os.close(writes)
    assert [entry.user_id for entry in memory.of(key)] == [1000]


@pytest.mark.slow
def test_the_second_of_an_entry_is_one_of_slurm(memory: accepted.Accepted) -> None:
    """It is not after the second that time() in C returns later, as for the job: that is behind others until a tick."""
    libc, keys = ctypes.CDLL(None), [accepted.key_of("rule:quota", str(user)) for user in range(4)]
    for key in keys:
        time.sleep(1 - time.time() % 1)
        memory.add(key, 1000, [1.0] * accepted.AMOUNTS)
        assert int(memory.of(key)[0].at) <= libc.time(None)


WAITS = {"wait": 0.3, "wait long": 9.5}


@pytest.mark.moved
@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("members")
@given(
    st.lists(st.sampled_from(["submit", "other", "array", "create", "create", "end", *WAITS]), max_size=40),
    st.sampled_from(["user", "group"]),
)
@example(["submit", "create", "end", "wait", "submit", "wait long", "wait", "submit", "submit"], "user")
def test_never_more_than_the_quota(rules: Rules, monkeypatch: pytest.MonkeyPatch, events: list[str], per: str) -> None:
    """Whatever the order in which requests are accepted and jobs are created and end, no more than the quota exist.

    No job is created later than MOST_SECONDS after its request was accepted.
    """
    now = [1e9 + 0.2]
    for clock in ("time", "monotonic", "clock_gettime"):
        monkeypatch.setattr(time, clock, lambda *_: now[0])
    monkeypatch.setattr(accepted, "shared", accepted.Accepted())
    lines = "jobs = 2\n" if per == "user" else 'jobs = 2\nper = "group"\ngroups = ["physics"]\n'
    registry, flying, queue = rules(RULE + lines), list[tuple[float, int, int]](), dict[int, dict[str, Any]]()
    for event in events:
        if event in WAITS:
            now[0] += WAITS[event]
            flying = [each for each in flying if now[0] < each[0] + accepted.MOST_SECONDS]  # Slurm refuses them
        elif event in ("submit", "other", "array"):
            tasks, user = 2 if event == "array" else 1, 1001 if event == "other" else 1000
            request = of_member(user, **({"array_inx": "1-2"} if tasks > 1 else {}))
            if is_accepted(registry, request, *(record(number, **fields) for number, fields in queue.items())):
                flying.append((now[0], tasks, user))
        elif event == "create" and flying:
            number, (_, tasks, user) = len(queue) + 1, flying.pop(len(flying) // 2)
            array = {"array_job_id": number, "array_task_cnt": tasks} if tasks > 1 else {}
            queue[number] = {"submit_time": int(now[0]), "user_id": user, **array}
        elif event == "end":
            going = [fields for fields in queue.values() if "job_state" not in fields]
            if going:
                going[0]["job_state"] = JobState.JOB_COMPLETE
        present = [fields for fields in queue.values() if "job_state" not in fields]
        exist = [(user, tasks) for _, tasks, user in flying]
        exist += [(fields["user_id"], fields.get("array_task_cnt", 1)) for fields in present]
        for some in ({1000}, {1001}) if per == "user" else ({1000, 1001},):
            assert sum(tasks for user, tasks in exist if user in some) <= 2


def test_the_memory_has_room_for_each_amount() -> None:
    """An entry has as many amounts as a quota limits."""
    assert len(quota.AMOUNTS) == accepted.AMOUNTS
