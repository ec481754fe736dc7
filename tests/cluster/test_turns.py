# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests of real daemons a run has, and which ones it leaves to others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster import reporting, turns

HERE = Path(__file__).parent
TESTS = HERE.parent
FILE = "test_job_submit_requests.py"
"""A file whose tests need one release."""
EACH = "test_job_submit_fields.py"
"""One whose tests run on each."""


@given(st.text(), st.lists(st.text(), min_size=1, unique=True), st.integers(min_value=0))
def test_successive_turns_use_each_release(file: str, releases: list[str], turn: int) -> None:
    """As many successive turns as there are releases use each once."""
    used = [turns.releases_of(file, releases, str(turn + later)) for later in range(len(releases))]
    assert sorted(map(list, used)) == sorted([release] for release in releases)


def collected(turn: str, marks: str, releases: str = "", file: str = FILE) -> list[str]:
    """Return the tests of a file or all that a run has."""
    environment = {**os.environ, "SLURMHOOKS_TEST_TURN": turn, "SLURMHOOKS_TEST_RELEASES": releases}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", marks, str(HERE / file)]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def releases_of(tests: list[str]) -> set[str]:
    """Return the releases on which tests run."""
    return {release for test in tests if (release := reporting.release_of(test))}


@pytest.mark.slow
def test_what_is_left_by_a_turn_runs_in_the_rest() -> None:
    """A turn and the rest have all releases together; by hand, and for releases that are named, all run."""
    has, rest = releases_of(collected("7", "cluster and not soak")), releases_of(collected("7", "rest"))
    assert (len(has), has & rest) == (1, set())
    assert has | rest == releases_of(collected("", "cluster and not soak"))
    assert rest <= releases_of(collected("7", "cluster and not soak", " ".join(rest)))


@pytest.mark.slow
def test_what_runs_on_each_release() -> None:
    """The marker each_release leaves nothing to the rest."""
    assert collected("7", "cluster and not soak", file=EACH) == collected("", "cluster and not soak", file=EACH)
    assert collected("7", "rest", file=EACH) == []


@pytest.mark.moved
def test_each_turn_has_each_test() -> None:
    """No marker takes a test out of a turn: each turn has it on a release at least."""
    all_of_them = {test.partition("[")[0] for test in collected("", "cluster and not soak", file="")}
    for turn in map(str, range(3)):
        assert {test.partition("[")[0] for test in collected(turn, "cluster and not soak", file="")} == all_of_them


@pytest.mark.moved
def test_quick_tests_of_this_folder() -> None:
    """The Makefile names each file that has a test for `make check`."""
    named = re.search(r"^WITHOUT_CLUSTER = (.*)$", (TESTS.parent / "Makefile").read_text(), re.MULTILINE)
    assert named
    has = collected("", "not (cluster or sanitized or slow or soak)", file="")
    assert {Path(test.partition("::")[0]).stem for test in has} == {f"test_{name}" for name in named[1].split()}


@pytest.mark.moved
def test_files_outside_of_this_folder() -> None:
    """tools/cluster-tests names each file that has a test for it: there, only the text says which these are."""
    has = collected("", "rest or (sanitized or slow) and not soak", file="..")
    command = re.search(r"< <\((grep .*)\)$", (TESTS.parent / "tools" / "cluster-tests").read_text(), re.MULTILINE)
    assert command
    named = subprocess.run(["bash", "-c", command[1]], cwd=TESTS.parent, capture_output=True, text=True, check=True)
    folders = ("tests/cluster/", "tests/native/")
    assert {test.partition("::")[0] for test in has if not test.startswith(folders)} <= {*named.stdout.split()}


def test_a_group_for_which_no_time_is_left_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group begins if it is expected to end in time, and then goes on."""
    monkeypatch.setattr(turns, "UNTIL", 100.0)
    monkeypatch.setattr(turns, "_begun", {})
    assert turns.has_time("short", expected=5, now=90)
    assert not turns.has_time("long", expected=50, now=90)
    assert turns.has_time("short", expected=5, now=120)


@pytest.mark.parametrize(
    ("file", "changed", "named"),
    [
        ("test_ansible", "contrib/ansible/tasks/main.yml", True),
        ("test_rules_moved", "slurmhooks/rules/base.py", True),
        ("test_ansible", "slurmhooks/rules/base.py docs/cluster.md tests/cluster/test_power.py", False),
    ],
)
def test_what_a_change_names(file: str, changed: str, named: bool) -> None:
    """A test file is named by a change of it, and of what it tests; the names of folders of all tests name nothing."""
    assert turns.is_named(file, changed) == named
