# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions: which jobs a rule is for, and what `check` finds about them."""

import time
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.config import model as config
from slurmhooks.errors import LoadError
from slurmhooks.fields.constants import JobFlag
from slurmhooks.rules import catalogue, conflicts
from slurmhooks.rules.conditions import Condition, Place
from slurmhooks.rules.request import Request, Site
from slurmhooks.testing import FakeJob
from slurmhooks.values import UNLIMITED
from tests.unit.rules.cases import Case, parameters
from tests.unit.rules.conftest import Rules

NO = "do not use --nice"
HELD = {"nice": 5, "partition": "a", "comment": "x"}
MET: list[tuple[str, dict[str, Any], bool]] = [
    ("interactive = true", {}, True),
    ("interactive = true", {"script": "#!/bin/sh"}, False),
    ("interactive = false", {"script": "#!/bin/sh"}, True),
    ("min_gpus = 2", {"tres_per_job": "gres/gpu:2"}, True),
    ("min_gpus = 2", {"tres_per_job": "gres/gpu:1"}, False),
    ("min_nodes = 2", {"min_nodes": 1, "max_nodes": 4}, True),
    ("max_nodes = 2", {"min_nodes": 1, "max_nodes": 4}, True),
    ("max_nodes = 2", {"min_nodes": 3, "max_nodes": 4}, False),
    ('min_time = "1:00:00"', {"time_limit": 59}, False),
    ('min_time = "1:00:00"', {"time_limit": 60}, True),
    ('max_time = "1:00:00"', {"time_limit": 61, "time_min": 60}, True),
    ('max_time = "1:00:00"', {"time_limit": 62, "time_min": 61}, False),
    ('unless = [{ min_time = "1:00:00" }]', {"time_limit": 60, "time_min": 59}, True),
    ('unless = [{ min_time = "1:00:00" }]', {"time_limit": 61, "time_min": 60}, False),
    ('min_time = "1:00:00"', {"time_limit": 0}, False),
    ("where = { time_limit = [] }", {"time_limit": 0}, False),
    ("where = { contiguous = [] }", {"contiguous": 0}, True),
    ("where = { contiguous = false }", {"contiguous": 0}, True),
    ("where = { time_limit = 0 }", {"time_limit": 0}, True),
    ('features = ["gpu*"]', {"features": "ib&[gpu1*2|x]"}, True),
    ('features = ["gpu*"]', {"features": "x"}, False),
    ('features = ["gpu*"]', {}, False),
    ('reservations = ["course*"]', {"reservation": "a,course1"}, True),
    ('reservations = ["course*"]', {}, False),
    ('where = { comment = "run*" }', {"comment": "run1"}, True),
    ('where = { comment = ["a", "run*"] }', {"comment": "x"}, False),
    ('where = { comment = "*" }', {}, False),
    ("where = { comment = [] }", {}, True),
    ("where = { comment = [] }", {"comment": "x"}, False),
    ('where = { comment = "x", wckey = "y" }', {"comment": "x"}, False),
    ("where = { requeue = false }", {"requeue": 0}, True),
    ('where = { time_limit = ["UNLIMITED", "1:00:00"] }', {"time_limit": 60}, True),
    ('any = [{ qos = ["a"] }, { min_nodes = 3 }]', {"qos": "a"}, True),
    ('any = [{ qos = ["a"] }, { min_nodes = 3 }]', {"min_nodes": 3}, True),
    ('any = [{ qos = ["a"] }, { min_nodes = 3 }]', {"qos": "b", "min_nodes": 2}, False),
    ('any = [{ qos = ["a"], min_nodes = 3 }]', {"qos": "a", "min_nodes": 2}, False),
    ('any = [{ groups = ["g"] }]', {"groups": {"g": 1}}, True),
    ('any = [{ accounts = ["Phys*"], qos = ["Low"] }]', {"account": "physics", "qos": "LOW"}, True),
    ('unless = [{ where = { comment = "x" } }]', {"comment": "x"}, False),
    ('unless = [{ where = { comment = "x" } }]', {"comment": "y"}, True),
    ('unless = [{ partitions = ["a"] }]', {"partition": "a"}, False),
    ('unless = [{ partitions = ["a"] }]', {"partition": "a,b"}, True),
    ("unless = [{ min_nodes = 2 }]", {"min_nodes": 1, "max_nodes": 4}, True),
    ("unless = [{ max_nodes = 1 }]", {"min_nodes": 1, "max_nodes": 4}, True),
    ("unless = [{ max_nodes = 1 }]", {"min_nodes": 1, "max_nodes": 1}, False),
    ('unless = [{ reservations = ["a"] }]', {"reservation": "a"}, False),
    ('unless = [{ reservations = ["a"] }]', {"reservation": "a,b"}, True),
    ('unless = [{ where = { partition = "a" } }]', {"partition": "a,b"}, True),
    ('unless = [{ features = ["a"] }]', {"features": "a&b"}, False),
    ('unless = [{ features = ["a"] }]', {"features": "a|b"}, True),
    ('unless = [{ features = ["a"] }]', {"features": "a", "prefer": "b"}, True),
    ('unless = [{ where = { mail_type = "MAIL_JOB_END" } }]', {"mail_type": 6}, False),
    ("where = { mail_type = [] }", {"mail_type": 0}, True),
    ("where = { bitflags = [] }", {}, True),
    ("where = { qos = [] }", {"qos": ","}, True),
    ('where = { mail_type = [["MAIL_JOB_END", "MAIL_JOB_FAIL"]] }', {"mail_type": 14}, True),
    ('where = { mail_type = [["MAIL_JOB_END", "MAIL_JOB_FAIL"]] }', {"mail_type": 2}, False),
    ('where = { default_account = "Phys" }\nupdates = "ignore"', {"default_account": "phys"}, True),
    ("unless = [{ min_nodes = 2 }]", {"min_nodes": 2}, False),
    ("since = 2001-01-01", {}, True),
    ("since = 2101-01-01", {}, False),
    ("until = 2001-01-01", {}, False),
    ("until = 2101-01-01T00:00:00", {}, True),
    ('updates = "only"', {}, False),
]
"""Conditions, a job, and whether it meets them."""
OTHERS = "".join(
    f'[[rule]]\nname = "{number}"\nrule = "forbid"\nfield = "nice"\n{keys}\n'
    for number, keys in enumerate((
        'any = [{ features = ["nosuch"] }]', 'where = { comment = "nosuch" }', 'partitions = ["nosuch"]',
        'accounts = ["nosuch"]', 'features = ["nosuch"]',
    ))
)  # fmt: skip
"""Rules that are for no job of these tests."""
FORBID = {
    "forbid": [
        Case(f'field = "nice"\n{keys}', {"nice": 5, **fields}, NO if met else None) for keys, fields, met in MET
    ],
    "set": [
        Case('field = "comment"\nvalue = "x"\nmin_nodes = 2', {"min_nodes": 1, "max_nodes": 4}),
        Case('field = "comment"\nvalue = "x"\nmin_nodes = 2', {"min_nodes": 2}, changes={"comment": "x"}),
        Case('field = "comment"\nvalue = "x"\nmin_time = 60', {"time_limit": 90, "time_min": 30}),
        Case('field = "comment"\nvalue = "x"\nmax_time = 60', {"time_limit": 0}, changes={"comment": "x"}),
        Case('field = "comment"\nvalue = "x"\ninteractive = true', {}, changes={"comment": "x"}),
    ],
}
UPDATES = {
    "forbid": [
        Case('field = "nice"\nfeatures = ["gpu"]', {"features": "gpu"}, "do not use Nice", record=HELD),
        Case('field = "nice"\nfeatures = ["gpu"]', {"features": "x"}, record=HELD),
        Case('field = "nice"\nfeatures = ["gpu"]', {"comment": "x"}, record={**HELD, "features": "gpu"}),
        Case('field = "nice"\nwhere = { comment = "y" }', {"comment": "y"}, "do not use Nice", record=HELD),
        Case('field = "nice"\nunless = [{ where = { comment = "x" } }]', {"comment": "y"}, "not use", record=HELD),
        Case('field = "nice"\nunless = [{ where = { comment = "x" } }]', {"nice": 7}, record=HELD),
        Case('field = "nice"\nany = [{ partitions = ["b"] }]', {"partition": "b"}, "do not use Nice", record=HELD),
        Case('field = "nice"\nmin_nodes = 2', {"min_nodes": 3}, "do not use Nice", record={**HELD, "min_nodes": 1}),
        Case('field = "nice"\nupdates = "only"', {"nice": 7}, "do not use Nice", record=HELD),
        Case('field = "nice"\nwhere = { partition = "a" }', {"reservation": "r,s"}, "do not use Nice", record=HELD),
        Case('field = "nice"\nwhere = { bitflags = "SPREAD_JOB" }', {"nice": 7}, "do not use Nice",
             record={**HELD, "bitflags": JobFlag.SPREAD_JOB}),
        Case('field = "nice"\nunless = [{ where = { bitflags = "SPREAD_JOB" } }]',
             {"nice": 7, "bitflags": JobFlag.SPREAD_JOB}, "do not use Nice", record=HELD),
        Case('field = "nice"\nupdates = "refuse"\nsince = 2101-01-01', {"nice": 7}, record=HELD),
    ],
    "set": [
        Case('field = "bitflags"\nvalue = "SPREAD_JOB"\nwhere = { comment = "y" }', {"comment": "y"},
             "no update changes bitflags to SPREAD_JOB: submit a new job", record=HELD),
        Case('field = "time_limit"\nvalue = 20\npartitions = ["b"]', {"partition": "b"},
             "TimeLimit cannot be 00:20:00 beside this TimeMin", record={**HELD, "time_limit": 60, "time_min": 30}),
        Case('field = "max_nodes"\nvalue = 1\npartitions = ["b"]', {"partition": "b"},
             "max_nodes cannot be 1 beside this NumNodes", record={**HELD, "min_nodes": 2, "max_nodes": 2}),
        Case('field = "time_min"\nvalue = 20\npartitions = ["b"]', {"partition": "b"},
             "TimeMin cannot be 00:20:00 beside this TimeLimit", record={**HELD, "time_limit": 10}),
        Case('field = "time_min"\nvalue = 20\npartitions = ["b"]', {"partition": "b"}, changes={"time_min": 20},
             record={**HELD, "time_limit": UNLIMITED}),
        *(Case(f'field = "{field}"\nvalue = "5"\npartitions = ["b"]', {"partition": "b"},
               f"no update changes {field} to 5: submit a new job", record=HELD)
          for field in ("clusters", "cluster_features", "job_size_str")),
        Case('field = "clusters"\nvalue = "x,y"\npartitions = ["b"]', {"partition": "b"}, changes={"clusters": "x,y"},
             record={**HELD, "job_id": (1 << 26) + 7}),
    ],
    "guard_updates": [
        Case('changes = ["nice"]\nmin_nodes = 2', {"nice": 7, "min_nodes": 1}, "Nice", record={**HELD, "min_nodes": 3}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "case"), parameters(FORBID) + parameters(UPDATES))
def test_for_whom_a_rule_is(rules: Rules, rule: str, case: Case) -> None:
    """A rule is for the jobs that meet its conditions, also after an update that makes a job one of them.

    That rules before it are for other jobs means nothing for it.
    """
    case.show(rules(OTHERS + case.toml(rule)))


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ('rule = "forbid"\nfield = "nice"\nany = [{ groups = ["nosuch"] }]', "does not know all groups"),
        ('rule = "forbid"\nfield = "nice"\nany = [{ groups = ["nosuch"], qos = ["b"] }]', None),
        ('rule = "forbid"\nfield = "nice"\nany = [{ groups = ["nosuch"] }]\nexcept_users = ["alice"]', None),
        ('rule = "forbid"\nfield = "nice"\nunless = [{ groups = ["nosuch"] }]', NO),
        ('rule = "set"\nfield = "nice"\ncases = [{ to = 7, groups = ["nosuch"] }]', "does not know all groups"),
        ('rule = "set"\nfield = "nice"\nvalue = 7\nby = "group"\nmap = { nosuch = 1 }', "does not know all groups"),
        ('rule = "default"\nfield = "comment"\nvalue = "x"\nby = "group"\nmap = { nosuch = "y" }', "does not know all"),
        ('rule = "default_account"\nvalue = "x"\nby_group = { nosuch = "y" }', "does not know all groups"),
    ],
)
def test_groups_that_are_not_known(rules: Rules, rule: str, refused: str | None) -> None:
    """If the name service does not say who is in a group of a condition, the request is refused."""
    job = {"nice": 5, "partition": "a", "qos": "a", "user_name": "alice", "groups": {"7001": 7001}}
    Case("", job, refused).show(rules(f"[[rule]]\n{rule}\n"))


