# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on any field: names and values are those of the reference, and older names of rules are lines of them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from slurmhooks.config import model as config
from slurmhooks.errors import LoadError
from slurmhooks.fields import JobFields
from slurmhooks.fields.constants import MailType
from slurmhooks.fields.number_rows import Switch
from slurmhooks.fields.rows import NEWEST, rows
from slurmhooks.rules import catalogue, checking, lines, typed
from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.choices import Choice
from slurmhooks.rules.conditions import Place
from slurmhooks.rules.exemptions import Exemption
from slurmhooks.rules.lines import LINES
from slurmhooks.rules.request import Request, Site
from slurmhooks.rules.table import Table
from slurmhooks.testing import FakeJob, FakeRecord, run
from tests.unit.rules.conftest import Rules


@pytest.mark.parametrize(
    ("rule", "keys", "finding"),
    [
        ("set", 'field = "comment"\nvalue = 5', "(set): comment takes a str, not 5"),
        ("set", 'field = "comments"\nvalue = "x"', "job has no field 'comments'; nearest: comment"),
        ("set", 'field = "user_id"\nvalue = 5', "field user_id of job cannot be written"),
        ("set", 'field = "script"\nvalue = "x"', "field script of job may hold a password"),
        ("forbid", 'field = "submit_line"', "field submit_line of job may hold a password"),
        ("set", 'field = "mail_type"\nvalue = "END"', "mail_type has no value 'END'"),
        ("set", 'field = "mail_type"\nvalue = ["MAIL_JOB_ENDS"]', "'MAIL_JOB_ENDS'; nearest: MAIL_JOB_END"),
        ("set", 'field = "nice"\nvalue = 4294967296', "nice takes -2147483645 to 2147483645"),
        ("set", 'field = "time_limit"\nvalue = "soon"', "'soon'"),
        ("set", 'field = "min_mem_per_cpu"\nvalue = "4X"', "'4X'"),
        ("set", 'field = "requeue"\nvalue = "yes"', "requeue takes"),
        ("set", 'field = "nice"\ncases = [{ to = "x" }]', "nice takes"),
        ("set", 'field = "nice"\nmap = { alice = "x" }', "nice takes"),
        ("set", 'field = "comment"\nvalue = ""', "not empty"),
        ("set", 'field = "nice"\nvalue = 5\nseparator = ","', "separator is for texts, and nice is none"),
        ("default", 'field = "admin_comment"\nvalue = "x"\nupdates = "only"', "only operators may change"),
        ("default", 'field = "bitflags"\nvalue = "SPREAD_JOB"', "always has a value: write set"),
        ("require", 'field = "nice"\nallowed = ["x"]', "nice takes"),
        ("require", 'field = "qos"\nallowed = [5]', "qos takes texts"),
        ("require", 'field = "user_id"\nallowed = [5]', "user_id is compared with no values"),
        ("forbid", 'field = "groups"\nforbidden = ["x"]\nupdates = "ignore"', "groups takes no str"),
        ("require", 'field = "gpus"\nallowed = [5]', "gpus is an amount"),
        ("require", 'field = "x11"', 'of the job of an update: add updates = "ignore"'),
        ("forbid", 'field = "x11"\nupdates = "only"', 'of the job of an update: add updates = "refuse"'),
        ("limit", 'field = "nodes"\nmost = 1\nwhere = { open_mode = "OPEN_MODE_APPEND" }', "does not send open_mode"),
        ("limit", 'field = "nodes"\nmost = 1\nany = [{ where = { cpu_bind = "x" } }]', "does not send cpu_bind"),
        (
            "copy",
            'field = "comment"\nsource = "cpu_bind"',
            "does not send cpu_bind of the job of an update: add updates",
        ),
        ("set", 'field = "comment"\ncases = [{ to = "x", where = { cpu_bind = "x" } }]', "does not send cpu_bind"),
        ("require", 'field = "comment"\ndefault_counts = true', "account and qos"),
        ("forbid", "allowed = [5]", "need a field"),
        ("forbid", "", "it would refuse all jobs"),
        ("limit", 'field = "min_nodes"\nmost = 5', 'write field = "nodes"'),
        ("limit", 'field = "time_limit"\nmost = 5', 'write rule = "time_ceiling"'),
        ("limit", 'field = "time_limit"\nleast = 5', 'write rule = "forbid" with max_time'),
        ("limit", 'field = "comment"\nmost = 5', "is no number"),
        ("limit", 'field = "node"\nmost = 5', "nearest: nodes"),
        ("limit", 'field = "nice"\nmost = 5\nleast = 6', "least is more than most"),
        ("limit", 'field = "nodes"\nmost = "5"', "must be numbers"),
        ("set", 'field = "contiguous"\nvalue = 2', "contiguous takes 0 or 1, not 2"),
        ("set", 'field = "requeue"\nvalue = "UNLIMITED"', "requeue takes 0 or 1"),
        ("set", 'field = "admin_comment"\nvalue = "x"', 'add updates = "ignore"'),
        ("copy", 'field = "admin_comment"\nsource = "comment"', 'add updates = "ignore"'),
        ("copy", 'field = "nice"\nsource = "account"', "nice cannot have the values of account"),
        ("copy", 'field = "time_limit"\nsource = "nice"', "time_limit cannot have the values of nice"),
    ],
)
def test_names_and_values_are_typed(rules: Rules, rule: str, keys: str, finding: str) -> None:
    """A wrong name or value is an error that says so, and knows the nearest names."""
    with pytest.raises(LoadError) as caught:
        rules(f'[[rule]]\nrule = "{rule}"\n{keys}\n')
    assert finding in str(caught.value)


