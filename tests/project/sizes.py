# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure how much there is to read and to learn: ``make check`` prints it, and test_sizes.py compares it.

The numbers that must not be exceeded are in one table of docs/architecture.md.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from docs.command_line import commands
from slurmhooks.config import model as config
from slurmhooks.hooks.points import HOOKS, POINTS
from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.describe import common_keys, keys_of, own_keys

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ROOMS = {"cluster": "slurmhooks", "native": "native", "tools": "tools", "contrib": "contrib", "tests": "tests"}
"""The folder of each room."""
WORKSHOP = ROOT / "slurmhooks" / "workshop"
"""What of the package is no part of what runs on a cluster."""
GENERATED = ("*.pyi",)
"""Written by a program, or a stub of compiled code."""
ROW = re.compile(r"^\| ([a-z].*?) \| (\+?)([\d,]+) \| (.*?) \|$", re.MULTILINE)
TERM = re.compile(r"^\| (?!term\b)\w.* \|$", re.MULTILINE)


def files(folder: Path) -> Iterator[Path]:
    """Yield the files of a room that somebody has written."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in ("__pycache__", "corpus") for part in parts)
        if path.is_file() and not hidden and not any(path.match(pattern) for pattern in GENERATED):
            yield path


def lines() -> Counter[str]:
    """Return the lines of each room."""
    found: Counter[str] = Counter()
    for room, folder in ROOMS.items():
        for path in files(ROOT / folder):
            data = path.read_bytes()
            if b"\0" not in data:
                found["workshop" if WORKSHOP in path.parents else room] += data.count(b"\n")
    return found


def concepts() -> dict[str, int]:
    """Return how many of each kind of thing somebody has to learn."""
    tables = config.sections()
    called = [command for _, command in commands()]
    terms, _, _ = (ROOT / "docs" / "terms.md").read_text().partition("\n## ")
    return {
        "tables of slurmhooks.toml": len(config.Config.model_fields),
        "keys of these tables": sum(len(keys_of(table)) for table in tables.values()),
        "rules": len(RULES),
        "keys of rules": len(common_keys()) + sum(len(own_keys(rule)) for rule in RULES.values()),
        "commands": sum(not words.startswith("try ") for words, _ in commands()),
        "options of commands": sum(isinstance(param, click.Option) for command in called for param in command.params),
        "plugin points": len(POINTS),
        "hooks": len(HOOKS),
        "terms": len(TERM.findall(terms)),
        "pages of the guide": len(list((ROOT / "docs").glob("*.md"))),
        "pages of decisions": len(list((ROOT / "docs" / "decisions").glob("*.md"))),
    }


def measured() -> dict[str, int]:
    """Return all numbers, by their names in the table."""
    return {**{f"lines: {room}": number for room, number in lines().items()}, **concepts()}


def rows() -> list[tuple[str, bool, int, str]]:
    """Return the rows of the table: name, whether it raises the number of a row above, number, and for whom."""
    _, _, page = PAGE.read_text().partition("\n## Sizes\n")
    section, _, _ = page.partition("\n## ")
    return [(name, bool(plus), int(number.replace(",", "")), why) for name, plus, number, why in ROW.findall(section)]


def limits() -> Counter[str]:
    """Return the largest number that each may have: the sum of its rows."""
    found: Counter[str] = Counter()
    for name, _, number, _ in rows():
        found[name] += number
    return found


if __name__ == "__main__":
    most = limits()
    shown = ", ".join(f"{name} {number:,} of {most[name]:,}" for name, number in measured().items())
    click.echo(textwrap.fill(f"{'sizes':<16} {shown}", 110, subsequent_indent=" " * 17))
