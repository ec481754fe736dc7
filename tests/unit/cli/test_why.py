# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks why``: what happened to a request, in words."""

import json
import os
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slurmhooks.cli import decisions, hosts, main
from slurmhooks.cli.commands import why
from slurmhooks.cli.decisions import Job, accounted, described

NOON = 1_800_000_000


class Written:
    """A decision log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def add(self, time: float, file: str = "job_submit.jsonl", **fields: Any) -> None:
        """Write a line."""
        shown = datetime.fromtimestamp(time).astimezone().isoformat(timespec="milliseconds")
        line = {"time": shown, "id": "0123456789ab", "hook": "job_submit", "verdict": "accepted", **fields}
        with (self.folder / file).open("a") as stream:
            stream.write(json.dumps({"event": "decision", **line}) + "\n")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """A decision log beside slurmctld's log; Slurm's programs know no job."""
    monkeypatch.setenv("SLURM_CONF", "")
    monkeypatch.setattr(why, "_run", lambda *_: None)
    (tmp_path / "slurm.conf").write_text(f"SlurmctldLogFile={tmp_path}/slurmctld.log\n")
    return Written(tmp_path / "slurmhooks")


def call(written: Written, *arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["why", "--sysconfdir", str(written.folder.parent), *arguments])


def test_names_that_the_terminal_does_not_have(written: Written) -> None:
    """Characters that the encoding of standard output lacks are escaped: a user cannot hide decisions by a name."""
    written.add(NOON, user="alice", name="\u65e5\u672c")
    command = [sys.executable, "-m", "slurmhooks.cli", "why", "--last=1", "--sysconfdir", str(written.folder.parent)]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "SLURM_CONF": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert r"\u65e5\u672c" in done.stdout


def parsed_lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets each line that is parsed from now on."""
    lines: list[str] = []
    parse, read_all = decisions._parse, decisions._read_all

    def kept(line: bytes) -> Any:
        lines.append(line.decode())
        return parse(line)

    def kept_all(several: list[bytes]) -> Any:
        lines.extend(line.decode() for line in several)
        return read_all(several)

    monkeypatch.setattr(decisions, "_parse", kept)
    monkeypatch.setattr(decisions, "_read_all", kept_all)
    return lines


def test_a_refusal_in_words(written: Written) -> None:
    """why says which handler refused whose request with which text, and what each rule changed."""
    handlers = [
        {"handler": "limits:time", "outcome": "passed", "changes": {"time_limit": [None, 60]}, "hidden": ["script"]},
        {"handler": "limits:account", "outcome": "refused", "text": "name an account", "code": "ESLURM_X"},
        {"handler": "job_submit.lua:slurm_job_submit", "outcome": "refused", "code": -1},
    ]
    fields: dict[str, Any] = {"user": "alice", "user_id": 2001, "name": "test", "text": "name an account"}
    written.add(NOON, verdict="refused", handlers=handlers, generation=2, hooks="abc", microseconds=41, **fields)
    done = call(written, "0123456789ab")
    assert done.exit_code == 0
    for text in (
        "job_submit of alice (name test)",
        "refused after 41 us, by hooks abc (generation 2)",
        "limits:time: passed; changed time_limit from unset to 60, script (not logged)",
        "limits:account: refused with ESLURM_X: name an account",
        "slurm_job_submit: refused with SLURM_ERROR",
        "text for the user: name an account",
    ):
        assert text in done.output


def test_a_bug_is_found_by_its_id(written: Written) -> None:
    """The id of an error leads to the request, even if the user was not told about the bug."""
    step = {"handler": "limits:gpu", "outcome": "accepted on error", "error": "57dad26a", "exception": "KeyError"}
    written.add(NOON, verdict="accepted on error", handlers=[{**step, "where": "/etc/slurm/limits.py:17"}])
    written.add(NOON, verdict="failed", error="00000001", cause="timeout", text="missed the deadline", event="unserved")
    assert "KeyError at /etc/slurm/limits.py:17" in call(written, "57dad26a").output
    assert "missed the deadline" in call(written, "00000001").output
    assert call(written, "ffffffff").exit_code == 1
    assert "not a job id" in call(written, "limits").output


