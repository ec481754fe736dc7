# SPDX-License-Identifier: GPL-2.0-or-later
"""Properties that all ready-made rules share."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.handlers import loader
from slurmhooks.handlers.rollouts import assign
from slurmhooks.rules import catalogue, source
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import listed
from slurmhooks.slurmctld.table import Table
from slurmhooks.testing import FakeJob, FakeRecord, run
from tests.unit.rules.conftest import Rules

CEILING = '[[rule]]\nrule = "time_ceiling"\nlimit = "1:00:00"\n'
TOO_LONG: dict[str, Any] = {"time_limit": 61, "partition": "debug"}


def test_rules_are_handlers(rules: Rules) -> None:
    """Each rule is a handler of its hooks, with a label, an order and the line that switches it on."""
    made = rules(f'{CEILING}name = "first"\norder = 7\n\n[[rule]]\nrule = "require_time"\n')
    assert [(it.spec.name, it.label, it.order, it.line) for it in made.all_handlers()] == [
        ("job_submit", "rule:first", 7, 1),
        ("job_submit", "rule:require_time", 50, 7),
        ("job_modify", "rule:first", 7, 1),
        ("job_modify", "rule:require_time", 50, 7),
    ]


ODD_HEADINGS = {
    '[[rule]]\nrule = "require_time"\nmessage = """a\n[[rule]]\n""""\n[["rule"]]#\nrule = "require_qos"\n': [1, 6],
    "# \"\"\"\n[['rule']]\nrule = 'require_time'\nmessage = '''\n[[rule]]'''\n[[rule]]\nrule='require_qos'\n": [2, 6],
    '# [[rule]]\nrule = [{ rule = "require_time" }, { rule = "forbid_nodelist" }]\n': [1, 1],
}  # fmt: skip


@pytest.mark.parametrize("text", ODD_HEADINGS)
def test_the_line_of_a_rule(rules: Rules, text: str) -> None:
    """Messages about a rule name the line of its heading, however the file is written."""
    made = rules(text).all_handlers()
    assert [it.line for it in made if it.spec.name == "job_submit"] == ODD_HEADINGS[text]


def test_no_rules_no_handlers(rules: Rules) -> None:
    """A configuration without rules has no handlers, and a rule that ignores updates has none for job_modify."""
    assert rules("[hooks]\n").all_handlers() == []
    assert [it.spec.name for it in rules(f'{CEILING}updates = "ignore"\n').all_handlers()] == ["job_submit"]


@pytest.mark.parametrize(
    ("chosen", "job", "concerned"),
    [
        ('partitions = ["deb*"]', {}, True),
        ('partitions = ["other"]', {}, False),
        ('partitions = ["other"]', {"partition": "debug,other"}, True),
        ('partitions = ["fast"]', {"partition": None}, True),
        ('except_partitions = ["debug"]', {}, False),
        ('except_partitions = ["debug"]', {"partition": "debug,other"}, True),
        ('except_partitions = ["fast"]', {"partition": None}, False),
        ('qos = ["long"]', {"qos": "long"}, True),
        ('qos = ["long"]', {}, False),
        ('qos = ["long"]', {"default_qos": "long"}, True),
        ('except_qos = ["long"]', {"qos": "long"}, False),
        ('accounts = ["phys*"]', {"account": "physics"}, True),
        ('accounts = ["phys*"]', {"default_account": "physics"}, True),
        ('accounts = ["phys*"]', {"account": "maths", "default_account": "physics"}, False),
        ('accounts = ["phys*"]', {"account": "PHYSICS"}, True),
        ('qos = ["Long"]', {"qos": "lONG"}, True),
        ('except_accounts = ["physics"]', {"account": "physics"}, False),
        ('users = ["alice"]', {"user_name": "alice"}, True),
        ('users = ["alice"]', {"user_name": "bob"}, False),
        ('users = ["alice"]', {}, True),  # nobody knows who it is
        ('except_users = ["alice"]', {"user_name": "alice"}, False),
        ('except_users = ["alice"]', {}, True),
        ('groups = ["staff"]', {"groups": {"staff": 7, "users": 1}}, True),
        ('groups = ["staff"]', {"groups": {"users": 1}}, False),
        ('except_groups = ["staff"]', {"groups": {"staff": 7}}, False),
        ('except_groups = ["staff"]', {"groups": {}}, True),
        ('users = ["alice"]\naccounts = ["maths"]', {"user_name": "alice", "account": "physics"}, False),
    ],
)
def test_for_whom_it_counts(rules: Rules, chosen: str, job: dict[str, Any], concerned: bool) -> None:
    """A rule applies to jobs that match all of its conditions and none of its exemptions."""
    partitions = {"fast": {"flag_default": True}, "debug": {}}
    result = run(rules(CEILING + chosen), "job_submit", job=FakeJob(**{**TOO_LONG, **job}), partitions=partitions)
    assert result.accepted == (not concerned), result


def test_the_default_partition_can_be_named(rules: Rules) -> None:
    """With default_partition, slurmctld is not asked for its partitions."""
    made = rules(f'[rules.defaults]\ndefault_partition = "debug"\n{CEILING}partitions = ["debug"]\n')
    assert made.wanted("job_submit") == {"job", "submit_uid"}
    assert not run(made, "job_submit", job=FakeJob(time_limit=61)).accepted
    assert run(made, "job_submit", job=FakeJob(time_limit=61, partition="other")).accepted


@pytest.mark.parametrize("keys", ['rule = "memory_ceiling"\nper_node = "1G"', 'rule = "cpu_count"\nmost = 1'])
def test_nothing_in_an_update_is_no_change(rules: Rules, keys: str) -> None:
    """A rule that refuses updates lets one pass in which scontrol sends 0 for what it does not change."""
    made = rules(f'[[rule]]\n{keys}\nupdates = "refuse"\n')
    nothing = dict.fromkeys(("begin_time", "end_time", "deadline", "segment_size"), 0)
    job = FakeJob(comment="mine", **nothing)  # type: ignore[arg-type] # the fields have several types
    assert run(made, "job_modify", job=job).accepted


@pytest.mark.parametrize(("text", "accepted"), [("", True), ("except_admins = false", False)])
@pytest.mark.parametrize("modify", [False, True])
def test_admins_are_exempt(rules: Rules, text: str, accepted: bool, modify: bool) -> None:
    """Submissions and updates by root pass, unless a rule says otherwise."""
    made, job = rules(CEILING + text), FakeJob(**TOO_LONG)
    if modify:
        assert run(made, "job_modify", job=job, modify_uid=0).accepted == accepted
    else:
        assert run(made, "job_submit", job=job, submit_uid=0).accepted == accepted


@pytest.mark.parametrize(
    ("text", "update", "record", "accepted"),
    [
        ("", {"time_limit": 61}, {}, False),
        ("", {"time_limit": 60}, {}, True),
        ("", {"comment": "x"}, {"time_limit": 100}, True),
        ('partitions = ["debug"]', {"time_limit": 61}, {"partition": "other"}, True),
        ('partitions = ["debug"]', {"time_limit": 61}, {"partition": "debug"}, False),
        ('partitions = ["debug"]', {"partition": "debug"}, {"partition": "other", "time_limit": 61}, False),
        ('partitions = ["debug"]', {"partition": "debug"}, {"partition": "other", "time_limit": 60}, True),
        ('qos = ["short"]', {"qos": "short"}, {"qos": "long", "time_limit": 61}, False),
        ('except_accounts = ["physics"]', {"account": "maths"}, {"account": "physics", "time_limit": 61}, False),
        ('except_users = ["alice"]', {"time_limit": 61}, {}, True),
        ('updates = "refuse"', {"time_limit": 1}, {}, False),
        ('updates = "refuse"', {"comment": "x"}, {}, True),
        ('updates = "refuse"\nexcept_users = ["alice"]', {"time_limit": 1}, {}, True),
        ('updates = "ignore"', {"time_limit": 61}, {}, True),
    ],
)
def test_updates(rules: Rules, text: str, update: dict[str, Any], record: dict[str, Any], accepted: bool) -> None:
    """An update that sets a field of the rule is checked as the job that would result; others pass."""
    job = FakeJob(**update, user_name="alice")
    result = run(rules(CEILING + text), "job_modify", job=job, record=FakeRecord(**record))
    assert result.accepted == accepted, result


def test_refused_updates_need_no_record(rules: Rules) -> None:
    """With updates = "refuse", slurmctld need not send the job, which it cannot do in a build without its sources."""
    made = rules(f'{CEILING}updates = "refuse"\npartitions = ["debug"]\n')
    assert made.wanted("job_modify") == {"job", "modify_uid"}
    result = run(made, "job_modify", job=FakeJob(partition="debug", time_limit=5))
    assert (result.code, result.text) == (
        "ESLURM_ACCESS_DENIED",
        "only administrators may change TimeLimit and Partition of a job",
    )


def test_messages(rules: Rules) -> None:
    """A message has values of the rule and of the job, and the URL of a page, from the rule or from the defaults."""
    job = FakeJob(**TOO_LONG, user_name="alice", account="physics")
    defaults = '[rules.defaults]\nhelp_url = "https://a.example"\n'
    result = run(rules(defaults + CEILING), "job_submit", job=job)
    assert (
        result.text
        == "at most 01:00:00 in partition debug; the job would have 01:01:00 (--time)\nSee https://a.example"
    )
    text = 'message = "{user} of {account}, {qos}: {limit} {{!}}"\nhelp_url = "https://b.example"\n'
    result = run(rules(defaults + CEILING + text), "job_submit", job=job)
    assert result.text == "alice of physics, (default): 01:00:00 {!}\nSee https://b.example"


@pytest.mark.parametrize(
    "message", ["{nobody}", "{user.real}", "{limit!r}", "{limit:>10}", "{0}", "{", "{}", "{user[0]}"]
)
def test_placeholders_are_known(rules: Rules, message: str) -> None:
    """A placeholder that does not exist, or accesses an attribute of a value, is an error of the file."""
    with pytest.raises(LoadError, match=r"time_ceiling.*message"):
        rules(f'{CEILING}message = "{message}"\n')


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('[[rule]]\nrule = "time_cieling"', "rule: there is no 'time_cieling'; nearest: time_ceiling"),
        ("[[rule]]\nlimit = 5", "rule: missing"),
        ("[[rule]]\nrule = 5", "rule: there is no 5"),
        ('[[rule]]\nrule = "time_ceiling"', "limit: missing"),
        (CEILING + "mystery = 1", "(time_ceiling): mystery: unknown key"),
        (CEILING + 'name = "a b"', "(a b): name: must consist of letters"),
        (CEILING + 'users = "alice"', "users: must be a list of texts, as in [\"alice\"], not 'alice'"),
        (CEILING.replace('"1:00:00"', '"soon"'), "limit: not a time: 'soon'; write minutes, hours:"),
        (CEILING.replace('"1:00:00"', '"UNLIMITED"'), "limit: must be a time with an end"),
        (CEILING + 'help_url = "example.org"', "help_url: must be a URL"),
        (CEILING + CEILING, "two rules have the name time_ceiling"),
        ('[[rule]]\nrule = "guard_updates"\nchanges = ["nicer"]', "changes: job has no field 'nicer' to change"),
        ('[[rule]]\nrule = "guard_updates"\nchanges = ["array_inx"]', "changes: array_inx cannot be guarded"),
        *(
            (f"[[rule]]\nrule = 'script_content'\nforbidden = ['{wrong}']", "is not a regular expression")
            for wrong in ("(", "a{9999999999999}", "(" * 3000 + ")" * 3000)
        ),
    ],
)
def test_errors_name_the_rule(rules: Rules, text: str, finding: str) -> None:
    """Every error names the file, the rule and the key; it is an error of the load, like those of hook files."""
    with pytest.raises(LoadError) as caught:
        rules(text)
    assert finding in "\n".join(caught.value.findings)
    assert all("slurmhooks.toml: rule" in line for line in caught.value.findings)
    assert all(line.count("'soon'") < 2 for line in caught.value.findings)


@pytest.mark.parametrize("kind", [kind for kind in catalogue.RULES.values() if kind.needs])
def test_a_rule_needs_one_of_its_keys(rules: Rules, kind: type[Rule]) -> None:
    """A rule that would do nothing is refused, and the finding names the keys of which the site must set one."""
    field = 'field = "nice"\n' if "field" in kind.keys else ""
    with pytest.raises(LoadError, match=f"needs {listed(kind.needs)}"):
        rules(f'[[rule]]\nrule = "{kind.keys["rule"].default}"\n{field}')


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    """A file with several wrong rules has a finding for each."""
    path = tmp_path / "slurmhooks.toml"
    path.write_text('[[rule]]\nrule = "x"\n[[rule]]\nrule = "y"\n' + CEILING + "order = true\n")
    with pytest.raises(ConfigError) as caught:
        catalogue.of_config(path, config.read(path))
    assert len(caught.value.findings) == 3


def test_defaults_are_added(rules: Rules) -> None:
    """Users who are exempt by default are also exempt from rules with their own exemptions."""
    made = rules(f'[rules.defaults]\nexcept_users = ["alice"]\n{CEILING}except_users = ["bob"]\n')
    for name, accepted in (("alice", True), ("bob", True), ("carol", False)):
        assert run(made, "job_submit", job=FakeJob(**TOO_LONG, user_name=name)).accepted == accepted


@pytest.mark.parametrize("mode", ["warn", "observe", "off"])
def test_modes(rules: Rules, mode: str) -> None:
    """A rule can have the modes of all handlers: warn, observe and off refuse nothing, and only warn tells the user."""
    registry = rules(f'{CEILING}mode = "{mode}"\n')
    assert [str(handler.rollout) for handler in registry.all_handlers()] == [mode, mode]
    result = run(registry, "job_submit", job=FakeJob(**TOO_LONG))
    assert result.accepted
    assert bool(result.user_messages or result.text) == (mode == "warn")
    assert [it.code for it in result.observed] == ["ESLURM_INVALID_TIME_LIMIT"] * (mode != "off")


def test_a_mode_of_the_site_replaces_that_of_the_rule(tmp_path: Path) -> None:
    """[rules.modes."rule:NAME"] sets the share of requests to which a rule applies."""
    path = tmp_path / "slurmhooks.toml"
    path.write_text(f'{CEILING}mode = "off"\n[rules.modes."rule:time_ceiling"]\nusers = ["alice"]\notherwise = "off"\n')
    read = config.read(path)
    registry = loader.load(source.sources(read, path))
    assert assign(read.rollouts(), registry.all_handlers()) == []
    for name, accepted in (("alice", False), ("bob", True)):
        assert run(registry, "job_submit", job=FakeJob(**TOO_LONG, user_name=name)).accepted == accepted


@pytest.mark.parametrize(
    ("keys", "finding"),
    [
        ("", 'needs record; set updates = "refuse" or "ignore", or build with the sources'),
        ('updates = "refuse"\n', None),
        ('updates = "ignore"\n', None),
        (
            'updates = "refuse"\npartitions = ["debug"]\n',
            'needs the default partition; set [rules.defaults] default_partition = "NAME", or build with the sources',
        ),
        ('updates = "refuse"\npartitions = ["debug"]\n[rules.defaults]\ndefault_partition = "debug"\n', None),
    ],
)
def test_a_build_without_sources(rules: Rules, monkeypatch: pytest.MonkeyPatch, keys: str, finding: str | None) -> None:
    """Where slurmctld cannot send jobs and partitions, rules that need them do not load, and say what to do."""
    monkeypatch.setattr(source, "installed", lambda: {"job": None})
    if finding is None:
        assert rules(CEILING + keys).all_handlers()
        return
    with pytest.raises(LoadError) as caught:
        rules(CEILING + keys)
    assert finding in "".join(caught.value.findings)
    assert "handler rule:time_ceiling" in "".join(caught.value.findings)


def test_slow_questions_are_asked_once(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's groups and the default partition are looked up once per request, however many rules need them."""
    asked = []
    where = Table.where

    def count(table: Table[Any, Any], **fields: Any) -> Any:
        asked.append(fields)
        return where(table, **fields)

    monkeypatch.setattr(Table, "where", count)
    keys = 'partitions = ["fast"]\nexcept_groups = ["staff"]\n'
    made = rules("".join(f'{CEILING}name = "r{number}"\n{keys}' for number in range(3)))
    for groups, accepted in (({"users": 1}, False), ({"staff": 1}, True), ({"users": 1}, False)):
        job = FakeJob(time_limit=61, groups=groups)
        result = run(made, "job_submit", job=job, partitions={"fast": {"flag_default": True}})
        assert result.accepted == accepted
    assert asked == [{"flag_default": True}] * 3


