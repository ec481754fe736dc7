# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules that replace public job_submit.lua scripts, which a long test compares with these, are as the page says."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from slurmhooks.config import model as config
from slurmhooks.rules import source
from tests.cluster.public_scripts.table import SCRIPTS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "cluster" / "public_scripts"
MOST = 20


def lines(path: Path) -> int:
    """Count the lines of a hook file, except imports, comments, docstrings and blank lines."""
    tree = ast.parse(path.read_text())
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and is_text(node.value)):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        number not in left_out and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(path.read_text().splitlines(), 1)
    )


def is_text(node: ast.expr) -> bool:
    """Tell whether an expression is a text, such as a docstring."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def needs(name: str) -> tuple[set[str], int]:
    """Return the rules that replace a script, and the number of lines in Python."""
    rules, hooks = (FOLDER / f"{name}{suffix}" for suffix in (".toml", ".py"))
    used = tomllib.loads(rules.read_text())["rule"] if rules.exists() else []
    return {each["rule"] for each in used}, lines(hooks) if hooks.exists() else 0


@pytest.mark.parametrize("name", [script.name for script in SCRIPTS])
def test_the_rules_load(name: str) -> None:
    """The rules of each script are valid, and no more than a few lines are in Python."""
    rules = FOLDER / f"{name}.toml"
    used, number = needs(name)
    if rules.exists():
        assert source.sources(config.read(rules), rules)
    assert used or number
    assert number <= MOST


def test_the_page_has_each_script() -> None:
    """The table of the page has the rules and the number of lines for each script."""
    page = (ROOT / "docs" / "from-lua.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    names = {script.name for script in SCRIPTS}
    said = {row[1]: (set(re.findall(r"`(\w+)`", row[2])), int(row[3] or 0)) for row in rows if row[1] in names}
    assert said == {script.name: needs(script.name) for script in SCRIPTS}
