# SPDX-License-Identifier: GPL-2.0-or-later
import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slurmhooks import plain_toml

USUAL = """# the site's hooks
[hooks]
paths = ["hooks.d/*.py", '/opt/ä/*.py']   # two places
modules = [
    "site_hooks",  # of the package
    "other",
]

[job_submit]
reload = false
"""
PIECES = (
    *("[hooks]", "[job_submit]", "[a.b]", "[[a]]", "paths", "modules", "reload", "a.b", '"a"', "=", "\n", " ", "\t"),
    *(
        "[",
        "]",
        ",",
        '"x"',
        "'y'",
        '""',
        "''",
        '"""z"""',
        "'''z'''",
        '"\\n"',
        '"ä\udcff"',
        "true",
        "false",
        "1",
        "trueish",
    ),
    *("# text\n", "#", '"open', "{}", "\r\n", "\x00", "\x7f"),
)


def test_what_a_site_writes() -> None:
    """Tables of lists of strings, truths and comments are read."""
    assert plain_toml.read(USUAL) == tomllib.loads(USUAL)
    assert plain_toml.read("") == {}
    assert plain_toml.read("[hooks]") == {"hooks": {}}


@pytest.mark.parametrize(
    "text",
    [
        'paths = ["a"]',
        "[hooks]\npaths = 1",
        '[hooks]\npaths = ["a\\u0062"]',
        '[hooks]\npaths = ["""a"""]',
        "[hooks]\n[hooks]",
        "[hooks]\na = true\na = true",
        "[hooks.more]",
        "[hooks] paths = true",
        '[hooks]\npaths = ["a"',
        '[hooks]\npaths = ["a" "b"]',
        "[hooks]\npaths",
        "[hooks]\n= true",
        "[hooks]\n\x01 = true",
    ],
)
def test_the_rest_is_left_to_tomllib(text: str) -> None:
    """What is wrong, or more than plain, is no answer."""
    assert plain_toml.read(text) is None


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example('[hooks]\npaths = ["x",]\nmodules=[]#')
def test_what_is_read_means_the_same_to_tomllib(text: str) -> None:
    """No text is understood in another way than TOML's own."""
    found = plain_toml.read(text)
    if found is not None:
        assert found == tomllib.loads(text)


@settings(max_examples=300)
@given(st.integers(0, len(USUAL)), st.integers(0, len(USUAL)), st.sampled_from(PIECES))
def test_a_usual_file_with_something_changed(start: int, length: int, piece: str) -> None:
    """Nor is one that a person has damaged."""
    text = USUAL[:start] + piece + USUAL[start + length :]
    found = plain_toml.read(text)
    if found is not None:
        assert found == tomllib.loads(text)
