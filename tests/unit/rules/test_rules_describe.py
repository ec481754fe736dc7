# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptions of rules for administrators, editors and users are correct."""

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import tomllib
from contextlib import suppress
from pathlib import Path
from string import Formatter

import pytest
from click.testing import CliRunner

from slurmhooks import cli
from slurmhooks.config import model as config
from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import rows
from slurmhooks.handlers.codes import fault
from slurmhooks.rules import catalogue, describe
from slurmhooks.rules.base import Rule
from slurmhooks.rules.placeholders import COMMON
from slurmhooks.testing import FakeJob, run
from tests.unit.rules.conftest import Rules

EXAMPLE = Path(__file__).parents[3] / "contrib" / "examples" / "rules.toml"
KINDS = catalogue.RULES.items()


def site(tmp_path: Path, text: str) -> str:
    """Write a configuration; return the option that names its folder."""
    (tmp_path / "slurmhooks.toml").write_text(text)
    return f"--sysconfdir={tmp_path}"


ONLY_MOVES = ("array_size", "script_content")
"""Rules that look at an update only if it can take a job to where the rule counts: if partitions select jobs."""


OF_A_FIELD = ("require", "forbid", "limit", "set", "copy", "guard_updates")
"""Rules whose keys say which fields they look at."""


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_examples_are_valid(rules: Rules, name: str, kind: type[Rule]) -> None:
    """The example of each rule loads, and the rule can say in words what it does."""
    text = describe.example(kind)
    registry = rules(text)
    moves = set(kind.hooks) - ({"job_modify"} if name in ONLY_MOVES else set())
    assert {handler.spec.name for handler in registry.all_handlers()} == moves
    path = Path("slurmhooks.toml")
    (rule,) = catalogue.of_config(path, config.Config.model_validate(tomllib.loads(text)))
    assert rule.kind == name
    assert rule.title == name or rule.title.startswith(f"{name}_")
    assert rule.effect().endswith((".", "May")), rule.effect()


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_models_are_whole(name: str, kind: type[Rule]) -> None:
    """Each rule has documentation, a description of each key, existing fields and codes, and known placeholders."""
    assert kind.documentation().partition("\n")[0].endswith((".", ".)", ","))
    assert all(field.description for key, field in kind.keys.items() if key != "rule"), name
    assert set(kind.own_fields) <= set(rows(JobFields))
    assert kind.own_fields or "job_modify" not in kind.hooks or name in (*OF_A_FIELD, *ONLY_MOVES, "quota")
    assert kind.code is None or fault(kind.code) is None
    used = {word for _, word, _, _ in Formatter().parse(kind.text) if word is not None}
    assert used <= {*kind.placeholders, *COMMON}


@pytest.fixture(scope="module")
def reference() -> str:
    """The page of the reference, which takes long to make."""
    return describe.reference()


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_the_reference_is_whole(reference: str, name: str, kind: type[Rule]) -> None:
    """The page of the reference, and explain, have each key of each rule."""
    section = reference.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert CliRunner().invoke(cli.main, ["rules", "explain", name]).output.partition("\n")[2] in section + "\n"
    for key in set(kind.keys) - set(Rule.keys) - {"rule"}:
        assert f"| `{key}` | " in section
    for key, model in kind.inner.items():
        assert f"Each table of `{key}` has:" in section
        assert all(f"| `{field}` | " in section for field in model.keys)


def test_values_are_in_words() -> None:
    """Keys are described by the values that an administrator writes, not by Python types."""
    rows_ = {row[0]: row for row in describe.own_keys(catalogue.RULES["time_ceiling"])}
    assert rows_["limit"][1:3] == ('text such as "1:00:00", or number', "required")
    assert rows_["longer"][1:3] == ('"refuse" or "lower"', '"refuse"')
    rows_ = {row[0]: row for row in describe.common_keys()}
    assert rows_["users"][1:3] == ("list of texts", "[]")
    assert rows_["message"][1:3] == ("text", "unset")
    assert rows_["except_admins"][1:3] == ("true or false", "true")


def test_the_schema_has_everything() -> None:
    """The schema has all sections and rules, with their keys, and allows no others."""
    done = CliRunner().invoke(cli.main, ["schema", "slurmhooks.toml"])
    schema = json.loads(done.output)
    assert set(schema["properties"]) == set(config.Config.model_fields)
    items = schema["properties"]["rule"]["items"]
    named = {
        (own := schema["$defs"][option["$ref"].rpartition("/")[2]])["properties"]["rule"]["const"]: own
        for option in items["oneOf"]
    }
    assert set(named) == set(catalogue.RULES)
    for name, kind in KINDS:
        assert set(named[name]["properties"]) == set(kind.keys)
        assert named[name]["additionalProperties"] is False
    assert named["time_ceiling"]["required"] == ["limit"]
    assert named["time_ceiling"]["properties"]["limit"]["type"] == ["string", "integer"]


def test_the_example_of_a_site_loads(rules: Rules) -> None:
    """contrib/examples/rules.toml is valid, and its rules work together."""
    # No service listens there, in which case the budget rule accepts jobs.
    registry = rules(EXAMPLE.read_text().replace("https://budget.example.org", "http://127.0.0.1:9"))
    assert len(registry.handlers("job_submit")) == 14
    job = FakeJob(time_limit=20, groups={"physics": 1}, script="#!/bin/sh\n", user_name="alice")
    web = next(handler for handler in registry.handlers("job_submit") if handler.label == "rule:budget")
    assert web.order == 90
    result = run(registry, "job_submit", job=job)
    assert result.accepted, result
    assert result.changes == {"account": "phys", "partition": "debug", "min_mem_per_cpu": 4096}
    refused = run(
        registry, "job_submit", job=FakeJob(time_limit=20, account="phys", tres_per_job="gres/gpu:1", min_cpus=17)
    )
    assert "CPUs per GPU: at most 16" in (refused.text or "")


