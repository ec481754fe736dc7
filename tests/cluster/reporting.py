# SPDX-License-Identifier: GPL-2.0-or-later
"""Report a run of the cluster tests: a line for each file and release, logs of failures, and a list of retries.

The tests of one file on one release are a group: they run one after the other on one fresh cluster, and groups run in
parallel. The duration of each group is kept in the cache directory, for the order of the next run.
"""

import json
import re
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.cluster import turns
from tests.cluster.lab import places
from tests.cluster.lab.releases import known

REPORTS = Path(__file__).parents[2] / "build" / "cluster-tests"
"""The daemons' logs of each failure, and retried.txt."""
LOG_LINES = 60
LOST = "container lost by scrun itself, created again"
"""The property of a test for each container that it had to create again."""
FORGOTTEN = "step that nobody could cancel, launched again"
"""The property of a test for each step that it had to launch again."""
BROKEN = "command that Slurm itself broke, run again"
"""The property of a test for each command that it had to run again."""
DRAWN = "compared with real Slurm"
"""The property of a long test that says how many random inputs it has compared."""
REPEATED = (LOST, FORGOTTEN, BROKEN)
"""What groups report; a test that repeats something does not fail, but nobody should overlook it."""
UNKNOWN = 1e6
"""More seconds than any group takes."""
NO_TIME = "no time was left"
SKIPPED = "NO REAL SLURM"
"""The beginning of each message about a release that is not available."""


@cache
def _releases() -> re.Pattern[str]:
    """Return what finds a release in the name of a test; there are thousands of tests."""
    return re.compile(rf"[\[-]({'|'.join(map(re.escape, known()))})(?=[\]-])")


def group_of(nodeid: str) -> str:
    """Return the group of a test: its file and release."""
    return f"{Path(nodeid.partition('::')[0]).stem} {release_of(nodeid)}".rstrip()


def release_of(nodeid: str) -> str:
    """Return the release that a test runs on; an empty text if it has none."""
    match = _releases().search(nodeid.partition("::")[2])
    return match[1] if match else ""


class Groups(LoadScopeScheduling):
    """Assigns a whole group to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def _durations_file() -> Path:
    return Path(places.cache(), "durations.json")


def read_durations() -> dict[str, float]:
    """Return the duration of each group in the last run, in seconds."""
    try:
        return dict(json.loads(_durations_file().read_text()))
    except (OSError, ValueError):
        return {}


def sort(items: list[pytest.Item]) -> None:
    """Order the groups by duration, the longest first; unknown groups come first, those with most tests before.

    If the time of the run is limited, those that the change names come first, and then the shortest.
    """
    durations = read_durations()
    sizes = Counter(group_of(item.nodeid) for item in items)

    def key(group: str) -> tuple[bool, float]:
        took = durations.get(group, turns.USUAL if turns.IS_LIMITED else UNKNOWN + sizes[group])
        return turns.IS_LIMITED and not turns.is_named(group.partition(" ")[0]), took if turns.IS_LIMITED else -took

    order = {group: number for number, group in enumerate(sorted(sizes, key=key))}
    items.sort(key=lambda item: order[group_of(item.nodeid)])


class Progress:
    """Print one line when a group ends, in the main process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = time.monotonic()
        self._expected = read_durations()
        self._took: dict[str, float] = defaultdict(float)
        self._left: Counter[str] = Counter()
        self._outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self._failed: dict[str, None] = {}
        self._ran: Counter[str] = Counter()
        self._left_out: dict[str, None] = {}
        self._second = bool(config.getoption("lf", default=False))
        self._groups = 0

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Groups:
        """Distribute groups."""
        return Groups(config, log)

    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """Count the tests of each group; every worker collects the same tests."""
        self._left = Counter(map(group_of, ids))
        self._groups = len(self._left)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Print no letter for tests that pass."""
        if report.when == "call" and report.passed:
            return "passed", "", ""
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the group's line after its last test."""
        group = group_of(report.nodeid)
        self._took[group] += report.duration
        if report.when == "call" or report.outcome != "passed":
            self._outcomes[group][report.outcome] += 1
        if report.when == "call" and report.outcome != "skipped" and "cluster" in report.keywords:
            self._ran[release_of(report.nodeid)] += 1
        if report.skipped and NO_TIME in str(report.longrepr):
            self._left_out[group] = None
        if report.failed:
            self._failed[report.nodeid] = None
        if report.when != "teardown":
            return
        self._outcomes[group].update(name for name, _ in report.user_properties if name in REPEATED)
        self._left[group] -= 1
        if self._left[group]:
            return
        done = sum(not left for left in self._left.values())
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self._outcomes[group].items()) if count)
        usual = f" (last time {self._expected[group]:.0f} s)" if group in self._expected else ""
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        so_far = f"[{minutes:2d}:{seconds:02d}] {done:3d}/{self._groups}"
        self._reporter.write_line(f"{so_far} {group:<36} {counts} in {self._took[group]:.0f} s{usual}")

    def pytest_sessionstart(self) -> None:
        """Remove the reports of an earlier run; a second try adds to those of the first."""
        if not self._second:
            shutil.rmtree(REPORTS, ignore_errors=True)

    def pytest_sessionfinish(self) -> None:
        """Write the duration of each group, and the list of tests for a second try."""
        complete = {
            group: took for group, took in self._took.items() if not self._left[group] and group not in self._left_out
        }
        if complete and not self._second:
            file = _durations_file()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(read_durations() | complete, indent=1, sort_keys=True))
        REPORTS.mkdir(parents=True, exist_ok=True)
        if not self._second:
            (REPORTS / "retried.txt").write_text("".join(f"{nodeid}\n" for nodeid in self._failed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print on which releases tests ran, those that needed a second try, and the releases that were missing."""
        ran = ", ".join(f"{count} on Slurm {release}" for release, count in sorted(self._ran.items()) if release)
        turn = f" (turn {turns.TURN})" if turns.TURN else ""
        terminalreporter.section(f"tests with real daemons{turn}: {ran or 'NONE'}", red=not ran)
        if self._left_out:
            terminalreporter.section(f"DID NOT RUN, SINCE NO TIME WAS LEFT: {len(self._left_out)}", yellow=True)
            terminalreporter.write("".join(f"{group}\n" for group in sorted(self._left_out)))
        if self._second:
            retried = (REPORTS / "retried.txt").read_text()
            terminalreporter.section(f"NEEDED A SECOND TRY: {retried.count(chr(10))}", yellow=True)
            terminalreporter.write(retried)
            terminalreporter.write_line(f"The daemons' logs are in {REPORTS}.")
        reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())}
        for reason in sorted(reason for reason in reasons if SKIPPED in reason):
            terminalreporter.section(reason.removeprefix("Skipped: ")[:200], red=True)

    @property
    def _reporter(self) -> pytest.TerminalReporter:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(reporter, pytest.TerminalReporter)
        return reporter


def add_logs(report: pytest.TestReport, name: str, release: str, nodeid: str) -> None:
    """Attach the ends of the daemons' logs to a failure, and keep the complete logs."""
    source = Path(places.clusters(), name, release, "upper/var/log/slurm")
    target = REPORTS / re.sub(r"[^\w.-]+", "_", nodeid) / f"{name}-{release}"
    target.mkdir(parents=True, exist_ok=True)
    for log in sorted(source.glob("*.log")):
        shutil.copy(log, target)
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        report.sections.append((f"end of {log.name}, Slurm {release}", "\n".join(lines)))
