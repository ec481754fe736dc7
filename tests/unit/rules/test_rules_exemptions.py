# SPDX-License-Identifier: GPL-2.0-or-later
"""Exemptions from rules: for whom, from which rules, and until when."""

import json
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks.cli import documents, main
from slurmhooks.cli.commands import why
from slurmhooks.cli.decisions import Decision
from slurmhooks.errors import LoadError
from slurmhooks.testing import FakeJob, FakeRecord, run
from tests.unit.rules.conftest import Rules
from tests.unit.slurmctld.site_of_rules import Worker

CEILING = '[[rule]]\nrule = "time_ceiling"\nlimit = 60\nunset = "accept"\n'


def exemption(*lines: str, rules: str = '["time_ceiling"]', until: str = "2027-01-31") -> str:
    """Return an exemption as TOML."""
    return "\n".join(["[[rules.exemptions]]", f"rules = {rules}", f"until = {until}", *lines, ""])


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands on a day before that of exemptions, until a test moves it."""
    now = [datetime(2027, 1, 30, 12).timestamp()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_the_last_day(rules: Rules, today: list[float]) -> None:
    """A job is exempt until the end of the last day in local time, without a reload."""
    registry = rules(CEILING + exemption('users = ["alice"]'))
    job = FakeJob(time_limit=61, user_name="alice")
    for moment, accepted in (
        (datetime(2027, 1, 31, 23, 59, 59), True),
        (datetime(2027, 2, 1), False),
        (datetime(2027, 1, 31), True),
        (datetime(2028, 1, 31), False),
    ):
        today[0] = moment.timestamp()
        assert run(registry, "job_submit", job=job).accepted == accepted, moment
    assert not run(registry, "job_submit", job=FakeJob(time_limit=61, user_name="bob")).accepted


WHO: list[tuple[str, dict[str, Any], bool]] = [
    ('users = ["alice"]', {}, True),
    ('users = ["bob"]', {}, False),
    ('groups = ["chem"]', {}, True),
    ('groups = ["bio"]', {}, False),
    ('accounts = ["PHYS*"]', {"account": "physics"}, True),
    ('accounts = ["phys*"]', {"account": "chem"}, False),
    ('accounts = ["phys*"]', {}, False),
    ('partitions = ["gpu"]', {"partition": "gpu"}, True),
    ('partitions = ["gpu"]', {"partition": "gpu,debug"}, False),
    ('partitions = ["gpu", "debug"]', {"partition": "gpu,debug"}, True),
    ('qos = ["long"]', {"qos": "long"}, True),
    ('qos = ["long"]', {"qos": "long,short"}, False),
    ('qos = ["long"]', {}, False),
    ('users = ["alice"]\npartitions = ["gpu"]', {"partition": "debug"}, False),
    ('users = ["alice"]\nnames = ["run*"]', {"name": "run1"}, True),
    ('users = ["alice"]\nnames = ["run*"]', {"name": "Run1"}, False),
    ('users = ["alice"]\nnames = ["run*"]', {}, False),
    ("jobs = [17]", {"job_id": 17}, False),
    ('users = ["alice"]\npartitions = ["gpu"]', {"partition": "gpu"}, True),
]


@pytest.mark.parametrize(("lines", "fields", "exempt"), WHO)
def test_whose_jobs(rules: Rules, lines: str, fields: dict[str, Any], exempt: bool) -> None:
    """A job must match all lists of an exemption, and wherever Slurm may put it."""
    registry = rules(CEILING + exemption(lines))
    job = FakeJob(time_limit=61, user_name="alice", groups=("users", "chem"), **fields)
    assert run(registry, "job_submit", job=job).accepted == exempt


def test_from_which_rules(rules: Rules) -> None:
    """An exemption is from the rules that it names, by patterns if it has any."""
    named = '[[rule]]\nrule = "reserved_names"\nname = "no-sys"\nnames = ["sys-*"]\n'
    job = FakeJob(time_limit=61, name="sys-x", user_name="alice")
    for names, text in (('["time_ceiling"]', "sys-x"), ('["no-*"]', "at most"), ('["*"]', None)):
        result = run(rules(CEILING + named + exemption('users = ["alice"]', rules=names)), "job_submit", job=job)
        assert result.accepted == (text is None)
        assert (text or "") in (result.text or "")


def test_an_update_that_leaves_the_exemption(rules: Rules) -> None:
    """An update that takes a job to where it is not exempt is checked, whatever the rule is about."""
    registry = rules(CEILING + exemption('accounts = ["physics"]'))
    record = FakeRecord(time_limit=61, account="physics")
    assert run(registry, "job_modify", job=FakeJob(time_limit=90), record=record, modify_uid=1000).accepted
    assert not run(registry, "job_modify", job=FakeJob(account="chem"), record=record, modify_uid=1000).accepted
    assert run(registry, "job_modify", job=FakeJob(name="x"), record=record, modify_uid=1000).accepted


def test_the_updates_of_a_job(rules: Rules) -> None:
    """An exemption of a job counts for its updates, also by the ids of its array or heterogeneous job; for no other."""
    registry = rules(CEILING + exemption("jobs = [17]"))
    for record, accepted in (
        (FakeRecord(job_id=17), True),
        (FakeRecord(job_id=18, array_job_id=17), True),
        (FakeRecord(job_id=19, het_job_id=17), True),
        (FakeRecord(job_id=18), False),
    ):
        job = FakeJob(time_limit=90, job_id=17, job_id_str="17")
        result = run(registry, "job_modify", job=job, record=record, modify_uid=1000)
        assert result.accepted == accepted, record


def test_an_update_that_takes_the_name_away(rules: Rules) -> None:
    """A job that is exempt by its name is checked when it loses the name, whatever the rule is about."""
    registry = rules(CEILING + exemption('users = ["alice"]\nnames = ["run1"]'))
    record = FakeRecord(time_limit=61, name="run1", user_name="alice")
    assert run(registry, "job_modify", job=FakeJob(time_limit=90), record=record, modify_uid=1000).accepted
    assert not run(registry, "job_modify", job=FakeJob(name="x"), record=record, modify_uid=1000).accepted


def test_until_a_time(rules: Rules, today: list[float]) -> None:
    """A time ends an exemption at that moment, in local time unless it has a time zone, and the log shows it."""
    for until, end in (
        ("2027-01-31T18:00:00", datetime(2027, 1, 31, 18).timestamp()),
        ("2027-01-31T18:00:00+05:00", datetime.fromisoformat("2027-01-31T18:00:00+05:00").timestamp()),
    ):
        registry = rules(CEILING + exemption('users = ["alice"]', until=until))
        job = FakeJob(time_limit=61, user_name="alice")
        for now, accepted in ((end - 1, True), (end, False)):
            today[0] = now
            result = run(registry, "job_submit", job=job)
            assert result.accepted == accepted, until
            assert accepted == (f"until {until.replace('T', ' ')}" in result.exempt.values())


@pytest.mark.parametrize(
    ("lines", "accepted"), [('users = ["alice"]', True), ("jobs = [17]", False), ('accounts = ["physics"]', False)]
)
def test_updates_that_are_refused(rules: Rules, lines: str, accepted: bool) -> None:
    """Without the job, only exemptions of its user count: the request may name another account."""
    registry = rules(f'{CEILING}updates = "refuse"\n' + exemption(lines))
    job = FakeJob(time_limit=90, account="physics", user_name="alice", job_id=17)
    assert run(registry, "job_modify", job=job, modify_uid=1000).accepted == accepted


MISTAKES = [
    (exemption(until="2027-01-31"), "number 1: needs users, groups, accounts, partitions, qos or jobs"),
    (exemption('names = ["run"]'), "number 1: needs users, groups, accounts, partitions, qos or jobs"),
    (
        exemption('users = ["alice"]', until='"2027-01-31"'),
        "until: must be a date or a time without quotes, as in 2027-01-31",
    ),
    (exemption('users = ["alice"]', until="2027-02-30"), "not TOML"),
    (exemption('users = ["alice"]', until="31"), "until: must be a date or a time without quotes"),
    (exemption('jobs = ["17"]'), "jobs.0: must be a number"),
    (exemption('users = ["alice"]', rules='["time"]'), "no [[rule]] has the name time; there are time_ceiling"),
    (exemption('users = ["alice"]', rules="[]"), "rules: "),
    (exemption('users = ["alice"]', 'reason = "a\\nb"'), "reason: must be one line"),
    (exemption('user = ["alice"]'), "user: unknown key"),
    ('[[rules.exemptions]]\nusers = ["alice"]\n', "until: missing"),
]


@pytest.mark.parametrize(("lines", "finding"), MISTAKES)
def test_mistakes(rules: Rules, lines: str, finding: str) -> None:
    """A mistake is a finding that names the exemption and its key."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of the file, or of its rules
        rules(CEILING + lines)
    assert finding in "\n".join(caught.value.findings)  # type: ignore[attr-defined]