def usual(row: Any) -> tuple[str, Any]:
    """Return a value of a field, as TOML and as a job has it."""
    kind = getattr(row, "kind", None)
    if kind is not None:
        name = next(name for name, value in kind.__members__.items() if value)
        return f'"{name}"', kind[name]
    if row.holds_text:
        return '"x"', "x"
    if isinstance(row, Switch):
        return "true", 1
    return {"minutes": ('"1:00:00"', 60), "MiB": ('"4G"', 4096)}.get(row.unit, ("7", 7))


def test_every_field_can_be_set(tmp_path: Path) -> None:
    """`set` takes each writable field of the reference that holds no password, and a job has the value afterwards."""
    tried = 0
    for name, row in rows(JobFields).items():
        if row.member(NEWEST, row.members) is None or not row.writable or row.facts.get("secret") is not None:
            continue
        given, expected = usual(row)
        read = config.Config.model_validate(
            tomllib.loads(f'[[rule]]\nrule = "set"\nupdates = "ignore"\nfield = "{name}"\nvalue = {given}\n')
        )
        (rule,) = catalogue.of_config(tmp_path, read)
        job = FakeJob()
        rule.check(Request(job, 1000, Site()))
        value = getattr(job, name)
        assert value in (expected, "gres/x") or value & expected == expected, name
        tried += 1
    assert tried > 90


def test_each_rule_for_a_field_has_a_name_of_its_own(rules: Rules) -> None:
    """Several of one kind need no name if their fields differ."""
    text = "".join(f'[[rule]]\nrule = "default"\nfield = "{name}"\nvalue = "x"\n' for name in ("qos", "wckey"))
    assert [each.label for each in rules(text).handlers("job_submit")] == ["rule:default_qos", "rule:default_wckey"]


KEYS = {
    "default_account": 'value = "x"',
    "reserved_names": 'names = ["x"]',
    "reservation": "required = true",
    "require_features": 'one_of = ["x"]',
    "forbid_nodelist": 'exclude = "refuse"',
    **dict.fromkeys(("choose_partition", "choose_qos"), 'cases = [{ to = "x" }]\noverride = true'),
    **dict.fromkeys(("default_partition", "default_qos", "default_features"), 'value = "x"'),
    **dict.fromkeys(("node_count", "task_count", "cpu_count"), "most = 5"),
    "default_time": "value = 5",
}


@pytest.mark.parametrize("name", LINES)
def test_an_older_name_is_a_line(name: str) -> None:
    """Each older name says in a note what to write, which is a rule of now, and keeps the name for its label."""
    path = Path("slurmhooks.toml")
    read = config.Config.model_validate(tomllib.loads(f'[[rule]]\nrule = "{name}"\n{KEYS.get(name, "")}'))
    (rule,) = catalogue.of_config(path, read)
    assert rule.title == name
    (note,) = lines.notes(path, read.rule)
    assert f'{name} is an older name: write rule = "{LINES[name].keys["rule"]}", field = ' in note
    assert name not in catalogue.RULES