def test_a_job_is_found_by_what_was_logged_later(written: Written) -> None:
    """Later decisions that have the job's id lead to its submission, even in rotated files."""
    alice: dict[str, Any] = {"user_id": 2001, "name": "test"}
    written.add(NOON + 0.2, "job_submit.jsonl.1", id="aaaaaaaaaaaa", **alice)
    written.add(NOON + 0.3, "job_submit.jsonl.1", id="bbbbbbbbbbbb", user_id=2002, name="test")
    written.add(NOON + 30, "job_submit.jsonl.1", id="cccccccccccc", **alice)
    written.add(NOON + 0.3, id="dddddddddddd", verdict="refused", **alice)
    tried = [
        {"handler": "limits:new", "mode": "observe", "outcome": "would refuse", "changes": {"comment": [None, "x"]}}
    ]
    written.add(NOON + 0.2, id="aaaaaaaaaaaa", event="observed", verdict=None, handlers=tried)
    written.add(NOON + 60, "prep.jsonl", hook="controller_prolog", job_id=17, submit_time=NOON, **alice)
    assert "limits:new (observe): would refuse; would change comment from unset to 'x'" in call(written, "17").output
    done = call(written, "17", "--json")
    assert [each["event"] for each in json.loads(done.output)] == ["decision", "observed", "decision"]
    assert json.loads(done.output)[0]["id"] == "aaaaaaaaaaaa"


def test_runs_of_periodic_rules_do_not_crowd_out_requests(written: Written) -> None:
    """--last shows requests, actions and runs that failed, but not the runs in which nothing went wrong."""
    written.add(NOON, id="aaaaaaaaaaaa", user="alice")
    written.add(NOON + 1, id="bbbbbbbbbbbb", hook="every", verdict="failed")
    written.add(NOON + 2, id="cccccccccccc", hook="every", verdict="cancelled", job_id=7, user="alice")
    for number in range(30):
        written.add(NOON + 10 * number, id=f"{number:012}", hook="every", verdict="done")
    shown = json.loads(call(written, "--last", "5", "--json").output)
    assert [each["id"][0] for each in shown] == ["a", "b", "c"]
    assert call(written, "000000000029").exit_code == 0


@pytest.mark.parametrize(
    "question", [["4"], ["abcdef012345"], ["57dad26a"], ["--user", "mary-ann"], ["--user", "mary-ann", "--last", "1"]]
)
def test_only_lines_that_may_be_meant_are_parsed(
    written: Written, monkeypatch: pytest.MonkeyPatch, question: list[str]
) -> None:
    """However long the log is, why parses a few lines, because a site's log has millions."""
    lines = parsed_lines(monkeypatch)
    mary: dict[str, Any] = {"user": "mary-ann", "user_id": 2001, "name": "test"}
    step = {"handler": "limits:gpu", "outcome": "passed", "error": "57dad26a"}
    for number in range(300):
        written.add(NOON + 60 * number, id=f"{number:012}", user="bob", user_id=2002, name="4", submit_time=NOON)
        written.add(NOON + 60 * number, "prep.jsonl", id=f"{number:012}", job_id=400 + number, user="bob", user_id=4)
        if number == 150:
            written.add(NOON + 60 * number + 0.2, id="abcdef012345", handlers=[step], **mary)
            written.add(NOON + 60 * number + 0.1, event="observed", id="abcdef012345", verdict=None, **mary)
            later = {**mary, "job_id": 4, "submit_time": NOON + 60 * number}
            written.add(NOON + 60 * number + 1, "prep.jsonl", hook="controller_prolog", id="0" * 12, **later)
    shown = json.loads(call(written, "--json", *question).output)
    assert {each["user"] for each in shown} == {"mary-ann"}
    assert len(lines) < 12, lines


STAMP = "2026-11-25 12:00:00.000+01:00"
FORGED = f"{STAMP}: job_submit of bob (name miner)"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2J", "\x9b2J", "\udc9b", "\t"]
LOGGED: dict[str, Any] = {
    "by": 0,
    "microseconds": 4,
    "hooks": "abc",
    "generation": 2,
    "code": "ESLURM_X",
    "error": "0" * 8,
}
TEXTS = ["user", "name", "account", "partition", "text", "code", "verdict", "hook", "hooks", "error", "id"]
STEP_TEXTS = [
    "handler",
    "outcome",
    "mode",
    "text",
    "code",
    "error",
    "exception",
    "where",
    "old",
    "new",
    "field",
    "hidden",
]


def step_with(place: str, value: str) -> dict[str, Any]:
    """Return a step of a handler with a hostile text."""
    changed = value if place == "field" else "comment"
    values = [value if place == "old" else None, value if place == "new" else "x"]
    step = {
        "handler": "limits:time",
        "outcome": "passed",
        "text": "no",
        "changes": {changed: values},
        "hidden": ["script"],
    }
    if place in ("exception", "where"):
        step |= {"exception": "KeyError", "where": "/etc/slurm/limits.py:1", "error": "0" * 8}
    return step | ({place: [value] if place == "hidden" else value} if place not in ("old", "new", "field") else {})


