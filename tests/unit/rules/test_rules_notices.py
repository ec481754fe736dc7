# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that tell users something, and the deadline of the search in scripts."""

import signal
import time
from typing import Any

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.fields.constants import JobState, ReservationFlag
from slurmhooks.rules.ready import script
from slurmhooks.testing import FakeJob, FakeRecord, run
from slurmhooks.values import UNLIMITED
from tests.unit.rules.conftest import Rules

MAINTENANCE = '[[rule]]\nrule = "maintenance"\n'
TIMES = "start = 2027-05-01T08:00:00\nend = 2027-05-02T18:00:00\n"
START = time.mktime((2027, 5, 1, 8, 0, 0, 0, 0, -1))
END = time.mktime((2027, 5, 2, 18, 0, 0, 0, 0, -1))
DEBUG: dict[str, dict[str, Any]] = {"debug": {"flag_default": True, "nodes": "n[1-4]"}}
MAINT = ReservationFlag.RESERVE_FLAG_MAINT
RUNS = {"job_state": JobState.JOB_RUNNING, "start_time": int(START - 5400)}
SAYS = "maintenance from 2027-05-01 08:00 to 2027-05-02 18:00: the job can only "


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list with one item."""
    moment = [START - 3600]
    monkeypatch.setattr(time, "time", lambda: moment[0])
    return moment


def test_a_notice(rules: Rules) -> None:
    """Users read a notice, with the values of their job; nothing changes."""
    text = '[[rule]]\nrule = "notice"\npartitions = ["old"]\nmessage = "{partition} closes, {user}"\n'
    result = run(rules(text), "job_submit", job=FakeJob(partition="old", user_name="alice"))
    assert (result.accepted, result.changes, result.user_messages) == (True, {}, ["old closes, alice"])
    assert run(rules(text), "job_submit", job=FakeJob(partition="new")).user_messages == []
    with pytest.raises(LoadError, match="message: missing"):
        rules('[[rule]]\nrule = "notice"\n')


@pytest.mark.parametrize(
    ("before", "limit", "told"),
    [
        (3600, 60, False),
        (3600, 61, True),
        (3600, None, True),
        (0, 1, True),
        (START - END + 1, 1, True),
        (START - END, 1, False),
        (START - END - 60, 1, False),
    ],
)
def test_a_maintenance(rules: Rules, now: list[float], before: float, limit: int | None, told: bool) -> None:
    """Users are told if a job cannot end before the maintenance starts; with jobs = "refuse" it is refused."""
    now[0] = START - before
    result = run(rules(MAINTENANCE + TIMES), "job_submit", job=FakeJob(time_limit=limit))
    assert result.accepted
    assert [text.startswith(SAYS) for text in result.user_messages] == [True] * told
    result = run(rules(f'{MAINTENANCE}{TIMES}jobs = "refuse"\n'), "job_submit", job=FakeJob(time_limit=limit))
    assert result.accepted == (not told)
    assert not told or (result.text or "").startswith(SAYS)
    assert run(rules(f'{MAINTENANCE}{TIMES}jobs = "refuse"\n'), "job_submit", job=FakeJob(), submit_uid=0).accepted


@pytest.mark.parametrize(
    ("begin", "limit", "told"),
    [
        (START - 60, 1, False),
        (START - 59, 1, True),
        (START - 7200, 60, False),
        (START, 1, True),
        (END - 1, None, True),
        (END, None, False),
    ],
)
def test_jobs_that_begin_later(rules: Rules, now: list[float], begin: float, limit: int | None, told: bool) -> None:
    """What counts is when a job may begin (--begin): before the maintenance, in it, or after it."""
    job = FakeJob(time_limit=limit, begin_time=int(begin))
    result = run(rules(f'{MAINTENANCE}{TIMES}jobs = "refuse"\n'), "job_submit", job=job)
    assert result.accepted == (not told), result


@pytest.mark.parametrize(
    ("changes", "record", "refused"),
    [
        ({"time_limit": UNLIMITED}, {"time_limit": 60}, True),
        ({"time_limit": 61}, {"time_limit": 5}, True),
        ({"time_limit": 60}, {"time_limit": 5}, False),
        ({"begin_time": int(START - 3600)}, {"time_limit": 600, "begin_time": int(END)}, True),  # StartTime=now
        ({"begin_time": int(END + 60)}, {"time_limit": 600}, False),
        ({"time_limit": 600}, {"time_limit": 5, "begin_time": int(END)}, False),
        ({"name": "x"}, {"time_limit": UNLIMITED}, False),
        ({"time_limit": 90}, RUNS, False),
        ({"time_limit": 91}, {**RUNS, "time_limit": 90}, True),
        ({"time_limit": 600}, {"time_limit": 601}, False),
        ({"time_limit": 602}, {"time_limit": 601}, True),
        ({"partition": "day"}, {"time_limit": 601, "partition": "debug"}, False),
        ({"time_limit": 91}, {**RUNS, "time_limit": 92}, False),
        ({"begin_time": int(START - 60)}, {"time_limit": 601}, True),
        ({"begin_time": int(END + 60)}, {"time_limit": 601}, False),
        ({"time_limit": 600}, {"time_limit": 300, "time_min": 60}, False),
    ],
)
def test_updates_into_a_maintenance(
    rules: Rules, now: list[float], changes: dict[str, Any], record: dict[str, Any], refused: bool
) -> None:
    """With jobs = "refuse", an update cannot make a job reach into the maintenance; otherwise updates pass."""
    made = rules(f'{MAINTENANCE}{TIMES}jobs = "refuse"\n')
    result = run(made, "job_modify", job=FakeJob(**changes), record=FakeRecord(**record))
    assert result.accepted is not refused, result
    assert not rules(MAINTENANCE + TIMES).handlers("job_modify")


@pytest.mark.parametrize(
    ("toml", "record"),
    [
        ('partitions = ["day"]\n', {}),
        ('except_accounts = ["urgent"]\n', {"account": "urgent"}),
        ('[[rules.exemptions]]\nrules = ["maintenance"]\npartitions = ["debug"]\nuntil = 2027-05-31\n', {}),
        ('[rules.modes."rule:maintenance"]\npartitions = ["day"]\notherwise = "off"\n', {}),
    ],
)
def test_a_move_to_where_the_rule_is(rules: Rules, now: list[float], toml: str, record: dict[str, Any]) -> None:
    """Whoever is not refused because of a partition or an account is, when an update changes that."""
    job = {"partition": "debug", "account": "a", "time_limit": 601, **record}
    made = rules(f'{MAINTENANCE}{TIMES}jobs = "refuse"\n{toml}')
    changes = {"partition": "day", "account": "a"}
    assert not run(made, "job_modify", job=FakeJob(**changes), record=FakeRecord(**job)).accepted


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"time_limit": 100}, False),
        ({"time_limit": 102}, True),
        ({"partition": "day"}, False),
        ({"partition": "other"}, False),
        ({"min_nodes": 3}, False),
    ],
)
def test_updates_of_jobs_that_a_reservation_keeps_from_starting(
    rules: Rules, now: list[float], changes: dict[str, Any], refused: bool
) -> None:
    """Only those are refused by which such a job would end later."""
    whole = {"start_time": int(START), "end_time": int(END), "flags": MAINT, "node_list": "n[1-4]", "full_nodes": True}
    result = run(
        rules(f'{MAINTENANCE}jobs = "refuse"\n'),
        "job_modify",
        job=FakeJob(**changes),
        record=FakeRecord(partition="debug", time_limit=101),
        reservations={"maint": whole},
        partitions={**DEBUG, "day": {"nodes": "n[1-3]"}, "other": {"nodes": "n[5-6]"}},
    )
    assert result.error_id is None, result
    assert result.accepted is not refused, result


@pytest.mark.parametrize("nodes", ["n[3-6]", "n[5-6]"])
def test_a_move_to_where_a_reservation_counts(rules: Rules, now: list[float], nodes: str) -> None:
    """A job that Slurm would start is refused if an update moves it to where it could not start."""
    whole = {"start_time": int(START), "end_time": int(END), "flags": MAINT, "node_list": "n[1-4]", "full_nodes": True}
    result = run(
        rules(f'{MAINTENANCE}jobs = "refuse"\n'),
        "job_modify",
        job=FakeJob(partition="debug"),
        record=FakeRecord(partition="other", time_limit=101),
        reservations={"maint": whole},
        partitions={**DEBUG, "other": {"nodes": nodes}},
    )
    assert not result.accepted, result


def test_a_maintenance_comes_near(rules: Rules, now: list[float]) -> None:
    """With `ahead`, users are told only within that time before the start."""
    made = rules(f'{MAINTENANCE}{TIMES}ahead = "2:00:00"\n')
    now[0] = START - 7201
    assert run(made, "job_submit", job=FakeJob()).user_messages == []
    now[0] = START - 7200
    assert run(made, "job_submit", job=FakeJob()).user_messages != []


def test_a_maintenance_of_slurm(rules: Rules, now: list[float]) -> None:
    """Without times in the rule, the next reservation with the flag MAINT counts."""
    maint = ReservationFlag.RESERVE_FLAG_MAINT
    all_nodes = {"node_list": "n[1-4]", "full_nodes": True}
    reservations: dict[str, dict[str, Any]] = {
        "course": {"start_time": int(START) - 1800, "end_time": int(END), **all_nodes},
        "later": {"start_time": int(END), "end_time": int(END) + 60, "flags": maint, **all_nodes},
        "next": {"start_time": int(START), "end_time": int(END), "flags": maint, **all_nodes},
        "over": {"start_time": int(START) - 9000, "end_time": int(START) - 3600, "flags": maint, **all_nodes},
    }
    made = rules(MAINTENANCE)
    given: dict[str, Any] = {"reservations": reservations, "partitions": DEBUG}
    result = run(made, "job_submit", job=FakeJob(time_limit=61), **given)
    assert [text.startswith(SAYS) for text in result.user_messages] == [True]
    assert run(made, "job_submit", job=FakeJob(time_limit=60), **given).user_messages == []
    assert run(made, "job_submit", job=FakeJob(time_limit=60), partitions=DEBUG).user_messages == []


HALF = {"node_list": "n[1-2]"}


@pytest.mark.parametrize(
    ("reservation", "job", "told"),
    [
        ({}, {}, True),
        (HALF, {}, False),
        (HALF, {"min_nodes": 3}, True),
        (HALF, {"min_nodes": 2}, False),
        (HALF, {"req_nodes": "n3"}, False),
        (HALF, {"req_nodes": "n[2-3]"}, True),
        (HALF, {"exc_nodes": "n[3-4]"}, True),
        (HALF, {"partition": "left"}, True),
        (HALF, {"partition": "debug,left"}, False),
        ({}, {"partition": "other"}, False),
        ({}, {"partition": "debug,other"}, False),
        ({"node_list": None}, {}, False),
        ({"full_nodes": False}, {}, False),
        ({}, {"reservation": "maint"}, False),
        ({"flags": ReservationFlag.RESERVE_FLAG_MAGNETIC | MAINT}, {}, False),
        ({"flags": ReservationFlag.RESERVE_FLAG_TIME_FLOAT | MAINT}, {}, False),
        ({}, {"time_limit": 180, "time_min": 30}, False),
        ({}, {"time_limit": 180, "time_min": 61}, True),
        ({}, {"partition": "short", "time_limit": None}, False),
        ({}, {"partition": "debug,short", "time_limit": None}, False),
        ({}, {"partition": "debug", "time_limit": None}, True),
    ],
)
def test_whom_a_reservation_keeps_from_starting(
    rules: Rules, now: list[float], reservation: dict[str, Any], job: dict[str, Any], told: bool
) -> None:
    """A reservation counts if none of the job's partitions has enough other nodes, for the time that the job gets."""
    whole = {"start_time": int(START), "end_time": int(END), "flags": MAINT, "node_list": "n[1-4]", "full_nodes": True}
    partitions = {
        **DEBUG,
        "left": {"nodes": "n1"},
        "other": {"nodes": "n[5-6]"},
        "short": {"nodes": "n[1-4]", "default_time": 10},
    }
    result = run(
        rules(f'{MAINTENANCE}jobs = "refuse"\n'),
        "job_submit",
        job=FakeJob(**{"partition": "debug", "time_limit": 61, **job}),
        reservations={"maint": {**whole, **reservation}},
        partitions=partitions,
    )
    assert result.error_id is None, result
    assert result.accepted is not told, result


