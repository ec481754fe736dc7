# SPDX-License-Identifier: GPL-2.0-or-later
"""The page about other software and the scripts that show it belong together."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPTS = sorted(path.name for path in (ROOT / "findings").glob("*.sh"))


def test_each_surprise_has_a_script() -> None:
    """The page has one line for each script, and no other."""
    rows = re.findall(r"^\|.*`([^`]+\.sh)` \|$", (ROOT / "docs/surprises.md").read_text(), re.MULTILINE)
    assert sorted(rows) == SCRIPTS


def test_scripts_run_nothing_of_this_project() -> None:
    """A script says at its head for whom it matters, and uses only what stands beside it."""
    for name in SCRIPTS:
        text = (ROOT / "findings" / name).read_text()
        assert "\n# For: " in text, name
        assert "slurmhooks" not in text, name