@pytest.mark.parametrize(
    "rule",
    [
        'rule = "forbid"\nfield = "nice"\nusers = ["alice"]',
        'rule = "forbid"\nfield = "nice"\nany = [{ users = ["alice"] }]',
        'rule = "set"\nfield = "nice"\nvalue = 7\nmap = { alice = 1 }',
        'rule = "set"\nfield = "nice"\ncases = [{ to = 7, users = ["alice"] }]',
    ],
)
def test_a_user_who_is_not_known(rules: Rules, rule: str) -> None:
    """If the name service does not say whose job it is, a rule that depends on it does not guess."""
    Case("", {"nice": 5}, "does not know the user").show(rules(f"[[rule]]\n{rule}\n"))


def test_the_first_group_of_a_map_that_is_known(rules: Rules) -> None:
    """A group of the user decides if all groups before it are known: another one could be the user's, too."""
    job = {"user_name": "alice", "groups": {"own": 5, "7001": 7001}}
    cases = {"own = 7, nosuch = 1": None, "root = 1, own = 7": None, "nosuch = 1, own = 7": "does not know all groups"}
    for names, refused in cases.items():
        made = rules(f'[[rule]]\nrule = "set"\nfield = "nice"\nby = "group"\nmap = {{ {names} }}\n')
        Case("", job, refused, {"nice": 7}).show(made)