@pytest.mark.parametrize("keys", ['message = "QOS {chosen}"', 'updates = "refuse"'])
def test_the_order_of_keys_of_an_older_rule(keys: str) -> None:
    """It does not matter; that of choose_qos was no rule on updates."""
    for lines_of in ([keys, "override = true"], ["override = true", keys]):
        text = "\n".join(['[[rule]]\nrule = "choose_qos"\ncases = [{ to = "a" }]', *lines_of])
        (rule,) = catalogue.of_config(Path("f"), config.Config.model_validate(tomllib.loads(text)))
        assert rule.updates == "ignore"
        assert rule.message == ("QOS {chosen}" if "message" in keys else "")


def test_a_placeholder_of_an_older_rule(rules: Rules) -> None:
    """A message with one that has another name now says the same."""
    text = '[[rule]]\nrule = "require_features"\none_of = ["a", "b"]\nmessage = "name {features}"'
    assert "name a or b" in (run(rules(text), "job_submit", job=FakeJob()).text or "")


@pytest.mark.parametrize("name", ["reservation", "reserved_names", "require_features"])
def test_an_older_rule_without_its_keys(rules: Rules, name: str) -> None:
    """What was an error of an older rule stays one: without its keys it would forbid everything."""
    with pytest.raises(LoadError, match="needs"):
        rules(f'[[rule]]\nrule = "{name}"\n')


