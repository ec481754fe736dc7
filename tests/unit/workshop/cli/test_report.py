# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks report``: the decision log in numbers, as text, JSON and CSV."""

import csv
import io
import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slurmhooks.cli import main
from tests.unit.cli.test_why import NOON, Written, parsed_lines

REFUSED = [{"handler": "limits:time", "outcome": "refused", "text": "<b>", "microseconds": 40}]
WARNED = [{"handler": "limits:gpu", "outcome": "would refuse", "mode": "warn", "microseconds": 20}]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """A decision log of two days."""
    (tmp_path / "slurm.conf").write_text(f"SlurmctldLogFile={tmp_path}/slurmctld.log\n")
    written = Written(tmp_path / "slurmhooks")
    written.add(NOON, verdict="refused", user="alice", account="physics", handlers=REFUSED, hooks="h1")
    written.add(NOON + 60, user="bob", account="physics", handlers=WARNED, hooks="h1", text="warning")
    os.rename(written.folder / "job_submit.jsonl", written.folder / "job_submit.jsonl.1")
    written.add(NOON + 86400, user="bob", handlers=[], hooks="h2")
    with (written.folder / "job_submit.jsonl").open("a") as stream:
        stream.write('not JSON\n{"time": "2027-01-01", "event": "naive"}\n{"time": "unfinish')
    written.add(NOON, file="job_end.jsonl", hook="job_end", handlers=[{"handler": "mail:send", "outcome": "passed"}])
    return written


def call(*arguments: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_of_this_machine(written: Written) -> None:
    """Without files, the log of this machine is counted, rotated files included."""
    result = call("--sysconfdir", written.folder.parent)
    assert result.exit_code == 0, result.output
    assert "3 requests, " in result.stdout
    assert ": 1 (33 %) refused, 0 failed, 1 (33 %) warned" in result.stdout
    assert "limits:time" in result.stdout
    assert "mail:send" not in result.stdout


def test_files(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders of any machine can be named; a folder without a log, or closed to the user, is a finding."""
    report = json.loads(call(written.folder / "job_submit.jsonl.1", "--json").stdout)
    assert (report["total"]["requests"], report["change"]) == (2, None)
    both = json.loads(call(written.folder, written.folder / "job_submit.jsonl.1", "--json").stdout)
    assert both["total"]["requests"] == 5
    result = call(written.folder.parent)
    assert (result.exit_code, "there is no decision log" in result.output) == (1, True)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)  # root may read everything
    result = call(written.folder)
    assert (result.exit_code, "only SlurmUser and root may read the decision log" in result.output) == (1, True)


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    """A file without a request is named: it may be the wrong one."""
    (tmp_path / "slurmctld.log").write_text("[2026-11-30T14:06:13.298] error: x\n")
    assert f"No line of {tmp_path}/slurmctld.log is about a request" in call(tmp_path / "slurmctld.log").stdout


def test_times(written: Written) -> None:
    """--since and --until select requests; --change is when the rules changed."""
    middle = datetime.fromtimestamp(NOON + 30).isoformat()
    newer = json.loads(call(written.folder, "--since", middle, "--json").stdout)
    older = json.loads(call(written.folder, "--until", middle, "--json").stdout)
    assert (newer["total"]["requests"], older["total"]["requests"]) == (2, 1)
    changed = json.loads(call(written.folder, "--change", middle, "--json").stdout)["change"]
    assert (changed["before"], changed["after"]) == (1, 2)
    assert "1 request, " in call(written.folder, "--until", middle).stdout
    assert "1 request before, 2 after" in call(written.folder, "--change", middle).stdout
    days = (datetime.now() - datetime.fromtimestamp(NOON)) // timedelta(days=1) + 2
    assert json.loads(call(written.folder, "--since", f"{max(days, 1)}d", "--json").stdout)["total"]["requests"] == 3
    for wrong in ("yesterday", "2027-13-01", "99999999999w", "d"):
        assert call(written.folder, "--since", wrong).exit_code == 2


def test_lines_of_other_times_are_not_parsed(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """--since and --until look at the time of a line first, because a log has millions of lines."""
    lines = parsed_lines(monkeypatch)
    middle = datetime.fromtimestamp(NOON + 30).isoformat()
    assert json.loads(call(written.folder, "--since", middle, "--json").stdout)["total"]["requests"] == 2
    assert len([line for line in lines if '"time"' in line and "naive" not in line]) == 2, lines


def test_csv(written: Written) -> None:
    """--csv prints one table, in which nothing that a user has written is a formula or a line of its own."""
    written.add(NOON, file="job_submit.jsonl.2", user="=1+1\n", account="maths, pure", hooks="h2", handlers=[])
    users = list(csv.reader(io.StringIO(call(written.folder, "--csv", "users").stdout)))
    assert users[0] == ["name", "requests", "refused", "failed", "warned", "observed"]
    assert {row[0]: row[1] for row in users[1:]} == {"alice": "1", "bob": "2", "'=1+1\\n": "1"}
    accounts = csv.reader(io.StringIO(call(written.folder, "--csv", "accounts").stdout))
    assert "maths, pure" in {row[0] for row in accounts}


def test_anonymous(written: Written) -> None:
    """--anonymous leaves names of users and accounts out of all outputs."""
    for how in ((), ("--json",), ("--csv", "users"), ("--csv", "accounts")):
        assert "alice" in call(written.folder, *how).stdout or how == ("--csv", "accounts")
        text = call(written.folder, "--anonymous", *how).stdout
        assert not [name for name in ("alice", "bob", "physics") if name in text]


def test_a_share_of_the_log(written: Written, tmp_path: Path) -> None:
    """If the configuration logs only a share of the accepted requests, the report says so."""
    (tmp_path / "slurmhooks.toml").write_text("[decisions]\nsample = 0.1\n")
    assert "sample = 0.1" in call("--sysconfdir", tmp_path).stdout