def test_a_rule_that_fills_in_decides_for_no_other(rules: Rules) -> None:
    """A job that may meet a condition, and need not, gets no value, but is refused by a rule with this condition."""
    made = rules(
        '[[rule]]\nrule = "default"\nfield = "comment"\nvalue = "x"\nmin_nodes = 3\n'
        '[[rule]]\nrule = "forbid"\nfield = "nice"\nmin_nodes = 3\n'
    )
    Case("", {"nice": 5, "partition": "a", "min_nodes": 1, "max_nodes": 4}, NO).show(made)


@pytest.mark.parametrize(
    ("keys", "finding"),
    [
        ('where = { coment = "x" }', "where.coment"),
        ("where = { comment = 5 }", "comment takes texts"),
        ('where = { requeue = "x" }', "requeue takes"),
        ('where = { script = "x" }', "may hold a password"),
        ('hours = "22-6"', 'must be a time of day, as in "22:00-06:00"'),
        ('hours = "06:00-06:00"', "must be a time of day"),
        ('days = ["Monday"]', "days"),
        ("any = [{ min_node = 5 }]", "any.0.min_node: unknown key"),
        ("unless = [{ any = [] }]", "unknown key"),
    ],
)
def test_wrong_conditions(rules: Rules, keys: str, finding: str) -> None:
    """A wrong condition is an error that names it."""
    with pytest.raises(LoadError) as caught:
        rules(f'[[rule]]\nrule = "forbid"\nfield = "nice"\n{keys}\n')
    assert finding in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "met"),
    [
        ({"hours": "22:00-06:00"}, {"2027-01-31 22:00", "2027-02-01 05:59"}),
        ({"hours": "06:00-22:00"}, {"2027-01-31 21:59", "2027-02-01 06:00"}),
        ({"days": ("Sun",)}, {"2027-01-31 21:59", "2027-01-31 22:00"}),
        ({"since": date(2027, 2, 1)}, {"2027-02-01 05:59", "2027-02-01 06:00"}),
        ({"until": date(2027, 1, 31)}, {"2027-01-31 21:59", "2027-01-31 22:00"}),
    ],
)
def test_times(monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any], met: set[str]) -> None:
    """Times and dates are those of slurmctld's zone; the last day is included, a night passes midnight."""
    moments = ("2027-01-31 21:59", "2027-01-31 22:00", "2027-02-01 05:59", "2027-02-01 06:00")
    now = {text: time.mktime(time.strptime(text, "%Y-%m-%d %H:%M")) for text in moments}
    condition = Condition(**keys)
    found = set()
    for text, moment in now.items():
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        if condition.is_now():
            found.add(text)
    assert found == met


