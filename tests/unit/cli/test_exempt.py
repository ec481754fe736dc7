# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks exempt``: an exemption is added to what is in force, whatever the sources look like."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.handlers import loader
from slurmhooks.rules import source
from slurmhooks.testing import FakeJob
from slurmhooks.testing import run as decide

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow

RULE = """\
# a comment
[rules]
refusals = "all"

[[rule]]
rule = "require"
field = "time_limit"

[[rule]]
rule = "limit"
field = "nodes"
most = 2

[[rules.exemptions]]
rules = ["limit_nodes"]
users = ["bob"]
until = 2099-01-01
"""
WORDS = ("--until", "4h", "--reason", "ticket 4711")


@pytest.fixture
def toml(site: "Site") -> Any:
    """The sources of two rules that are in force, and are broken afterwards."""
    path = site.etc / "slurmhooks.toml"
    path.write_text(RULE)
    site.report("deploy")
    path.write_text("[")
    return path


def refused(site: "Site", **fields: Any) -> bool:
    """Tell whether what is in force refuses a job without a time limit."""
    job = FakeJob(**{"user_name": "alice", "name": "run1", **fields})
    path = site.etc / "slurmhooks.set" / "slurmhooks.toml"
    return not decide(loader.load(source.sources(config.read(path), path)), "job_submit", job=job).accepted


def test_a_handler_is_no_rule(site: "Site", toml: Any) -> None:
    """For a label of a handler, which refusals show in the same way, the command says what works instead."""
    result = site.refused("exempt", "limits:check", "--user", "alice", *WORDS)
    assert result.stderr == (
        "error: limits:check: not a ready-made rule; 'slurmhooks off limits:check' switches the handler off for all\n"
    )


def test_who_is_exempt(site: "Site", toml: Any) -> None:
    """The jobs of a user with a name are exempt from the rule, at once, and from no other; `rollback` ends it."""
    assert refused(site)
    report = site.report("exempt", "rule:require_time_limit", "--user", "alice", "--name", "run[1]", *WORDS)
    assert report["changes"] == ["slurmhooks.toml: changed"]
    assert not refused(site, name="run[1]")
    assert refused(site)
    assert refused(site, name="run[1]", user_name="carol")
    assert refused(site, name="run[1]", min_nodes=3)
    site.report("exempt", "*", "--user", "alice", *WORDS)
    assert not refused(site, min_nodes=3)
    listed = site.report("rules", "exemptions")
    assert [row["who"] for row in listed] == [
        {"users": ["alice"], "names": ["run[[]1]"]}, {"users": ["alice"]}, {"users": ["bob"]},
    ]  # fmt: skip
    site.report("rollback")
    assert refused(site)
    assert not refused(site, name="run[1]")


def test_the_history(site: "Site", toml: Any) -> None:
    """It is one event, with who, from what, until when and why."""
    site.report("exempt", "limit_nodes", "--job", "17", *WORDS)
    event = json.loads((site.etc / "slurmhooks.d" / "events").read_text())[-1]
    assert event["verb"] == "exempt"
    assert event["message"].startswith("job 17: limit_nodes until ")
    assert event["message"].endswith(": ticket 4711")


def test_the_history_of_a_private_file(site: "Site", toml: Any) -> None:
    """Everybody can read the history, so it does not say whom rules exempt, and why, that users may not read."""
    toml.write_text(RULE)
    toml.chmod(0o600)
    site.plugstack()
    site.report("deploy")
    site.report("exempt", "require_time_limit", "--user", "alice", *WORDS)
    history = site.etc / "slurmhooks.d" / "events"
    assert history.stat().st_mode & 0o004
    message = json.loads(history.read_text())[-1]["message"]
    assert message.startswith("until ")
    assert not {"alice", "4711", "require"} & {word.strip(":") for word in message.split()}
    assert not refused(site)


def test_what_ends_it_says_so(site: "Site", toml: Any) -> None:
    """A deployment of other files, and `on`, say which exemption they end; one that has it, too, says nothing."""
    site.report("off", "rule:limit_nodes")
    site.report("exempt", "require_time_limit", "--user", "alice", *WORDS)
    assert not refused(site)
    on = site.report("on")
    assert "this ends the exemption from 'require_time_limit' until" in on["notes"][-1]
    assert on["notes"][-1].endswith("ticket 4711")
    assert refused(site)
    site.report("exempt", "require_time_limit", "--user", "alice", *WORDS)
    site.report("off", "rule:limit_nodes")
    assert site.report("on")["notes"] == []
    assert not refused(site)
    toml.write_text(RULE)
    notes = [note for note in site.report("deploy")["notes"] if "exemption" in note]
    assert len(notes) == 1
    assert notes[0].endswith("ticket 4711")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("require_time_limit", *WORDS), 2, "say --user or --job"),
        (("nosuch", "--user", "alice", *WORDS), 1, "no [[rule]] has the name nosuch"),
        (("*", "--user", "alice", "--until", "2020-01-01", "--reason", "x"), 2, "has passed"),
        (("*", "--user", "alice", "--until", "4h", "--reason", ""), 1, "reason"),
        (("*", "--user", "", *WORDS), 2, "must not be empty"),
        (("*", "--user", "alice", "--name", "", *WORDS), 2, "must not be empty"),
    ],
)
def test_refusals(site: "Site", toml: Any, words: tuple[str, ...], code: int, says: str) -> None:
    """What would exempt nobody, or from nothing, is refused, and nothing changes."""
    before = (site.etc / "slurmhooks.set").readlink()
    result = site.call("exempt", *words)
    assert (result.exit_code, says in result.output) == (code, True), result.output
    assert (site.etc / "slurmhooks.set").readlink() == before


def test_a_day_ends_it(site: "Site", toml: Any) -> None:
    """A day counts as a whole, as in slurmhooks.toml; a user whom the machine does not know is a note."""
    words = ("--until", "2099-05-01", "--reason", "x")
    report = site.report("exempt", "require_time_limit", "--user", "no-such-user", *words)
    assert report["notes"][-1] == "this machine knows no user no-such-user"
    (row,) = (row for row in site.report("rules", "exemptions") if row["reason"] == "x")
    assert row["until"].startswith("2099-05-01T23:59:59")
