# SPDX-License-Identifier: GPL-2.0-or-later
"""The README is correct."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text()


def test_shows_a_whole_hook_file() -> None:
    """The hook file in the README is contrib/examples/hello.py, and is on its first screen."""
    shown = re.search(r"```python\n# /etc/slurm/hooks.d/hello.py\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    assert README[: shown.end()].count("\n") < 40

    file = (PROJECT / "contrib" / "examples" / "hello.py").read_text()

    assert file.split("\n", 1)[1] == shown.group(1)


def test_the_first_screen_names_both_commands() -> None:
    """Somebody with a fresh machine finds the two commands that do all the set-up before the first example."""
    start = README[: README.index("```python")]
    assert all(f"`make {target}`" in start for target in ("demo", "test"))


def test_names_targets_that_exist() -> None:
    """Every `make` target that the README and CONTRIBUTING name is in the Makefile."""
    texts = README + (PROJECT / "CONTRIBUTING.md").read_text()
    makefile = (PROJECT / "Makefile").read_text()

    for target in set(re.findall(r"\bmake ([a-z]+)`?$", texts, re.MULTILINE)) | {"demo", "test", "check"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_links_lead_somewhere() -> None:
    """Every file that the README and CONTRIBUTING link to or name with a path exists."""
    texts = README + (PROJECT / "CONTRIBUTING.md").read_text()
    names = re.findall(r"\]\((?!http)([^)#]+)\)", texts)
    names += re.findall(r"`((?:slurmhooks|tests|native|contrib|docs)/[\w./]+)`", texts)

    assert [name for name in names if not (PROJECT / name).exists()] == []


def test_costs_are_measured() -> None:
    """Every figure of what hooks cost is one of the page of measurements."""
    costs = README.partition("### What it costs\n")[2].partition("\n### ")[0]
    figures = re.findall(r"\d+\.\d+|\d+ to \d+ ms", costs)
    speed = (PROJECT / "docs" / "speed.md").read_text()

    assert figures
    assert [figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", speed)] == []
