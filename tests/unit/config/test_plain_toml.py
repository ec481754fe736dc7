# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of launches reads a file as tomllib does, or leaves it to tomllib."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.config import plain_toml

ROOT = Path(__file__).parents[3]
USUAL = """\
# a comment
[hooks]
paths = ["hooks.d/*.py", 'more.d/*.py']  # another
modules = [
    "site_hooks",  # the last one
    "b",
]
packages = []

[job_submit]
workers = 4
timeout = 2.5
memory_limit = "1GiB"
reload = false
most = 10_000
least = -1

[policy."hooks:f"]
mode = "warn"
[policy.'other']
share = { of = "users", percent = 5 }
[health]
checks = [{ free = "/tmp", least = "1GiB" }, {}]
[[policies]]
rule = "a"
forbidden = ['^\\s*mpirun\\b']
[[policies]]
rule = "b"
"""
PIECES = [
    *"[]{}=,.#\"'\\ \t\n\r_-+01aé\x00\x7f\u00a0",
    *(
        '"""',
        "'''",
        "[[",
        "]]",
        "\n[a]\n",
        "\n[a.b]\n",
        "\n[[a]]\n",
        "\n[[a.b]]\n",
        "b = 1\n",
        "a = {b = 1}\n",
        "a.b = 1",
    ),
    *(
        "true",
        "false",
        "0",
        "00",
        "-0",
        "1_0",
        "1__0",
        "_1",
        "1.",
        ".1",
        "1.5",
        "1e5",
        "inf",
        "0x1",
        "1979-05-27",
        "12:00",
    ),
    *('"\\n"', '"a" "b"', "[1,]", "[,]", "{a=1,}", "{a=1,a=2}", "[1 2]", "hooks", "policies", "'a'", '""', '"é"'),
]
"""What decides how a document is read."""


def check(text: str) -> bool:
    """Compare both readers; return whether ours has read the text."""
    ours = plain_toml.read(text)
    # Values of another type may be equal.
    assert ours is None or repr(ours) == repr(tomllib.loads(text)), text
    return ours is not None


@pytest.mark.parametrize("path", ["contrib/examples/policies.toml"])
def test_files_of_the_project(path: str) -> None:
    """The examples are read without tomllib."""
    assert check((ROOT / path).read_text())


def test_what_sites_write() -> None:
    """Tables, arrays over several lines, inline tables, quoted names, numbers and comments are read without tomllib."""
    assert check(USUAL)
    for text in ("", "\n", "#", "a = 1", "[a]", "[a] # b", "[a.b]\n[a.c]", "[[a.b]]\n[[a.b]]", "\ta\t=\t'b'\t"):
        assert check(text), text


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_text(pieces: list[str]) -> None:
    """For a text of any pieces, the reader returns what tomllib does, or None."""
    check("".join(pieces))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_changed_files(data: st.DataObject) -> None:
    """The same for a usual file in which pieces were inserted, removed or moved."""
    lines = USUAL.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.integers(0, 2))
        if change == 0:
            lines.append(lines[at])
        elif change == 1:
            column = data.draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:column] + data.draw(st.sampled_from(PIECES)) + lines[at][column:]
        elif len(lines) > 1:
            del lines[at]
    check("".join(lines))