@pytest.mark.parametrize("place", [*TEXTS, *(f"step {place}" for place in STEP_TEXTS)])
def test_no_text_looks_like_a_decision(written: Written, place: str) -> None:
    """Whatever a user or a worker writes into a field, exactly the decisions of the log are printed, each once."""
    for number, end in enumerate(BREAKS):
        hostile = f"x{end}{FORGED}{end}  accepted after 1 us{end}    limits:time: passed{end}"
        fields = {**LOGGED, "handlers": [step_with("handler", "limits:time")]}
        kind, _, inner = place.partition(" ")
        fields |= {"handlers": [step_with(inner, hostile)]} if inner else {kind: hostile}
        written.add(NOON + number, **fields)
    done = call(written, "--last", "100")
    assert done.exit_code == 0, done.output
    lines = done.output.split("\n")[:-1]
    assert lines == done.output.splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert len(heads) == len(BREAKS)
    assert not [line for line in heads if line.startswith(STAMP)]
    verdicts = [line for line in lines if line.startswith("  ") and line[2] != " "]
    assert len(verdicts) == len(BREAKS) * (2 if place == "text" else 1)
    assert len([line for line in lines if line.startswith("    ") and line[4] != " "]) == len(BREAKS)
    assert all(line.startswith("      | ") for line in lines if line.startswith("     "))
    assert done.output.isprintable() or set(filter(lambda char: not char.isprintable(), done.output)) == {"\n"}


def test_a_name_with_words_is_quoted(written: Written) -> None:
    """A value that would look like more of the line is quoted, and bytes that are not UTF-8 are shown as such."""
    hostile = "x), by uid 0 (name y"
    written.add(NOON, user="alice", name=hostile, account="phys", partition="a\udcff")
    expected = "of alice (name 'x), by uid 0 (name y', account phys, partition 'a\\xff')"
    assert expected in call(written, "--last", "1").output
    for number, field in enumerate(("user", "account", "partition")):
        written.add(NOON + number, **{field: hostile})
        assert f"'{hostile}'" in call(written, "--last", "1").output, field


def test_lines_of_messages_stay(written: Written) -> None:
    """A message of several lines is shown with its lines, which are marked."""
    step = {"handler": "limits:time", "outcome": "refused", "text": "too long:\n\tuse -t 60"}
    written.add(NOON, verdict="refused", text="too long:\nuse -t 60", handlers=[step])
    output = call(written, "--last", "1").output
    assert "    limits:time: refused: too long:\n      |         use -t 60\n" in output
    assert "  text for the user: too long:\n      | use -t 60\n" in output


def test_what_cannot_be_told_apart_is_said(written: Written) -> None:
    """If several submissions fit a job, all are shown, and why says that only one of them is the job's."""
    for each in ("aaaaaaaaaaaa", "bbbbbbbbbbbb"):
        written.add(NOON + 0.2, id=each, user_id=2001, name="test")
    written.add(
        NOON + 60, "prep.jsonl", hook="controller_prolog", job_id=17, submit_time=NOON, user_id=2001, name="test"
    )
    done = call(written, "17")
    assert "2 submissions fit job 17" in done.output
    assert "aaaaaaaaaaaa" in done.output
    assert "bbbbbbbbbbbb" in done.output


def test_what_is_missing_is_said(written: Written) -> None:
    """why distinguishes a job that is unknown from a job whose submission is no longer in the log."""
    written.add(NOON + 60, "prep.jsonl", hook="controller_prolog", job_id=17, submit_time=NOON, user_id=2001)
    assert "does not have the submission of job 17" in call(written, "17").output
    done = call(written, "18")
    assert done.exit_code == 1
    assert "neither the log nor scontrol nor sacct knows job 18" in done.output


def test_lists(written: Written) -> None:
    """Requests can be listed by user and by number, the newest last."""
    for number in range(12):
        written.add(NOON + number, id=f"{number:012}", user="alice" if number % 2 else "bob")
    assert [each["id"] for each in json.loads(call(written, "--last", "2", "--json").output)] == [
        f"{number:012}" for number in (10, 11)
    ]
    by_bob = json.loads(call(written, "--user", "bob", "--json").output)
    assert [int(each["id"]) for each in by_bob] == [0, 2, 4, 6, 8, 10]
    assert call(written).exit_code == 2
    assert call(written, "--user", "carol").exit_code == 1


