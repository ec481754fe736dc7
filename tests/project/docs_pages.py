# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of the documentation, and those of the reference that docs/generate.py makes."""

from functools import cache
from pathlib import Path

from docs import generate

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
EXAMPLES = PROJECT / "contrib" / "examples"
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text()
    for path in (*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md"))
}
TEXT = "\n".join(PAGES.values())


@cache
def reference() -> dict[str, str]:
    """Return the pages of the reference, which most processes of a test run do not need."""
    return generate.pages()
