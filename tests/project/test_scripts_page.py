# SPDX-License-Identifier: GPL-2.0-or-later
"""The page "Where do I put my script?" has each program of slurm.conf(5)."""

import gzip
import os
import re
from pathlib import Path

import pytest

from slurmhooks.cli import build_record
from slurmhooks.hooks.points import HOOKS

PAGE = Path(__file__).parents[2] / "docs/scripts.md"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "slurmhooks/rootfs")
ENTRY = re.compile(r"^\.TP\n\\fB(\w*(?:Prolog|Epilog|PrologSlurmctld|EpilogSlurmctld|Prog|Program))\\fR", re.MULTILINE)


def rows() -> set[str]:
    """Return the scripts that the page names."""
    return set(re.findall(r"^\| ([\w.]+) \|", PAGE.read_text(), re.MULTILINE))


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_each_program_of_the_release_has_a_row(release: str) -> None:
    """No release has a program that the page lacks."""
    manual = CACHE / release / "usr/share/man/man5/slurm.conf.5.gz"
    if not manual.exists():
        pytest.skip(f"no root file system of {release}")
    named = set(ENTRY.findall(gzip.decompress(manual.read_bytes()).decode("utf-8", "replace")))
    assert {"Prolog", "EpilogSlurmctld", "ResvProlog", "UnkillableStepProgram"} <= named
    # A heading of slurm.conf(5) itself: the program of a PowerAction.
    assert named - {"Program"} <= rows()


def test_each_hook_that_the_page_names_exists() -> None:
    """The page invents no hook."""
    assert set(re.findall(r"`hook\.([\w.]+)`", PAGE.read_text())) <= HOOKS.keys()


def test_lines_of_pages_name_programs_where_install_puts_them() -> None:
    """The PluginDir may be any."""
    pages = "".join(page.read_text() for page in PAGE.parent.glob("*.md"))
    named = re.findall(r"^(\w+)=/usr/\w+(?:/lib)?/slurm/(\S*slurmhooks_\w+)$", pages, re.MULTILINE)
    assert set(named) == set(build_record.PROGRAMS.items())