FILLING = """
[[rule]]
rule = "default_time"
value = 120
[[rule]]
rule = "default_memory"
per_cpu = "2G"
[[rule]]
rule = "time_ceiling"
name = "lowers"
limit = 300
longer = "lower"
[[rule]]
rule = "choose_partition"
cases = [{ to = "long" }]
"""
LOW = '[[rule]]\nrule = "time_ceiling"\nlimit = 60\npartitions = ["long"]\n'


@pytest.mark.parametrize(
    ("job", "rule", "text"),
    [
        (
            {},
            LOW,
            "at most 01:00:00 in partition long; the job would have 02:00:00 (--time)\n"
            "you gave no --time: 02:00:00 was filled in\nyou gave no --partition: long was filled in",
        ),
        (
            {"time_limit": 400, "partition": "long"},
            LOW + 'message = "no"\nhelp_url = "https://a.example"\n',
            "no\nyou gave --time 06:40:00: it was changed to 05:00:00\nSee https://a.example",
        ),
        ({"time_limit": 100, "partition": "long"}, LOW, "at most 01:00:00 in partition long; the job would have"),
        (
            {"time_limit": 1, "partition": "long"},
            '[[rule]]\nrule = "memory_ceiling"\nper_cpu = "1G"\n',
            "at most 1G of memory per CPU in partition long; the job would have 2G\n"
            "you gave no --mem-per-cpu: 2G was filled in",
        ),
    ],
)
def test_refusals_say_what_was_filled_in(rules: Rules, job: dict[str, Any], rule: str, text: str) -> None:
    """Whoever is refused for a value that another rule has filled in reads that, and not what other rules filled in.

    What rules say of the job that they make is for accepted jobs.
    """
    made = rules(FILLING + rule)
    result = run(made, "job_submit", job=FakeJob(**job))
    assert not result.accepted
    assert result.text is not None
    assert result.text == text if text.count("\n") else (result.text.startswith(text) and "\n" not in result.text)
    assert result.user_messages == []
    accepted = run(rules(FILLING), "job_submit", job=FakeJob(**job))
    assert accepted.accepted
    assert accepted.user_messages


def test_refusals_say_times_as_dates(tmp_path: Path) -> None:
    """What a hook file has made of --begin is said as a date; 0 stands for a job without it."""
    begin = int(datetime(2040, 5, 1, 8, 30).timestamp())
    path, hooks = tmp_path / "slurmhooks.toml", tmp_path / "a.py"
    hooks.write_text(
        f"from slurmhooks import hook\n@hook.job_submit(order=1)\ndef later(job): job.begin_time = {begin}\n"
    )
    path.write_text(
        '[[rule]]\nrule = "maintenance"\nstart = 2040-05-02T08:00:00\nend = 2040-05-03T08:00:00\n'
        'jobs = "refuse"\nmessage = "no"\n'
    )
    made = loader.load([*source.sources(config.read(path), path), loader.Source(path=str(hooks))])
    changed: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "you gave no --begin: 2040-05-01 08:30 was filled in"),
        ({"begin_time": begin - 1800}, "you gave --begin 2040-05-01 08:00: it was changed to 2040-05-01 08:30"),
    )
    for own, text in changed:
        result = run(made, "job_submit", job=FakeJob(time_limit=2000, partition="long", **own))
        assert result.text == f"no\n{text}"
