# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that a site writes for its rules: `check --cases` tries them, and `deploy` puts nothing in force that fails."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slurmhooks import cli
from slurmhooks.cli import cases
from slurmhooks.cli.findings import Findings

RULES = """
[[rule]]
rule = "require"
field = "time_limit"
partitions = ["batch"]

[[rule]]
rule = "default"
field = "account"
map = { alice = "phys" }

[[rule]]
rule = "limit"
field = "nodes"
most = 4
except_groups = ["staff"]

[[rule]]
rule = "forbid"
field = "comment"
interactive = true
"""
HELD = 'record = { partition = "batch", min_nodes = 1 }'
GOOD = [
    'options = "-p batch"\noutcome = "refused"\nrule = "require_time_limit"\ntext = "name a time limit"',
    'options = "-p batch -t 10"\nuser = "alice"\noutcome = "accepted"\n'
    'changes = { account = "phys", time_limit = "10:00" }',
    'options = "-p batch -t 1 -N 8"\ngroups = ["staff"]\noutcome = "accepted"',
    'options = "-p batch -N 8 -t 1"\noutcome = "refused"\nrule = "rule:limit_nodes"',
    f'fields = {{ min_nodes = 8 }}\n{HELD}\noutcome = "refused"\ntext = "at most 4 nodes"',
    f'fields = {{ comment = "x" }}\n{HELD}\noutcome = "accepted"\nchanges = {{ comment = "x" }}',
    'options = "-p a --comment=x true"\ncommand = "srun"\noutcome = "refused"\nrule = "forbid_comment"',
    'options = "-p a --comment=x"\noutcome = "accepted"',
    'options = "-p batch"\nuser = "root"\noutcome = "accepted"',
    f'fields = {{ min_nodes = 8 }}\n{HELD}\nuser = "root"\noutcome = "accepted"',
]
BAD = {
    'options = "-p batch"\noutcome = "accepted"': "is refused, not accepted: name a time limit with --time",
    'options = "-p a"\noutcome = "refused"': "is accepted, not refused",
    'options = "-p batch"\noutcome = "refused"\nrule = "limit_nodes"': "is refused by rule:require_time_limit, not by",
    'options = "-p batch"\noutcome = "refused"\ntext = "nodes"': "the user does not read 'nodes', but 'name a time",
    'options = "-p a"\noutcome = "accepted"\nchanges = { account = "phys" }': "account is None afterwards, not 'phys'",
    'options = "-p batch --nosuch"\noutcome = "accepted"': "cannot be tried: ",
    'options = ""\noutcome = "accepted"': "asks for what slurmctld would choose: name default_partition in fields",
}


def check(folder: Path, *texts: str) -> Result:
    """Check rules with cases."""
    (folder / "slurmhooks.toml").write_text(RULES + "".join(f"[[rules.cases]]\n{text}\n" for text in texts))
    return CliRunner().invoke(cli.main, ["check", f"--hooks={folder}", "--cases"])


def test_what_is_as_expected(tmp_path: Path) -> None:
    """Submissions of each command and updates end as the site says."""
    done = check(tmp_path, *GOOD)
    assert done.exit_code == 0, done.stderr
    assert "rules.cases: 10 of 10 are as expected" in done.stdout


