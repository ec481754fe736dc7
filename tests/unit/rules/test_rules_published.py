# SPDX-License-Identifier: GPL-2.0-or-later
"""The document of the rules in force: complete, valid, and without secrets."""

import json
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slurmhooks import cli
from slurmhooks.cli.commands import schema
from slurmhooks.cli.commands.rules import guide as command
from slurmhooks.config import model as config
from slurmhooks.rules import catalogue, published
from slurmhooks.rules.base import Rule
from slurmhooks.rules.checking import model_of
from slurmhooks.rules.lines import LINES
from slurmhooks.rules.value_types import unit_of

SCHEMA = Path(__file__).parents[3] / "docs" / "_static" / "guide.schema.json"
PEOPLE = {f"{prefix}{key}": [f"secret{prefix}{key}"] for prefix in ("", "except_") for key in published.NAMED}
SECRETS = {
    "default_account": 'by_group = { secret1 = "secret2" }\nvalue = "secret3"',
    "require_account": 'forbidden = ["secret1"]',
    "choose_partition": 'cases = [{ to = "gpu", accounts = ["secret1"], groups = ["secret2"] }]',
    "choose_qos": 'cases = [{ to = "gpu", accounts = ["secret1"], groups = ["secret2"] }]',
    "default": 'field = "account"\nby = "user"\nmap = { secret1 = "secret2" }\nvalue = "secret3"',
    "set": 'field = "qos"\nby = "group"\nmap = { secret1 = "secret2" }',
    "require": 'field = "account"\nforbidden = ["secret1"]',
    "mail_address": 'value = "secret1@secret2"\ndomains = ["example.org"]',
    "script_content": "forbidden = ['secret1']\nrequired = ['secret2']",
    "budget": 'url = "https://secret1/?token=secret2"\nmember = "secret3"',
}


def document(table: dict[str, Any], *, names: bool = False) -> dict[str, Any]:
    """Return the document of a configuration."""
    read = config.Config.model_validate(table)
    made = published.guide(catalogue.of_config(Path("slurmhooks.toml"), read), read, names=names)
    return made.model_dump(mode="json")


@pytest.mark.parametrize("name", [*catalogue.RULES, *sorted(SECRETS.keys() - catalogue.RULES.keys())])
def test_no_secrets(name: str) -> None:
    """No name of people or projects, and no value by which only the site decides, is in the document."""
    keys = tomllib.loads(SECRETS.get(name) or catalogue.RULES[name].example)
    made = document({"rule": [{"rule": name, **keys, **PEOPLE}]})
    assert "secret" not in json.dumps(made)
    (rule,) = made["rules"]
    assert rule["rule"] == (LINES[name].keys["rule"] if name in LINES else name)
    assert rule["only"]["others"] == rule["exempt"]["others"] == list(published.NAMED)
    assert rule["id"].startswith(f"rule:{name}")


def test_each_text_is_decided_about() -> None:
    """A key with a text or list is named here, if it is published: whoever adds one decides whether it is a secret."""
    texts = {
        f"{name}.{key}"
        for name, kind in catalogue.RULES.items()
        for key, field in model_of(kind).model_fields.items()
        if key not in Rule.keys and key != "rule" and key not in kind.private
        if unit_of(field) is None and "str" in str(field.annotation)
    }
    assert texts == {
        *(f"{name}.field" for name in ("require", "forbid", "limit", "default", "set", "copy")),
        *("default.value", "set.value", "set.separator"),
        *("require.allowed", "forbid.allowed", "limit.least", "limit.most", "copy.source"),
        *("require_gpu_type.types", "licenses.required", "licenses.allowed", "licenses.most"),
        *("work_directory.inside", "work_directory.outside", "mail_address.domains", "guard_updates.changes"),
    }