def test_what_was_refused_yesterday(written: Written) -> None:
    """A complaint is found by user and day among requests that were accepted, before and after that day."""
    for number in range(60):
        at = NOON + 3600 * number
        written.add(at, id=f"{number:012}", user="alice", verdict="refused" if number % 20 == 10 else "accepted")
    written.add(NOON + 1, id="99", hook="every", user="alice", verdict="skipped")  # an action of a periodic handler
    words = ["--user", "alice", "--refused", "--json"]
    days = [datetime.fromtimestamp(NOON + 3600 * number).isoformat() for number in (20, 40)]

    def shown(*more: str) -> list[int]:
        return [int(each["id"]) for each in json.loads(call(written, *words, *more).output)]

    assert shown() == [10, 30, 50]
    assert shown("--since", days[0], "--until", days[1]) == [30]
    assert shown("--since", days[0]) == [30, 50]
    assert shown("--until", days[1]) == [10, 30]
    assert call(written, "--since", days[0]).exit_code == 0
    assert call(written, "--since", "soon").exit_code == 2
    assert call(written, "17", "--refused").exit_code == 2


def test_without_a_log(written: Written) -> None:
    """Without a log, why says where it would be."""
    done = call(written, "--last", "1")
    assert done.exit_code == 1
    assert str(written.folder) in done.output


def test_what_slurm_says() -> None:
    """The submission of a job is read from scontrol, or from sacct, whatever its name."""
    at = int(datetime(2026, 11, 22, 15, 0, 1).timestamp())
    shown = (
        "JobId=17 JobName=a b UserId=x= UserId=alice(2001) GroupId=alice(2001) Priority=1 Time=5"
        " SubmitTime=2026-11-22T15:00:01 EligibleTime=2026-11-22T15:00:01\n"
    )
    assert described(shown.replace(" UserId=x=", "")) == Job(at, 2001, "a b")
    # If users' texts look like Slurm's output, why cannot distinguish them, and asks sacct.
    assert described(shown) is None
    assert described(shown.replace("\n", " Comment=x SubmitTime=2026-01-01T00:00:00\n")) is None
    assert described(f"JobName=x UserId=x({'9' * 5000}) SubmitTime=2026-11-22T15:00:01\n") == Job(at, None, "x")
    assert described("slurm_load_jobs error: Invalid job id specified") is None
    assert accounted("2001|2026-11-22T15:00:01|a|b\n") == Job(at, 2001, "a|b")
    assert accounted("") is None


def test_another_controller(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine does not know, the other controller may; --from asks it, and both answers become one."""
    conf = written.folder.parent / "slurm.conf"
    conf.write_text(conf.read_text() + f"SlurmctldHost={socket.gethostname().partition('.')[0]}\nSlurmctldHost=ctl2\n")
    written.add(NOON, user="alice", name="here")
    assert "; ctl2 may have it: add --from ctl2" in call(written, "--user", "bob").output
    asked: list[tuple[str, ...]] = []

    def answer(*words: str) -> str:
        asked.append(words)
        decision = {
            "event": "decision",
            "time": NOON - 60,
            "hook": "job_submit",
            "user": "alice",
            "verdict": "accepted",
        }
        return json.dumps([{**decision, "name": "there"}])

    monkeypatch.setattr(hosts, "ask", answer)
    done = call(written, "--user", "alice", "--from", "ctl2")
    assert done.exit_code == 0, done.output
    assert done.output.index("(name there)") < done.output.index("(name here)")
    assert asked == [("ctl2", "why", "--json", "--user=alice")]
    (written.folder / "job_submit.jsonl").unlink()
    assert "(name there)" in call(written, "--user", "alice", "--from", "ctl2").output


def test_what_an_update_asked_for(written: Written) -> None:
    """why shows what an update asked for, and which rule did not look."""
    steps = [{"handler": "limits:time", "outcome": "passed", "exempt": "administrator"}]
    written.add(NOON, hook="job_modify", job_id=505, asks=["time_limit=525600", "comment=x"], handlers=steps)
    done = call(written, "505")
    assert "asked for time_limit=525600, comment=x" in done.output
    assert "limits:time: passed; exempt administrator" in done.output


def test_an_empty_range_is_told(written: Written) -> None:
    """If nothing is found, why says in which range it has looked."""
    written.add(NOON, user="alice")
    done = call(written, "--user", "alice", "--refused", "--since", "2020-01-01", "--until", "2020-02-01")
    assert done.exit_code == 1
    assert "has nothing about user alice since 2020-01-01 00:00:00" in done.output
    begin = datetime.fromtimestamp(NOON).astimezone().isoformat(sep=" ")
    assert f"that was refused; it begins at {begin}" in call(written, "--user=alice", "--refused").output
    assert "that was refused" in done.output


def test_deliveries_are_no_refused_requests(written: Written) -> None:
    """--refused lists requests of users, not ended jobs that could not be delivered."""
    written.add(NOON, hook="job_end", verdict="failed", user="alice")
    written.add(NOON + 1, verdict="refused", user="alice", name="mine")
    output = call(written, "--refused").output
    assert "name mine" in output
    assert "job_end" not in output