@pytest.mark.parametrize(
    "text", ["start = 2027-05-01T08:00:00\n", "start = 2027-05-02T08:00:00\nend = 2027-05-01T08:00:00\n"]
)
def test_a_maintenance_has_both_times(rules: Rules, text: str) -> None:
    """A start without an end, or after it, is an error."""
    with pytest.raises(LoadError, match=r"needs both|must be before"):
        rules(MAINTENANCE + text)


HARD = "forbidden = ['^(a|a)*$']\n"
"""A search that takes 2**n steps."""


@pytest.mark.parametrize(("keys", "accepted"), [("", False), ('on_timeout = "accept"\n', True)])
def test_a_search_has_a_deadline(rules: Rules, keys: str, accepted: bool) -> None:
    """A search that would take years ends at its deadline; then the job is refused, or accepted if the site says so."""
    job = FakeJob(script="#!/bin/sh\n" + "a" * 100 + "!\n")
    result = run(rules(f'[[rule]]\nrule = "script_content"\n{HARD}{keys}deadline = 0.05\n'), "job_submit", job=job)
    assert (result.accepted, result.error_id) == (accepted, None)
    assert accepted or "it takes too long to search" in (result.text or "")


def test_a_search_leaves_no_timer() -> None:
    """After a search, neither its timer nor its signal handler remains."""
    before = signal.getsignal(signal.SIGALRM)
    with script.time_limit(60):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
