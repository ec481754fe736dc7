# SPDX-License-Identifier: GPL-2.0-or-later
"""What a running handler defines."""

from pathlib import Path

import pytest

from slurmhooks.testing import FakeNode, health, run

HOOKS = """
import sys
from slurmhooks import hook

data = hook.spank.option("data", arginfo="PATH", usage="data")

def late():
    {line}

@hook.{hook}
def handler():
    late()
"""
LINES = {
    "hook.spank.option('other', usage='x')": "hook.spank.option('other')",
    "hook.spank.init(late)": "@hook.spank.init",
    "data.check(lambda value: None)": "@hook.spank.option('data').check",
}


@pytest.mark.parametrize("line", LINES)
def test_it_is_an_error(tmp_path: Path, line: str) -> None:
    """Options, handlers and checks of a handler that runs would have no effect: an error says where they belong."""
    path = tmp_path / "hooks.py"
    path.write_text(HOOKS.format(line=line, hook="spank.init"))
    result = run(path, "spank.init")
    assert any(f"{LINES[line]} has no effect in a handler that runs" in text for text in result.log)
    path.write_text(HOOKS.format(line=line, hook="job"))
    for called in ("job_submit", "job_modify"):
        decided = run(path, called)
        assert any(f"{LINES[line]} has no effect in a handler that runs" in text for text in decided.log)
    path.write_text(HOOKS.format(line=line, hook="node.health_check"))
    assert health(path, FakeNode()).results == {"hooks:handler": "bug"}


def test_a_module_that_a_handler_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module may define handlers for others, also if a handler is the first that imports it."""
    (tmp_path / "late_rules.py").write_text("from slurmhooks import hook\n@hook.spank.init\ndef rule(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "hooks.py"
    path.write_text(HOOKS.format(line="import late_rules", hook="spank.init"))
    assert not [text for text in run(path, "spank.init").log if "error" in text]