@pytest.mark.parametrize(
    ("name", "part"), [("dependency", "after:1"), *((name, "gpu:1") for name in sorted(typed.SHORT))]
)
def test_lists_that_slurmctld_refuses_are_not_read(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that are too long for slurmctld, which tells so after plugins have run, cost the rules nothing."""
    for reader in ("read_licenses", "TresList", "Dependencies"):
        monkeypatch.setattr(typed, reader, None)
    text = ",".join([part] * (20000 if name == "dependency" else 400))
    assert not typed.Pattern(name, ["x"]).meets(text)
    assert not typed.Pattern(name, ["x"]).allows(text)


def test_licenses_of_any_length_are_read() -> None:
    """slurmctld takes them from 24.11 on."""
    text = ",".join(["other:1"] * 400)
    secret = typed.Pattern("licenses", ["secret"])
    assert secret.meets(f"{text},secret:1")
    assert not secret.meets(text)
    assert typed.Pattern("licenses", ["other:*"]).allows(text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_number_is_finite(text: str) -> None:
    """What TOML has besides numbers is an error in each key of each rule, of exemptions and of conditions."""
    value = tomllib.loads(f"x = {text}")["x"]
    kinds: list[type[Table]] = [*RULES.values(), Exemption, Place, Choice]
    for kind in kinds:
        for key in kind.keys:
            with pytest.raises(ValidationError) as caught:
                checking.model_of(kind).model_validate({key: value})
            assert key in {error["loc"][0] for error in caught.value.errors()}, (kind, key)


@pytest.mark.parametrize(
    ("keys", "job", "told"),
    [
        ('field = "mail_type"\nvalue = "MAIL_JOB_END"', {"mail_type": MailType(0)}, []),
        ('field = "mail_type"\nvalue = "MAIL_JOB_END"', {"mail_type": MailType.MAIL_JOB_FAIL}, []),
        ('field = "comment"\nvalue = "x"', {"comment": ""}, []),
        ('field = "licenses"\nvalue = "x"', {"licenses": ","}, []),
        ('field = "std_in"\nvalue = "/x"', {"std_in": "/dev/null"}, []),
        ('field = "comment"\nvalue = "x"', {"comment": "y"}, ["--comment y was changed to x"]),
        ('field = "shared"\nvalue = "JOB_SHARED_NONE"', {"shared": 2},
         ["shared JOB_SHARED_USER was changed to JOB_SHARED_NONE"]),
    ],
)  # fmt: skip
def test_users_read_what_replaces_what_they_gave(rules: Rules, keys: str, job: dict[str, Any], told: list[str]) -> None:
    """`set` tells of a value that it replaces: not of what commands send for nothing, nor of flags, which stay."""
    registry = rules(f'[[rule]]\nrule = "set"\n{keys}\n')
    assert run(registry, "job_submit", job=FakeJob(**job)).user_messages == told


LISTS = 'field = ["req_nodes", "reservation", "name", "mail_user"]'
DENIED = "ESLURM_ACCESS_DENIED"


@pytest.mark.parametrize(
    ("keys", "job", "text", "code"),
    [
        (LISTS, {"mail_user": "x@a.example"}, "do not use --mail-user", DENIED),
        (LISTS, {"req_nodes": "n1"}, "do not name nodes with --nodelist", "ESLURM_INVALID_NODE_NAME"),
        (LISTS, {"reservation": "r"}, "do not use --reservation", DENIED),
        (f'{LISTS}\nforbidden = ["n2", "x"]', {"req_nodes": "n1,n2"}, "--nodelist n1,n2 is not allowed", DENIED),
        (f'{LISTS}\nforbidden = ["n2", "x"]', {"mail_user": "x"}, "--mail-user x is not allowed", DENIED),
        (f'{LISTS}\nforbidden = ["n2", "x"]', {"reservation": "x"}, "--reservation x is not allowed", DENIED),
        (f'{LISTS}\nforbidden = ["n2", "x"]', {"name": "x"},
         "the job name x is reserved: choose another one with --job-name", DENIED),
        (f'{LISTS}\nallowed = ["n2"]', {"req_nodes": "n1"}, "--nodelist n1 is not allowed: n2", DENIED),
        (f'{LISTS}\nallowed = ["n2"]', {"name": "y"}, "--job-name y is not allowed: n2", DENIED),
        (f'{LISTS}\nallowed = ["n2"]', {"reservation": "y"}, "name a reservation with --reservation: n2",
         "ESLURM_RESERVATION_INVALID"),
        (f'{LISTS}\nallowed = ["n*"]\nforbidden = ["n2"]', {"req_nodes": "n2"}, "--nodelist n2 is not allowed",
         DENIED),
    ],
)  # fmt: skip
def test_a_refusal_is_about_the_field_that_was_hit(
    rules: Rules, keys: str, job: dict[str, Any], text: str, code: str
) -> None:
    """Text and code of `forbid` with several fields fit the one that decides, and whether values are named."""
    result = run(rules(f'[[rule]]\nrule = "forbid"\n{keys}\n'), "job_submit", job=FakeJob(**job))
    assert (result.text, result.code) == (text, code)


@pytest.mark.parametrize(
    ("keys", "effect"),
    [
        ('field = ["req_nodes", "exc_nodes"]', "Do not use `--nodelist` or `--exclude`."),
        ('field = ["req_nodes", "mail_user"]', "Do not use `--nodelist` or `--mail-user`."),
        ('field = "req_nodes"\nforbidden = ["n2"]', "Do not use `--nodelist` with `n2`."),
        ('field = "name"\nforbidden = ["x"]', "These job names are reserved: `x`."),
        ('field = "name"\nallowed = ["x*"]', "Use `--job-name` only with x*."),
        ('field = "reservation"', "Do not use `--reservation`."),
        ('field = "reservation"\nallowed = ["r"]', "Use no reservations but r."),
        ('field = "reservation"\nforbidden = ["r"]', "Do not use `--reservation` with `r`."),
        (
            'field = ["name", "comment"]\nforbidden = ["x"]\nallowed = ["x*"]',
            "Do not use `--job-name` or `--comment` with `x`. Use `--job-name` or `--comment` only with x*.",
        ),
    ],
)
def test_the_effect_of_forbid_is_about_its_fields(keys: str, effect: str) -> None:
    """What the page for users says of `forbid` names its fields and what it refuses."""
    read = config.Config.model_validate(tomllib.loads(f'[[rule]]\nrule = "forbid"\n{keys}\n'))
    (rule,) = catalogue.of_config(Path("f"), read)
    assert rule.effect() == effect


@pytest.mark.parametrize(("release", "changes"), [("24.11", False), ("25.05", True), ("26.05", True)])
def test_a_field_that_updates_change_since_a_release(rules: Rules, release: str, changes: bool) -> None:
    """A rule about the MCS label holds for updates of the releases whose slurmctld takes it there."""
    registry = rules('[[rule]]\nrule = "forbid"\nfield = "mcs_label"\nforbidden = ["secret"]')
    job, record = FakeJob(release=release, mcs_label="secret"), FakeRecord(release=release)
    assert run(registry, "job_modify", job=job, record=record, modify_uid=1000).accepted is not changes