def test_what_a_user_needs() -> None:
    """Limits have units, a rule has its option, address, mode and jobs; what users do not notice is left out."""
    made = document(
        tomllib.loads("""
        [rules]
        refusals = "all"
        [rules.modes."rule:watched"]
        mode = "observe"
        [rules.modes."rule:memory"]
        mode = "enforce"
        percent = 10
        [rules.defaults]
        help_url = "https://help.example.org"
        [[rule]]
        rule = "time_ceiling"
        name = "short"
        partitions = ["debug"]
        except_qos = ["long"]
        accounts = ["physics"]
        limit = "30:00"
        help_url = "https://help.example.org/short"
        [[rule]]
        rule = "require_time"
        name = "watched"
        [[rule]]
        rule = "memory_ceiling"
        name = "memory"
        per_node = "4G"
        mode = "warn"
        [[rule]]
        rule = "maintenance"
        start = 2099-05-01T08:00:00
        end = 2099-05-02T08:00:00
        mode = "warn"
        """)
    )
    short, memory, maintenance = made["rules"]
    assert (made["format"], made["url"], made["all_refusals"]) == (1, "https://help.example.org", True)
    assert short["limits"][0] | {"meaning": ""} == {"key": "limit", "value": 30, "unit": "minutes", "meaning": ""}
    assert short["option"] == {"sbatch": "--time", "scontrol": "TimeLimit"}
    assert (short["mode"], short["url"]) == ("enforce", "https://help.example.org/short")
    assert (short["only"]["partitions"], short["exempt"]["qos"]) == (["debug"], ["long"])
    assert (short["only"]["accounts"], short["only"]["others"]) == ([], ["accounts"])
    assert (memory["mode"], memory["limits"][0]["value"], memory["limits"][0]["unit"]) == ("partly", 4096, "MiB")
    assert datetime.fromisoformat(maintenance["limits"][0]["value"]) == datetime(2099, 5, 1, 8)
    assert maintenance["mode"] == "warn"


def test_names_if_wanted() -> None:
    """A site may also publish the names for which rules are, but nothing else that is private."""
    table = {"rule": "budget", **tomllib.loads(SECRETS["budget"]), **PEOPLE}
    (rule,) = document({"rule": [table]}, names=True)["rules"]
    assert (rule["only"]["users"], rule["exempt"]["groups"]) == (["secretusers"], ["secretexcept_groups"])
    assert (rule["only"]["others"], rule["limits"][0]["key"]) == ([], "on_failure")


@pytest.mark.parametrize(("name", "kind"), catalogue.RULES.items())
def test_units(name: str, kind: type[Rule]) -> None:
    """Each time limit and amount of memory has its unit."""
    for key, field in model_of(kind).model_fields.items():
        kinds = f"{field.annotation} {field.metadata}"
        expected = "minutes" if "_minutes" in kinds else "MiB" if "_mebibytes" in kinds else None
        assert unit_of(field) == expected, (name, key)


def test_schema() -> None:
    """The published schema is that of the document, and describes each key."""
    made = schema.schema_of(command)
    assert made is not None
    assert json.loads(SCHEMA.read_text()) == made, f"update it: slurmhooks schema rules guide > {SCHEMA}"
    for part in (made, *made["$defs"].values()):
        assert all("description" in each for each in part["properties"].values()), part["title"]


def test_command(tmp_path: Path) -> None:
    """The command prints the document; --names alone is wrong use; the example of a whole site is valid."""
    example = Path(__file__).parents[3] / "contrib" / "examples" / "rules.toml"
    (tmp_path / "slurmhooks.toml").write_bytes(example.read_bytes())
    call = ["rules", "guide", f"--sysconfdir={tmp_path}"]
    result = CliRunner().invoke(cli.main, [*call, "--json"])
    published.Guide.model_validate_json(result.stdout)
    assert len(json.loads(result.stdout)["rules"]) == example.read_text().count("[[rule]]")
    assert CliRunner().invoke(cli.main, [*call, "--names"]).exit_code == 2
