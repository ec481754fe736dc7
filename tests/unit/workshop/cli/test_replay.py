# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.workshop.cli.commands.replay import show
from slurmhooks.workshop.replay.report import Bug, Change, Example, FieldChange, Need, ReplayReport, Rule, Share
from tests.unit.workshop.replay.recordings import recording
from tests.unit.workshop.replay.test_replay import ACCOUNT, JOBS, NEW, hook_file

pytestmark = pytest.mark.slow


def test_exit_codes(tmp_path: Path) -> None:
    """0: fine, even with differences; 1: something differs and --expect-same; 2: the file or the hooks are unusable."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    same, new = hook_file(tmp_path, ACCOUNT, "same.py"), hook_file(tmp_path, NEW)
    bad = hook_file(tmp_path, "import nothing_of_the_kind", "bad.py")

    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["replay", str(tmp_path / "file"), *arguments])
        return result.exit_code, result.output

    assert call("--hooks", same, "--expect-same")[0] == 0
    assert call("--hooks", new)[0] == 0
    code, text = call("--hooks", new, "--expect-same")
    assert code == 1
    assert re.search(r"new:limit_time refuses 1 more \(\d+ %\):", text)
    assert "seen -> SEEN" in text
    code, text = call("--hooks", bad)
    assert code == 2
    assert "nothing_of_the_kind" in text
    assert call("--hooks", new, "--release", "no release")[0] == 2
    os.chmod(tmp_path / "file", 0o644)
    code, text = call("--hooks", new)
    assert code == 2
    assert "chmod 600" in text


def test_json(tmp_path: Path) -> None:
    """With --json, the output is the report."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    arguments = ["replay", str(tmp_path / "file"), "--hooks", hook_file(tmp_path, NEW), "--json"]
    report = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert report["more_refused"] == 1
    assert report["rules"][0]["rule"] == "new:limit_time"


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\x1b[2J", "\udc9b"])
def test_no_value_looks_like_a_line_of_the_report(capsys: pytest.CaptureFixture[str], end: str) -> None:
    """Whatever users write into names, accounts and fields, the report has the same lines as for plain values."""

    def printed(value: str) -> list[str]:
        example = Example(id="0" * 12, time=0, hook="job_submit", user=value, account=value, name=value)
        share = Share(name=value, requests=1)
        change = Change(old=value, new=value, requests=1)
        rule = Rule(
            rule="limits:time",
            more=1,
            fewer=0,
            of_users=1,
            of_accounts=1,
            users=[share],
            accounts=[share],
            examples=[example],
        )
        field = FieldChange(field=f"environment[{value}]", requests=1, values=[change], examples=[example])
        bug = Bug(hooks="new", rule="x:y", error="E", requests=1, traceback=f"E: {value}", examples=[example])
        need = Need(hooks="new", what=value, requests=1, record_with="", examples=[example])
        counts = dict.fromkeys(("accepted", "refused", "failed", "more_refused", "fewer_refused", "other_texts"), 1)
        show(
            ReplayReport(
                recorded={},
                requests=9,
                first=None,
                last=None,
                different=1,
                users=4,
                accounts=4,
                unknown=1,
                changes=[change],
                rules=[rule],
                fields=[field],
                bugs=[bug],
                needs=[need],
                notes=["a note"],
                **counts,
            )
        )
        return capsys.readouterr().out.split("\n")

    plain, hostile = printed("x"), printed(f"x{end}limits:time refuses 99 more:{end}  users: bob 99")
    assert {
        "1 request is not compared: see below",
        "1 request differs: 1 more refused (12 %), 1 fewer (12 %)",
        "  users: 1 of 4 (25 %): x 1",
        "  accounts: 1 of 4 (25 %): x 1",
    } <= set(plain)
    assert [line[:4] for line in plain] == [line[:4] for line in hostile if not line.startswith("    ")]
    assert all(char.isprintable() for line in hostile for char in line)


def test_long_values(tmp_path: Path) -> None:
    """People see the beginnings of long values, and how much is left out; JSON has them whole."""
    job = {"account": "physics", "script": "#!/bin/sh\n" + "# long\n" * 100_000}
    os.close(recording(tmp_path / "file", ACCOUNT, [job], kept=("script",)))
    hooks = hook_file(tmp_path, "from slurmhooks import hook\n@hook.job_submit\ndef new(job):\n    job.script += 'x'\n")
    arguments = ["replay", str(tmp_path / "file"), "--hooks", hooks]
    text = CliRunner().invoke(main, arguments).output
    assert re.search(r"script differs in 1:\n.*# long.*\[\.\.\. 6998\d+ bytes left out\]", text), text[:2000]
    assert len(text) < 2000
    fields = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)["fields"]
    assert max(len(change["new"]) for field in fields for change in field["values"]) > 700_000


def test_anonymous(tmp_path: Path) -> None:
    """--anonymous leaves the names of users out of all outputs."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    arguments = ["replay", str(tmp_path / "file"), "--hooks", hook_file(tmp_path, NEW)]
    plain = CliRunner().invoke(main, [*arguments, "--json"])
    (user,) = [share["name"] for share in json.loads(plain.stdout)["rules"][0]["users"]]
    hidden = CliRunner().invoke(main, [*arguments, "--anonymous", "--json"])
    assert json.loads(hidden.stdout)["rules"][0]["users"] == [{"name": "user 1", "requests": 1}]
    for output in (hidden.stdout, CliRunner().invoke(main, [*arguments, "--anonymous"]).output):
        assert not re.search(rf"\b{user}\b", output.replace("user 1", ""))