def notes(text: str) -> list[str]:
    """Return what check notes about rules."""
    path = Path("f")
    return list(conflicts.notes(path, catalogue.of_config(path, config.Config.model_validate(tomllib.loads(text)))))


SET = '[[rule]]\nrule = "set"\nfield = "comment"\nvalue = "x"\n'
OTHER = f'{SET}name = "other"\n'


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (f"{SET}min_nodes = 2\nmax_nodes = 1", "f: rule:set_comment: no job meets its conditions: min_nodes is more"),
        (f"{SET}since = 2027-01-02\nuntil = 2027-01-01", "since is not before until"),
        (f"{SET}interactive = true\nany = [{{ interactive = false }}]", "any, number 1: no job meets it: interactive"),
        (f'{SET}accounts = ["a"]\nunless = [{{ accounts = ["b"] }}]', "unless, number 1: no job meets it: accounts"),
        (f"{SET}interactive = true\nunless = [{{ interactive = true }}]", "all of them meet unless, number 1"),
        (f'{SET}users = ["a"]\nexcept_users = ["a", "b"]', "except_users has all of users"),
        (f"{SET}where = {{ nice = 5 }}\nany = [{{ where = {{ nice = 6 }} }}]", "values of nice have none in common"),
        (f"{SET}cases = [{{ to = 'a' }}, {{ to = 'b' }}]", "cases, number 2: is never reached: number 1"),
        (f"{SET}cases = [{{ to = 'a', min_nodes = 2 }}, {{ to = 'b', min_nodes = 3 }}]", "cases, number 2: is never"),
        (SET + OTHER, "rule:set_comment and rule:other: both set comment for one job"),
        (SET + OTHER.replace('"set"', '"default"'), "the second one never sets comment"),
        (f'{SET}users = ["a"]\n{OTHER}users = ["a", "b"]', "both set comment"),
        (f'{SET}users = ["a"]\n{OTHER}users = ["b"]', ""),
        (f"{SET}interactive = true\n{OTHER}interactive = false", ""),
        (f"{SET}max_nodes = 1\n{OTHER}min_nodes = 2", ""),
        (f"{SET}cases = [{{ to = 'a', min_nodes = 3 }}, {{ to = 'b', min_nodes = 2 }}]", ""),
        (SET.replace('"set"', '"default"') + OTHER.replace('"set"', '"default"'), "the second one never sets comment"),
        (SET.replace('"set"', '"default"') + OTHER, ""),
        (f'{SET}mode = "off"\n{OTHER}', ""),
        (f'{SET}{OTHER}separator = ","', ""),
        (SET + OTHER.replace('"set"', '"default"') + 'updates = "only"', "the second one never sets comment"),
        (f'{SET}updates = "ignore"\n' + OTHER.replace('"set"', '"default"') + 'updates = "only"', ""),
    ],
)
def test_what_check_finds(text: str, note: str) -> None:
    """Conditions that nothing meets, a case that is never reached, and two rules that set one field."""
    found = notes(text)
    assert (len(found) == 1 and note in found[0]) if note else found == []