def test_the_guide_has_the_values_of_the_site(tmp_path: Path) -> None:
    """The page for users describes the rules in force, in their order, with values, exemptions and help."""
    text = (
        '[rules.defaults]\nexcept_users = ["benchmark"]\nhelp_url = "https://a.example"\n'
        '[[rule]]\nrule = "require_time"\nhelp_url = "https://a.example/time"\n'
        '[[rule]]\nrule = "time_ceiling"\nname = "short"\norder = 5\npartitions = ["debug", "dev"]\nlimit = 30\n'
        'except_users = ["alice"]\n'
    )
    done = CliRunner().invoke(cli.main, ["rules", "guide", site(tmp_path, text)])
    assert done.exit_code == 0, done.output
    assert done.output == (
        "# Rules for jobs\n\nWhat this cluster checks and sets when you submit or change a job, in this order.\n"
        "Help: <https://a.example>\n\n## short\n\nThe time limit is at most 00:30:00. Jobs that ask for more are"
        " refused. Those without `--time` get"
        " no more. Only for jobs in `debug` or `dev`. Not for jobs of `alice`.\n\n"
        "## require_time\n\nGive a time limit with `--time`.\n\n"
        "More: <https://a.example/time>\n"
    )


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('mode = "warn"\n', "The rule is not in force yet: you only read a warning."),
        ('mode = "observe"\n', "There are no such rules."),
        ('mode = "off"\n', "There are no such rules."),
        ('mode = "off"\n[rules.modes."rule:require_time"]\nmode = "enforce"\n', "Give a time limit with `--time`."),
        ('[rules.modes."rule:require_time"]\nmode = "observe"\n', "There are no such rules."),
        ('[rules.modes."rule:require_time"]\nmode = "warn"\nnote = "from May on"\n', "\nfrom May on\n"),
        (
            '[rules.modes."rule:require_time"]\npercent = 10\notherwise = "warn"\n',
            "The rule is being introduced: enforce for 10 % of users; warn for others.",
        ),
    ],
)
def test_the_guide_has_modes(tmp_path: Path, keys: str, words: str) -> None:
    """The page omits rules that only observe, and says to which share of requests a rule applies."""
    text = f'[[rule]]\nrule = "require_time"\n{keys}'
    assert words in CliRunner().invoke(cli.main, ["rules", "guide", site(tmp_path, text)]).output


def test_a_guide_without_rules(tmp_path: Path) -> None:
    """A site without rules gets a page that says so; one without a configuration, an error."""
    done = CliRunner().invoke(cli.main, ["rules", "guide", site(tmp_path, "")])
    assert (done.exit_code, "There are no such rules." in done.output) == (0, True)
    (tmp_path / "none").mkdir()
    done = CliRunner().invoke(cli.main, ["rules", "guide", f"--sysconfdir={tmp_path / 'none'}"])
    assert (done.exit_code, "does not exist" in done.output) == (1, True)
    done = CliRunner().invoke(cli.main, ["rules", "guide", site(tmp_path, '[[rule]]\nrule = "x"\n')])
    assert (done.exit_code, "there is no 'x'" in done.output) == (1, True)


def test_the_list_has_all_rules() -> None:
    """Each rule is listed with its purpose, also as JSON."""
    plain = CliRunner().invoke(cli.main, ["rules", "explain"]).output
    assert all(name in plain for name in catalogue.RULES)
    listed = json.loads(CliRunner().invoke(cli.main, ["rules", "explain", "--json"]).output)
    assert list(listed) == list(catalogue.RULES)
    assert len(listed) >= 20


def test_explain_knows_all_and_nothing_else() -> None:
    """explain all has the keys of all rules; an unknown rule is a wrong use, with similar names."""
    done = CliRunner().invoke(cli.main, ["rules", "explain", "all"])
    assert all(f"| {key} | " in done.output for key in Rule.keys)
    done = CliRunner().invoke(cli.main, ["rules", "explain", "time_cieling"])
    assert done.exit_code == 2
    assert "nearest: time_ceiling" in done.output
    done = CliRunner().invoke(cli.main, ["rules", "explain", "require_time"])
    assert 'require_time is an older name: write rule = "require", field = "time_limit"\n' in done.output
    assert "## require\n" in done.output


def test_the_reference_says_what_a_job_leaves_to_slurm() -> None:
    """Each rule has a row that says what counts for it if the job leaves it to Slurm."""
    page = describe.reference()
    for name, kind in catalogue.RULES.items():
        assert f"| `{name}` | {kind.left_to_slurm} |" in page
        assert kind.left_to_slurm


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["time_ceiling", "all"])
def test_explain_on_a_terminal(rule: str) -> None:
    """A terminal gets no marks of Markdown, and no line that is longer than the terminal; a pipe gets the source."""
    words = [sys.executable, "-m", "slurmhooks.cli", "rules", "explain", rule]
    piped = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "| --- |" in piped
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "dumb"}
    with subprocess.Popen(words, stdout=theirs, env=environment) as process, open(ours, "rb", buffering=0) as terminal:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while data := terminal.read(1 << 16):
                shown += data
        assert process.wait() == 0
    lines = shown.decode().splitlines()
    assert not [line for line in lines if "---" in line or "`" in line]
    assert max(map(len, lines)) <= 100
