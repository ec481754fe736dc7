# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of reports: harmless and complete, whatever users have chosen as names."""

import os
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.cli import output
from slurmhooks.cli.counts import KEPT
from slurmhooks.cli.decisions import Decision, Step, keys_of
from slurmhooks.cli.names import Numbered, plain
from slurmhooks.cli.pages import charts, of_decisions, of_replay
from slurmhooks.cli.tally import Tally
from slurmhooks.log import visible
from slurmhooks.replay.report import Bug, Change, Example, FieldChange, Need, Report, Rule, Share
from tests.unit.cli.pages.reading import is_harmless

HOSTILE = [
    "<script>alert(1)</script>",
    "</svg></style><img src=x onerror=alert(1)>",
    '" onload="alert(1)',
    "]]><!--",
    "-->&lt;&#x3c;script&gt;",
    "\x00\x1b[2J\u202e\u2028",
    "\udc9b\ud800",
    "</table></body>",
    "{{7*7}} ${x} %s",
    "a" * 5000,
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30).filter(bool))


def decisions(user: str, account: str, rule: str) -> list[Decision]:
    """Return lines of the decision log about a user."""
    time = datetime(2027, 5, 1, tzinfo=UTC)
    made = []
    for outcome, mode in (("refused", None), ("would refuse", "warn"), ("would refuse", "observe"), ("failed", None)):
        step = Step(handler=rule, outcome=outcome, mode=mode, text=user, microseconds=7)
        verdict = outcome if mode is None else "accepted"
        shared: dict[str, Any] = {
            "time": time,
            "hook": "job_submit",
            "user": user,
            "account": account,
            "handlers": [step],
        }
        made.append(Decision(event="decision", verdict=verdict, hooks=f"{outcome}{rule}", name=user, **shared))
    return made


def replayed(text: str) -> Report:
    """Return a report of a replay with a text everywhere."""
    examples = [Example(id="0" * 12, time=0, hook="job_submit", user=text, account=text, name=text)]
    shares = [Share(name=text, requests=3)]
    change = Change(old=text, new=text, requests=1)
    return Report(
        recorded={"slurmhooks": "1", "slurm": "24.11", "host": text},
        requests=1234567,
        first=0,
        last=1,
        different=1,
        unknown=1,
        accepted=1,
        refused=1,
        failed=1,
        more_refused=1,
        fewer_refused=1,
        other_texts=1,
        changes=[Change(old="accepted", new="refused", requests=1)],
        rules=[Rule(rule="limits:a", more=3, fewer=1, users=shares, accounts=shares, examples=examples)],
        fields=[FieldChange(field="comment", requests=1, values=[change], examples=examples)],
        bugs=[Bug(hooks="new", rule="limits:a", error="E", requests=1, traceback=f"E: {text}", examples=examples)],
        needs=[Need(hooks="new", what="script", requests=1, record_with="--with script", examples=examples)],
        notes=[text],
    )