NAMES = st.lists(st.sampled_from(["a", "b", "a*", "*"]), max_size=2).map(tuple)
NUMBERS = st.one_of(st.none(), st.integers(0, 3))
PLACES = st.builds(
    Place,
    min_nodes=NUMBERS,
    max_nodes=NUMBERS,
    interactive=st.sampled_from([None, True, False]),
    features=NAMES,
    accounts=NAMES,
    users=NAMES,
    where=st.dictionaries(st.just("nice"), st.lists(st.integers(0, 2), max_size=2).map(tuple), max_size=1),
)
JOBS = st.fixed_dictionaries(
    {"user_name": st.sampled_from(["a", "b"])},
    optional={
        "min_nodes": st.integers(1, 4),
        "account": st.sampled_from(["a", "b"]),
        "features": st.sampled_from(["a", "ab", "b"]),
        "nice": st.integers(0, 2),
        "script": st.just("#!/bin/sh"),
    },
)


@given(first=PLACES, second=PLACES, fields=JOBS)
def test_what_is_found_is_so(first: Place, second: Place, fields: dict[str, Any]) -> None:
    """No job meets conditions that are said to contradict each other; one that covers another has all of its jobs."""
    met = []
    for each in (first, second):
        request = Request(FakeJob(**fields), 1000, Site())
        met.append(each.is_there(request, sure=False) and each.meets(request, sure=True))
    if conflicts.contradiction(first, second):
        assert not all(met)
    if conflicts.covers(first, second):
        assert met[0] or not met[1]
