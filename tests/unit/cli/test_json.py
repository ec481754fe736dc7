# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON documents of commands, and their schemas. conftest.py checks each document that a test prints."""

import json
import os
from pathlib import Path

import pytest

from docs.command_line import commands
from slurmhooks.cli import output
from slurmhooks.cli.commands import schema

from .conftest import Call

COMMANDS = {name: command for name, command in commands() if schema.schema_of(command) is not None}


def test_commands_with_documents() -> None:
    """Each command that has --json has a schema, and those whose output is data have --json."""
    options = {name: option for name, command in commands() for option in command.params if "--json" in option.opts}
    assert [name for name, option in options.items() if not isinstance(option, output.JsonOption)] == []
    assert set(options) == set(COMMANDS)
    wanted = {"check", "info", "rules explain", "record", "replay", "spool", "why", "try job_submit", "try record"}
    assert wanted | {"try cli_filter", "try spank", "try scrun"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_schema(run: Call, name: str) -> None:
    """The command schema prints the schema of a document; the descriptions of keys are in it."""
    result = run.passed("schema", *name.split())
    assert json.loads(result.stdout) == schema.schema_of(COMMANDS[name])
    assert "Attributes:" not in result.stdout


def test_descriptions() -> None:
    """The docstring's text about an attribute is the description of its key, in one line."""
    found = schema.schema_of(COMMANDS["try job_submit"])
    assert found is not None
    tried = found["$defs"]["Tried"]
    assert tried["description"] == "The result of a request."
    assert tried["properties"]["log"]["description"] == 'lines of Slurm\'s log, each as "level: text".'


@pytest.mark.parametrize("words", ["demo", "why not", "nothing", "try"])
def test_commands_without_documents(run: Call, words: str) -> None:
    """A command without a JSON document is wrong use."""
    result = run("schema", *words.split())
    assert result.exit_code == 2
    assert "is not a command with --json" in result.stderr


@pytest.mark.parametrize("command", ["why 17", "spool"])
def test_an_invalid_configuration_is_a_document(run: Call, tmp_path: Path, command: str) -> None:
    """Every command reports what is wrong in slurmhooks.toml, and where."""
    (tmp_path / "slurmhooks.toml").write_text("[hooks\n")
    result = run.refused(*command.split(), "--sysconfdir", tmp_path, "--json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert f"{tmp_path}/slurmhooks.toml" in finding
    assert f"error: {finding}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (("why", "17"), "there is no decision log"),
        (("spool",), "there is no spool"),
        (("try", "job_submit", "-"), "does not exist: give its folder"),
        (("try", "spank", "--hooks", "BROKEN"), "SyntaxError"),
        (("replay", "BROKEN", "--hooks", "BROKEN"), "others than its owner"),
        (("record", "--status"), "no slurmctld with the plugin"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_failures_are_documents(run: Call, tmp_path: Path, arguments: tuple[str, ...], finding: str) -> None:
    """A command that fails before it has a result prints one document, with its findings, and the exit code says so."""
    (tmp_path / "slurm.conf").write_text(f"SlurmctldLogFile={tmp_path}/log\nStateSaveLocation={tmp_path}\n")
    broken = tmp_path / "broken.py"
    broken.write_text("def (\n")
    place = () if arguments[0] == "replay" else ("--sysconfdir", tmp_path)
    words = [broken if word == "BROKEN" else word for word in arguments]
    result = run(*words, *place, "--json")
    assert result.exit_code == (2 if arguments[0] == "replay" else 1)
    document = json.loads(result.stdout)
    assert set(document) == set(schema.FAILURE["properties"])
    assert finding in "\n".join(document["findings"])
    shown = [line.replace("\n", "\n    ") for line in document["findings"]]
    assert all(f"error: {line}" in result.stderr for line in shown)


def test_a_full_disk_is_a_document(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the operating system is also a document; without --json, standard output is empty."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/var/log/x")

    monkeypatch.setattr("slurmhooks.cli.commands.info.collect", full)
    assert json.loads(run("info", "--json").stdout) == {"findings": ["/var/log/x: No space left on device"]}
    assert run("info").stdout == ""


def test_texts_that_are_not_utf8(run: Call, tmp_path: Path) -> None:
    """The name of any file can be in a document: bytes that are not UTF-8 are escaped, as in Python's own texts."""
    names = {os.fsdecode(name) for name in (b"a.py", "\N{LATIN SMALL LETTER E WITH ACUTE}.py".encode(), b"\xff.py")}
    for name in names:
        (tmp_path / name).write_text("")
    (tmp_path / "slurmhooks.toml").write_text('[hooks]\npaths = ["*.py"]\n')
    result = run("bundle", tmp_path, "--output", tmp_path / "b.tar", "--json")
    assert set(json.loads(result.stdout)["files"]) == {*names, "slurmhooks.toml"}


def test_the_option_of_a_group_holds_for_its_verbs(run: Call, tmp_path: Path) -> None:
    """An action of a command with --json, such as spool discard, fails with a document as well."""
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    (tmp_path / "slurmhooks").mkdir()
    result = run("spool", "--json", "--sysconfdir", tmp_path, "discard", "x")
    assert "no dead letter x" in json.loads(result.stdout)["findings"][0]
