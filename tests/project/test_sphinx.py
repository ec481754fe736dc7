# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation as Sphinx builds it."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("furo", "myst_parser", "sphinx")


@pytest.mark.slow
def test_pages_are_built_without_a_warning() -> None:
    """Sphinx gives no warnings, for example about references without a target, and every page can be searched."""
    debian = subprocess.run(
        ["/usr/bin/python3", "-c", f"import {', '.join(PACKAGES)}"], check=False, capture_output=True
    )
    if debian.returncode and not all(map(importlib.util.find_spec, PACKAGES)):
        pytest.skip("THE DOCUMENTATION WAS NOT BUILT: python3-sphinx, python3-myst-parser or furo is not installed")
    done = subprocess.run(["make", "docs"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    index = (PROJECT / "build" / "docs" / "searchindex.js").read_text()
    pages = [path.relative_to(PROJECT / "docs") for path in (PROJECT / "docs").rglob("*.md")]
    assert [page for page in pages if f'"{page.with_suffix("")}"' not in index] == []
