# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the pictures of reports in docs/figures: `.venv/bin/python -m tests.unit.cli.pages.figures`; needs chromium.

The requests are drawn at random, always the same ones.
"""

import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slurmhooks.cli.decisions import Decision, Step, keys_of
from slurmhooks.cli.names import plain
from slurmhooks.cli.pages import of_decisions, of_replay
from slurmhooks.cli.tally import Tally
from slurmhooks.replay.report import Change, Example, FieldChange, Report, Rule, Share
from tests.unit.cli.pages import browser
from tests.unit.cli.pages.test_browser import DESK, PHONE

FIGURES = Path(__file__).parents[4] / "docs" / "figures"
PICTURES = {
    "report": ("decisions", DESK, 1180, False),
    "report-dark": ("decisions", DESK, 1180, True),
    "replay-narrow": ("replay", PHONE, 1180, True),
    "replay-narrow-light": ("replay", PHONE, 1180, False),
}
"""Names of pictures: the page, its width and how much of its height they show, in pixels, and whether it is dark."""
FIRST = datetime(2027, 4, 5, 8, tzinfo=UTC)
REQUESTS = 6000
RULES = {
    "policies:require_time": 0.05,
    "policies:debug-is-short": 0.025,
    "policies:gpu_ceiling": 0.045,
    "limits:require_account": 0.015,
    "policies:memory_ceiling": 0.01,
}
"""Rules, and their share of the requests."""
WARNED_UNTIL = 0.6
"""The share of the time after which a rule that warned refuses."""


def month() -> Tally:
    """Return the decisions of some weeks; one rule warns at first."""
    chance, tally = random.Random(1), Tally()
    for number in range(REQUESTS):
        part = number / REQUESTS
        steps = []
        for rule, share in RULES.items():
            warns = rule == "policies:gpu_ceiling" and part < WARNED_UNTIL
            if chance.random() < share:
                outcome, mode = ("would refuse", "warn") if warns else ("refused", None)
                steps = [Step(handler=rule, outcome=outcome, mode=mode, text="too much", microseconds=40)]
                break
            steps.append(Step(handler=rule, outcome="passed", microseconds=chance.randint(5, 60)))
        verdict = "refused" if steps[-1].outcome == "refused" else "accepted"
        user = min(int(chance.expovariate(0.2)), 40)
        tally.add(keys_of(
            Decision(
                event="decision", verdict=verdict, hooks="a" if part < WARNED_UNTIL else "b", name="job",
                time=FIRST + timedelta(days=22 * part), hook="job_submit", user=f"user{user}",
                account=f"account{user % 4}", handlers=steps, test_only=chance.random() < 0.03,
            )
        ))  # fmt: skip
    return tally


def replayed() -> Report:
    """Return a replay of a recording with other rules."""

    def rule(name: str, more: int, fewer: int) -> Rule:
        users = [Share(name=f"user{place}", requests=more // (place + 2)) for place in range(3)]
        accounts = [Share(name=f"account{place}", requests=more // (place + 2)) for place in range(2)]
        example = Example(
            id="0" * 12, time=FIRST.timestamp(), hook="job_submit", user="user0", account="account0", name="job"
        )
        return Rule(rule=name, more=more, fewer=fewer, users=users, accounts=accounts, examples=[example])

    change = Change(old="(none)", new="01:00:00", requests=820)
    return Report(
        recorded={"slurmhooks": "1.0.0", "slurm": "24.11.5", "host": "ctl"},
        requests=102345,
        first=FIRST.timestamp(),
        last=FIRST.timestamp() + 30 * 86400,
        different=2671,
        unknown=412,
        accepted=99568,
        refused=2365,
        failed=0,
        more_refused=1790,
        fewer_refused=61,
        other_texts=0,
        changes=[Change(old="accepted", new="refused", requests=1790)],
        rules=[rule("limits:gpu_ceiling", 1204, 0), rule("limits:require_time", 586, 61)],
        fields=[FieldChange(field="time_limit", requests=820, values=[change], examples=[])],
        bugs=[],
        needs=[],
        notes=[],
    )


def main() -> None:
    """Draw all pictures."""
    program = browser.path()
    if program is None:
        sys.exit("no chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = {"decisions": of_decisions.page(month().report(10, plain)), "replay": of_replay.page(replayed())}
        for page, made in pages.items():
            made.write(folder / f"{page}.html")
        with browser.Browser(program, folder) as tab:
            for picture, (page, width, height, dark) in PICTURES.items():
                tab.show(folder / f"{page}.html", width, dark=dark)
                (FIGURES / f"{picture}.png").write_bytes(tab.picture(width, height))


if __name__ == "__main__":
    main()