TIMED = """
[[rule]]
rule = "forbid"
field = "exc_nodes"
hours = "08:00-18:00"
days = ["Mon"]

[[rules.exemptions]]
rules = ["require_time_limit"]
users = ["bob"]
until = 2027-01-31
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ('at = 2027-02-01T08:00:00\noptions = "-p a -x n1"', "refused"),
        ('at = 2027-02-01T18:00:00\noptions = "-p a -x n1"', "accepted"),
        ('at = 2027-02-02T08:00:00\noptions = "-p a -x n1"', "accepted"),
        ('at = 2027-02-01T09:00:00\nfields = { exc_nodes = "n1" }\nrecord = { partition = "a" }', "refused"),
        ('at = 2027-01-31T23:59:59\noptions = "-p batch"\nuser = "bob"', "accepted"),
        ('at = 2027-02-01\noptions = "-p batch"\nuser = "bob"', "refused"),
    ],
)
def test_the_time_of_a_case(tmp_path: Path, case: str, outcome: str) -> None:
    """A case that names a time ends as it would then, by conditions and exemptions, and the next one as now."""
    now = 'options = "-p batch -t1"\noutcome = "accepted"\nchanges = { time_limit = "1" }'
    done = check(tmp_path, f'{case}\noutcome = "{outcome}"', f"{now}\n{TIMED}")
    assert done.exit_code == 0, done.stderr
    other = {"accepted": "refused", "refused": "accepted"}[outcome]
    done = check(tmp_path, f'{case}\noutcome = "{other}"', f"{now}\n{TIMED}")
    assert "rules.cases, number 1 (" in done.stderr
    assert f"is {outcome}, not {other}" in done.stderr


def test_what_is_not_as_expected(tmp_path: Path) -> None:
    """Each case that ends in another way is a finding that says how."""
    done = check(tmp_path, *GOOD, *BAD)
    assert done.exit_code == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == len(BAD)
    for number, (line, fault) in enumerate(zip(lines, BAD.values(), strict=True), 11):
        assert f"rules.cases, number {number} (" in line
        assert fault in line


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('options = "-p a"', "outcome: missing"),
        ('outcome = "ok"', "outcome: must be 'accepted' or 'refused'"),
        ('outcome = "accepted"\nrule = "x"', 'it needs outcome = "refused"'),
        ('outcome = "accepted"\nat = "2027-01-01"', "must be a date or a time without quotes"),
        ('outcome = "refused"\nchanges = { nice = 5 }', 'need outcome = "accepted"'),
        ('outcome = "accepted"\nchanges = { nice = "x" }', "nice takes"),
        ('outcome = "accepted"\nchanges = { nise = 5 }', "nearest: nice"),
        ('outcome = "accepted"\noptions = "\\"x"', "is no command line"),
        ('outcome = "accepted"\noptions = "-t1"\nrecord = {}', "an update has no options"),
    ],
)
def test_wrong_cases(tmp_path: Path, text: str, finding: str) -> None:
    """A case that says nothing that can be tried is an error, also without --cases."""
    done = check(tmp_path, text)
    assert done.exit_code == 1
    assert "rules.cases, number 1: " in done.stderr
    assert finding in done.stderr


def test_without_cases(tmp_path: Path) -> None:
    """Who asks for cases and has none is told so."""
    done = check(tmp_path)
    assert done.exit_code == 1
    assert "rules.cases: there are none" in done.stderr


def test_without_the_workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can try cases, `check --cases` fails, and `deploy` says that it did not."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = check(tmp_path, *BAD)
    assert done.exit_code == 1
    missing = "rules.cases: 7 were not tried: the package slurmhooks-workshop is not installed"
    assert missing in done.stderr
    findings, (note,) = cases.tried(tmp_path / "slurmhooks.toml")
    assert not findings
    assert missing in note


@pytest.mark.parametrize("body", ["open({!r}, 'w')", "import nosuch"])
def test_hook_files_are_not_loaded(tmp_path: Path, body: str) -> None:
    """Cases are about rules: `deploy` tries them as root, and a hook file may do anything, or not load."""
    (tmp_path / "hooks.py").write_text(body.format(str(tmp_path / "written")) + "\n")
    check(tmp_path, f'{GOOD[0]}\n[hooks]\npaths = ["hooks.py"]\nrequire = ["hooks:run"]')
    (tmp_path / "written").unlink(missing_ok=True)
    findings, (note,) = cases.tried(tmp_path / "slurmhooks.toml")
    assert not findings
    assert "1 of 1 are as expected" in note
    assert not (tmp_path / "written").exists()


def test_rules_that_do_not_load(tmp_path: Path) -> None:
    """A mistake in a rule is said as everywhere."""
    check(tmp_path, f'{GOOD[0]}\n[[rule]]\nrule = "nosuch"')
    with pytest.raises(Findings) as caught:
        cases.tried(tmp_path / "slurmhooks.toml")
    assert "there is no 'nosuch'" in str(caught.value)