def test_exemptions_without_rules(rules: Rules, tmp_path: Path) -> None:
    """They are checked, too, also by the command."""
    text = exemption('users = ["alice"]')
    finding = "no [[rule]] has the name time_ceiling"
    with pytest.raises(LoadError, match=re.escape(finding)):
        rules(text)
    (tmp_path / "slurmhooks.toml").write_text(text)
    checked = CliRunner().invoke(main, ["check", "--hooks", str(tmp_path)])
    assert (checked.exit_code, finding in checked.output) == (1, True)


@pytest.mark.parametrize("mode", ["enforce", "warn"])
def test_the_decision_log(tmp_path: Path, mode: str) -> None:
    """The log and `why` say which exemption applied, for requests that the rule is for; others do not name the rule."""
    lines = exemption('accounts = ["physics"]', 'reason = "ticket 4711"')
    worker = Worker(tmp_path, f'{CEILING}mode = "{mode}"\npartitions = ["debug"]\n{lines}')
    requests: list[tuple[dict[str, Any], str | None]] = [
        ({"account": "physics"}, "until 2027-01-31: ticket 4711"),
        ({"account": "chem"}, None),
        ({"account": "physics", "partition": "gpu"}, None),
        ({"account": "physics"}, "until 2027-01-31: ticket 4711"),
    ]
    for fields, shown in requests:
        told = worker.submit(time_limit=61, **fields)
        steps = worker.decision()["handlers"]
        assert [step.get("exempt") for step in steps] == ([] if "partition" in fields else [shown])
        assert bool(told) == (fields == {"account": "chem"})
    line = documents.build(Decision, {"time": "2027-01-30T12:00:00+00:00", "event": "decision", **worker.decision()})
    assert "; exempt until 2027-01-31: ticket 4711" in why.lines(line)[2]


def test_the_commands(tmp_path: Path, today: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """`rules exemptions` lists them, and `check` has a note about one whose last day has passed."""
    monkeypatch.setenv("SLURM_CONF", "")
    lines = exemption('users = ["alice"]', 'reason = "ticket 4711"') + exemption(
        'groups = ["chem"]', rules='["*"]', until="2027-01-01"
    )
    (tmp_path / "slurmhooks.toml").write_text(CEILING + lines)
    words = ["rules", "exemptions", "--sysconfdir", str(tmp_path)]
    shown = CliRunner().invoke(main, words).output
    assert shown.index("2027-01-01 (over)") < shown.index("2027-01-31")
    assert "ticket 4711" in shown
    rows = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)
    assert rows[1] == {
        "rules": ["rule:time_ceiling"],
        "who": {"users": ["alice"]},
        "until": "2027-01-31",
        "is_over": False,
        "reason": "ticket 4711",
    }
    checked = CliRunner().invoke(main, ["check", "--hooks", str(tmp_path)])
    assert "rules.exemptions, number 2 (groups chem): its last day was 2027-01-01" in checked.output
    assert "number 1" not in checked.output
    assert checked.exit_code == 0
