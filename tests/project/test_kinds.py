# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make test` has: a test of each kind of fault, and each hook on real daemons of each release."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from slurmhooks.hooks.points import HOOKS

TESTS = Path(__file__).parents[1]
README = (TESTS / "README.md").read_text()
DOCS = TESTS.parent / "docs"
MARK = re.compile(r"(?:pytest\.mark\.)?(soak|moved|one_release|each_release)\b")
ELSEWHERE = {"soak", "moved"}
"""Markers of tests that `make test` omits."""


@cache
def marks() -> dict[str, dict[str, set[str]]]:
    """Return the markers of each test that say where it runs, by its name and its file below tests."""
    found: dict[str, dict[str, set[str]]] = {}
    for path in TESTS.rglob("test_*.py"):
        body = ast.parse(path.read_text()).body
        constants = {ast.unparse(node.targets[0]): node.value for node in body if isinstance(node, ast.Assign)}
        of_file = set(MARK.findall(ast.unparse(constants["pytestmark"]))) if "pytestmark" in constants else set()
        names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        stay = ast.literal_eval(constants["STAY"]) if "STAY" in constants else names
        assert stay <= names, path
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                given = {match[1] for each in node.decorator_list if (match := MARK.match(ast.unparse(each)))}
                files = found.setdefault(node.name, {})
                files[str(path.relative_to(TESTS))] = given | of_file | ({"moved"} if node.name not in stay else set())
    return found


def is_in_make_test(text: str) -> bool:
    """Whether a text names a test that `make test` runs."""
    named = re.findall(r"\b(test_\w+)(?:\[\w+\])?`", text)
    return any(not given & ELSEWHERE for name in named for given in marks().get(name, {}).values())


def rules() -> list[str]:
    """Return the rules of the page on security."""
    text = (DOCS / "security.md").read_text().split("## Files that Slurm runs or obeys\n")[1]
    return re.findall(r"^- .*(?:\n  .*)*", text, flags=re.MULTILINE)


def faults() -> dict[str, str]:
    """Return the tests of each fault of the page on reliability that has some."""
    tables = re.findall(
        r"^\| fault \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", (DOCS / "reliability.md").read_text(), re.MULTILINE
    )
    rows = [row.strip("| ").split(" | ") for table in tables for row in table.splitlines()]
    return {re.sub(r"\*\*", "", row[0]): row[-1] for row in rows if row[-1] != "none"}


def test_each_rule_of_security_is_in_make_test() -> None:
    """`make test` runs a test of each rule."""
    assert len(rules()) > 60
    assert [rule for rule in rules() if not is_in_make_test(rule)] == []


def test_each_fault_of_reliability_is_in_make_test() -> None:
    """`make test` runs a test of each fault, except those that tests/README.md lists."""
    listed = re.findall(r"^\* (.*)$", README, re.MULTILINE)
    without = [fault for fault, tests in faults().items() if not is_in_make_test(tests)]
    assert len(faults()) > 80
    assert len(without) == len(listed)
    assert [fault for fault in without if not fault.startswith(tuple(listed))] == []


def rows() -> list[tuple[str, str]]:
    """Return the rows of the table of hooks: hooks, and tests."""
    table = README.partition("| hooks | test |\n|---|---|\n")[2]
    return [(hooks, tests) for hooks, tests in re.findall(r"^\| (.*) \| (.*) \|$", table, re.MULTILINE)]


def test_each_hook_has_a_row() -> None:
    """The table has each hook once."""
    assert sorted(name for hooks, _ in rows() for name in re.findall(r"`([\w.]+)`", hooks)) == sorted(HOOKS)


@pytest.mark.parametrize(("hooks", "tests"), rows(), ids=[hooks for hooks, _ in rows()])
def test_each_hook_is_called_on_each_release(hooks: str, tests: str) -> None:
    """The tests of a row exist, use clusters and run on each release; their file has or makes each hook."""
    file = re.findall(r"cluster/test_\w+\.py", tests)[0]
    for name in re.findall(r"::(\w+)", tests):
        assert marks()[name][file] & {"each_release", *ELSEWHERE} == {"each_release"}
    source = (TESTS / file).read_text()
    for name in re.findall(r"`([\w.]+)`", hooks):
        assert f"hook.{name}" in source or "PLACES" in source, name