@settings(max_examples=30, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_texts_of_users_are_texts(user: str, account: str, rule: str) -> None:
    """No name, account, rule or text becomes an element, an attribute or an address; tables show all of them."""
    tally = Tally()
    for decision in decisions(user, account, rule):
        tally.add(keys_of(decision))
    page = of_decisions.page(tally.report(5, plain), [user]).html()
    read = is_harmless(page)
    for text in (user, account, rule):
        assert visible(text, "\n\t").replace("\r", "\n") in [each.replace("\r", "\n") for each in read.texts]
    read = is_harmless(of_replay.page(replayed(user)).html())
    assert visible(user, "\n\t") in read.texts


@settings(max_examples=20, deadline=None)
@given(st.from_regex(r"person[a-z]{5}", fullmatch=True))
def test_anonymous(person: str) -> None:
    """With --anonymous, no user, account, job or text is on a page; the same user has the same number."""
    tally = Tally()
    for decision in [*decisions(person, person, "limits:a"), *decisions("other", "other", "limits:a")]:
        tally.add(keys_of(decision))
    report = tally.report(5, Numbered(KEPT))
    assert {each.name for each in report.users} == {"user 1", "user 2"}
    full = replace(replayed(person), notes=["assumed instead of known: variables"])
    made = of_replay.anonymous(full)
    assert made.notes == full.notes
    for text in (of_decisions.page(report).html(), of_replay.page(made).html(), output.as_json(made)):
        assert person not in text
    assert made.rules[0].users[0].name == made.rules[0].examples[0].user == "user 1"


def test_charts_have_tables() -> None:
    """Each chart is followed by a table, which has the numbers of the chart."""
    page = of_replay.page(replayed("x")).html()
    parts = page.split('<div class="chart">')
    assert len(parts) > 1
    assert all("<table>" in part.split("<h2>")[0] for part in parts[1:])
    assert "1\u202f234\u202f567" in page


def test_charts_take_the_colors_of_the_page() -> None:
    """What a chart draws has a color of the page, which differs for light, dark and paper."""
    drawn = charts.bars(1, ["a", "b"], {"x": [1, 2], "y": [3, 4]}, stacked=True)
    colors = {
        color.removesuffix("!important").strip()
        for selector, rules in re.findall(r"([^{}]*)\{([^{}]*)\}", drawn)
        if not any(name in selector for name in ("gauge", "text-overlay"))  # these charts have none
        for color in re.findall(r"(?:stroke|fill):\s*([^;]+)", rules)
    }
    assert "var(--line)" in colors
    assert {color for color in colors if not color.startswith("var(--")} <= {"none", "transparent"}


@given(st.floats(0, 1e15) | st.integers(0, 10**15))
def test_ticks(largest: float) -> None:
    """The numbers at an axis are few, equally far from each other, and end at or above the largest value."""
    made = charts.ticks(largest)
    assert made[0] == 0
    assert 2 <= len(made) <= 6
    assert len({after - before for before, after in pairwise(made)}) == 1
    assert made[-2] <= largest <= made[-1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.booleans())
@settings(max_examples=20, deadline=None)
def test_axes_have_no_number_twice(values: list[int], stacked: bool) -> None:
    """An axis has each number once, also where values are small."""
    drawn = charts.bars(1, ["a"] * len(values), {"x": values}, stacked=stacked)
    axis = drawn.split('class="axis')[1:]
    shown = [re.findall(r"<text[^>]*>([0-9]+)</text>", part.split("</g></g>")[0]) for part in axis]
    assert [str(each) for each in charts.ticks(max(values))] in shown, shown


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pygal, the page has the tables, and says how to get charts."""
    monkeypatch.setattr(charts, "available", lambda: False)
    page = of_replay.page(replayed("x")).html()
    assert "<svg" not in page
    assert "limits:a" in page
    assert f"{sys.executable} -m pip install pygal" in page


def test_the_same_report_is_the_same_page() -> None:
    """A page depends on nothing but the report, so that two pages can be compared."""
    assert of_replay.page(replayed("x")).html() == of_replay.page(replayed("x")).html()


def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    """The file is private, because it shows what users do, also if others could read an older page; nothing is left."""
    of_replay.page(replayed("\udc9b")).write(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    (tmp_path / "page.html").chmod(0o644)
    with (tmp_path / "page.html").open("a") as stream:
        stream.write("x" * 100_000)
    of_replay.page(replayed("y")).write(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == of_replay.page(replayed("y")).html()
    of_replay.page(replayed("y")).write(Path(os.devnull))


def test_a_page_follows_no_link(tmp_path: Path) -> None:
    """What another user has put at the page's path is neither followed nor taken over: links, pipes and files."""
    page, victim = tmp_path / "page.html", tmp_path / "victim"
    victim.write_text("mine")
    page.symlink_to(victim)
    with pytest.raises(OSError, match="link"):
        of_replay.page(replayed("y")).write(page)
    assert victim.read_text() == "mine"
    page.unlink()
    os.mkfifo(page)
    with pytest.raises(OSError, match="no file"):
        of_replay.page(replayed("y")).write(page)
    page.unlink()
    page.touch()
    with page.open("rb") as theirs:
        if os.getuid() == 0:
            os.chown(page, 65534, 65534)
        of_replay.page(replayed("y")).write(page)
        assert theirs.read() == b""
    assert page.stat().st_uid == os.getuid()
    os.link(page, victim.with_name("hard"))
    of_replay.page(replayed("z")).write(page)
    assert victim.with_name("hard").read_text() == of_replay.page(replayed("y")).html()
