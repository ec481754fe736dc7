# SPDX-License-Identifier: GPL-2.0-or-later
"""Map files: values by user, group or account."""

import csv
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.cli.bundles import contents
from slurmhooks.errors import LoadError
from slurmhooks.rules import maps
from slurmhooks.testing import FakeJob, run
from tests.unit.rules.conftest import Rules

RULE = '[[rule]]\nrule = "default"\nfield = "{}"\nby = "{}"\nmap = "{}"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv", "# of people\n\nuser,account\nalice, phys\nbob,bio\n"),
        ("m.csv", "alice,phys\nbob,bio"),
        ("m.toml", 'alice = "phys"\nbob = "bio"\n'),
        ("sub/m.csv", '\ufeff"alice","phys"\r\n'),
    ],
)
def test_a_file_has_values(rules: Rules, tmp_path: Path, name: str, text: str) -> None:
    """A CSV file, perhaps with a title, or a TOML file has the values; they are as if they stood in the rule."""
    (tmp_path / "sub").mkdir()
    (tmp_path / name).write_text(text)
    made = rules(RULE.format("account", "user", name))
    for user, account in (("alice", {"account": "phys"}), ("carol", {})):
        assert run(made, "job_submit", job=FakeJob(user_name=user), submit_uid=1000).changes == account


def test_values_have_the_type_of_the_field(rules: Rules, tmp_path: Path) -> None:
    """Numbers, times and names of Slurm are read as in slurmhooks.toml; accounts are compared in any case."""
    for field, text, expected in (
        ("nice", "7", 7),
        ("time_limit", "1:00:00", 60),
        ("requeue", "false", 0),
        ("open_mode", "OPEN_MODE_APPEND", 1),
    ):
        (tmp_path / "m.csv").write_text(f"Phys,{text}\n")
        made = rules(RULE.format(field, "account", "m.csv").replace("default", "set"))
        result = run(made, "job_submit", job=FakeJob(account="phys"), submit_uid=1000)
        assert result.changes == {field: expected}


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("m.csv", "alice\n", "m.csv, line 1: must have a name and a value"),
        ("m.csv", "alice,a\n\nalice,b\n", "m.csv, line 3: alice has a value already"),
        ("m.csv", "group,account\nx,a\n", 'm.csv: has values by group: write by = "group"'),
        ("m.csv", 'alice,"a\n', "m.csv, line 1: "),
        ("m.csv", 'bob,a\n"carol,c\nalice,a\ndave",b\n', "m.csv, line 2: a quote does not end on its line"),
        ("m.toml", "alice = ", "m.toml: "),
        ("m.toml", "alice = { a = 1 }", "map.alice: must be a text"),
        ("m.toml", "alice = 5", "account takes a str"),
        ("m.json", "{}", "must be a file .csv or .toml beside"),
        ("../m.csv", "", "must be a file .csv or .toml beside"),
        ("/etc/m.csv", None, "must be a file .csv or .toml beside"),
        ("none.csv", None, "No such file"),
        ("m.csv", "", "needs value, cases or map"),
    ],
)
def test_a_wrong_file(rules: Rules, tmp_path: Path, name: str, text: str | None, finding: str) -> None:
    """A file that is missing or wrong is an error of the load that names rule, file and line."""
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(LoadError) as caught:
        rules(RULE.format("account", "user", name))
    assert finding in str(caught.value)
    assert "rule, number 1 (default): " in str(caught.value)


def test_an_account_that_is_there_twice(rules: Rules, tmp_path: Path) -> None:
    """Slurm does not distinguish the case of accounts, so one of two values would never count."""
    (tmp_path / "m.csv").write_text("Phys,a\nphys,b\n")
    with pytest.raises(LoadError, match="map has an account twice"):
        rules(RULE.format("comment", "account", "m.csv"))


WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)


@given(values=st.dictionaries(WORDS.map(str.strip).filter(lambda name: name and name[0] != "#"),
                              WORDS.map(str.strip).filter(bool), max_size=4))  # fmt: skip
def test_any_names_and_values(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    """What Python's csv module writes is what a rule gets, whatever names and values have in them."""
    folder = tmp_path_factory.mktemp("maps")
    with open(folder / "m.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("user", "account"), *values.items()])
    table = maps.filled(folder, tomllib.loads('field = "account"\nmap = "m.csv"'))
    assert table["map"] == values


def test_a_set_has_the_file(tmp_path: Path) -> None:
    """A map file is a part of the set, so no change of it is in force before a deployment."""
    (tmp_path / "slurmhooks.toml").write_text(RULE.format("account", "user", "m.csv"))
    (tmp_path / "m.csv").write_text("alice,a\n")
    files, _ = contents.collect(tmp_path)
    assert set(files) >= {"slurmhooks.toml", "m.csv"}
